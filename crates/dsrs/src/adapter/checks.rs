//! The constraints of a schema's fields, and their outcomes for values. Does not know texts.

use std::sync::Arc;

use crate::coerce::Path;
use crate::problem::At;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{
    Constraint, ConstraintKind, MemberConstraints, Type, TypeDefs, TypeIR, has_member_constraints,
};
use crate::value::{Fields, Payload};

/// The outcome of a constraint of kind check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOutcome {
    /// The field, an input or an output.
    pub field: Arc<str>,
    /// The label, or the expression.
    pub label: Arc<str>,
    /// Whether it held.
    pub passed: bool,
}

/// The result of one constraint on one value.
pub(super) struct Verdict {
    pub(super) kind: ConstraintKind,
    pub(super) label: Arc<str>,
    pub(super) passed: bool,
    /// The place in the field's value, if it failed.
    pub(super) path: String,
    pub(super) reason: Option<String>,
}

impl Verdict {
    fn of(constraint: &Constraint, value: &Payload, at: &At<'_>) -> Self {
        let judged = constraint.judge(value);
        let passed = judged.is_ok();
        let path = if passed { String::new() } else { path_text(at) };
        let reason = judged.err().and_then(|breach| breach.reason);
        Self { kind: constraint.kind, label: constraint.name().clone(), passed, path, reason }
    }
}

/// An assert that an input breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInput {
    /// The input field.
    pub field: Arc<str>,
    /// Names the assert, the place in the value and the reason.
    pub message: String,
}

/// The constraints of some fields, and of the classes in their types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    fields: Vec<FieldChecks>,
    defs: Arc<TypeDefs>,
}

#[derive(Clone, Debug)]
struct FieldChecks {
    name: Arc<str>,
    ty: TypeIR,
    constraints: Vec<Constraint>,
    /// Whether a class in its type has constraints.
    has_members: bool,
}

impl Checks {
    pub(super) fn of_outputs(schema: &SignatureSchema) -> Self {
        Self::of(&schema.outputs, &schema.defs)
    }

    /// The constraints of fields.
    pub(crate) fn of(fields: &[FieldSchema], defs: &Arc<TypeDefs>) -> Self {
        let checks = |field: &FieldSchema| FieldChecks {
            name: field.name.clone(),
            ty: field.ty.clone(),
            constraints: field.constraints.clone(),
            has_members: has_member_constraints(&field.ty, defs),
        };
        Self { fields: fields.iter().map(checks).collect(), defs: defs.clone() }
    }

    /// The constraints inside of a single type.
    pub(super) fn inside(ty: &Type) -> Self {
        let has_members = has_member_constraints(&ty.ir, &ty.defs);
        let (name, constraints) = (Arc::default(), Vec::new());
        let field = FieldChecks { name, ty: ty.ir.clone(), constraints, has_members };
        Self { fields: vec![field], defs: ty.defs.clone() }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.iter().all(|field| field.constraints.is_empty() && !field.has_members)
    }

    /// The verdicts on the value of one field.
    pub(super) fn judge(&self, index: usize, value: &Payload) -> Vec<Verdict> {
        let Some(field) = self.fields.get(index) else { return Vec::new() };
        let own = field.constraints.iter().map(|one| Verdict::of(one, value, &At::Root));
        let mut verdicts: Vec<Verdict> = own.collect();
        if field.has_members {
            let mut members = MemberConstraints::new(&self.defs);
            members.visit(value, &field.ty, &At::Root, &mut |constraint, value, at| {
                verdicts.push(Verdict::of(constraint, value, at));
            });
        }
        verdicts
    }

    /// The outcomes of the checks of inputs, and the first assert that does not hold. Null passes: it
    /// means that an optional input is absent.
    pub(crate) fn judge_inputs(&self, inputs: &Fields) -> Result<Vec<CheckOutcome>, BrokenInput> {
        let mut outcomes = Vec::new();
        for (index, field) in self.fields.iter().enumerate() {
            let value = inputs.get(&field.name).filter(|value| !value.is_null());
            for verdict in value.map_or_else(Vec::new, |value| self.judge(index, value)) {
                match verdict.kind {
                    ConstraintKind::Assert if verdict.passed => {}
                    ConstraintKind::Assert => return Err(broken_input(&field.name, &verdict)),
                    ConstraintKind::Check => outcomes.push(CheckOutcome {
                        field: field.name.clone(),
                        label: verdict.label,
                        passed: verdict.passed,
                    }),
                }
            }
        }
        Ok(outcomes)
    }

    /// The first assert that outputs break: its field, its name and the message.
    pub(crate) fn broken_output(&self, outputs: &Fields) -> Option<(Arc<str>, Arc<str>, String)> {
        self.fields.iter().enumerate().find_map(|(index, field)| {
            let verdicts = self.judge(index, outputs.get(&field.name)?);
            let is_broken =
                |verdict: &Verdict| verdict.kind == ConstraintKind::Assert && !verdict.passed;
            let broken = verdicts.into_iter().find(is_broken)?;
            let message = message("output", &field.name, &broken);
            Some((field.name.clone(), broken.label, message))
        })
    }
}

fn broken_input(field: &Arc<str>, verdict: &Verdict) -> BrokenInput {
    BrokenInput { field: field.clone(), message: message("input", field, verdict) }
}

fn message(side: &str, field: &str, verdict: &Verdict) -> String {
    let inside = match verdict.path.as_str() {
        "" => String::new(),
        path if path.starts_with('[') => path.to_owned(),
        path => format!(".{path}"),
    };
    let reason = verdict.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("the {side} `{field}{inside}` breaks the assert `{}`{reason}", verdict.label)
}

/// A place in a value as text, like those of the parser.
fn path_text(at: &At<'_>) -> String {
    match at {
        At::Root => String::new(),
        At::Key(parent, name) => {
            let (before, name) = (path_text(parent), Path::Root.member(name).to_string());
            if before.is_empty() { name } else { format!("{before}.{name}") }
        }
        At::Index(parent, index) => format!("{}[{index}]", path_text(parent)),
    }
}
