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

/// The asserts that inputs break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInput {
    /// The first input field with a broken assert.
    pub field: Arc<str>,
    /// Names every broken assert, each with its place in the value and the reason.
    pub message: String,
}

/// The asserts that outputs break.
pub(crate) struct BrokenOutput {
    /// The first output field with a broken assert.
    pub(crate) field: Arc<str>,
    /// The name of its first broken assert.
    pub(crate) constraint: Arc<str>,
    /// Names every broken assert.
    pub(crate) message: String,
}

/// What null means for constraints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NullMeaning {
    /// A value as any other.
    Value,
    /// That an optional value is absent: it has no constraints.
    Absent,
}

impl NullMeaning {
    fn is_judged(self, value: &Payload) -> bool {
        self == Self::Value || !value.is_null()
    }
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
        self.fields
            .get(index)
            .map_or_else(Vec::new, |field| self.verdicts(field, value, NullMeaning::Value))
    }

    fn verdicts(&self, field: &FieldChecks, value: &Payload, null: NullMeaning) -> Vec<Verdict> {
        let own = field.constraints.iter().filter(|_| null.is_judged(value));
        let mut verdicts: Vec<Verdict> =
            own.map(|one| Verdict::of(one, value, &At::Root)).collect();
        if field.has_members {
            let mut members = MemberConstraints::new(&self.defs);
            members.visit(value, &field.ty, &At::Root, &mut |constraint, value, at| {
                if null.is_judged(value) {
                    verdicts.push(Verdict::of(constraint, value, at));
                }
            });
        }
        verdicts
    }

    /// The outcomes of the checks of inputs, or all asserts that do not hold.
    pub(crate) fn judge_inputs(&self, inputs: &Fields) -> Result<Vec<CheckOutcome>, BrokenInput> {
        let (mut outcomes, mut broken) = (Vec::new(), Vec::new());
        for (field, verdict) in self.all_verdicts(inputs, NullMeaning::Absent) {
            match verdict.kind {
                ConstraintKind::Assert if verdict.passed => {}
                ConstraintKind::Assert => broken.push((field, verdict)),
                ConstraintKind::Check => outcomes.push(CheckOutcome {
                    field: field.clone(),
                    label: verdict.label,
                    passed: verdict.passed,
                }),
            }
        }
        match broken.first() {
            None => Ok(outcomes),
            Some((field, _)) => {
                Err(BrokenInput { field: Arc::clone(field), message: message("input", &broken) })
            }
        }
    }

    /// The asserts that outputs of a module break.
    pub(crate) fn broken_output(&self, outputs: &Fields) -> Option<BrokenOutput> {
        self.broken(outputs, NullMeaning::Value)
    }

    /// The asserts that outputs in a demo break.
    pub(crate) fn broken_demo(&self, outputs: &Fields) -> Option<BrokenOutput> {
        self.broken(outputs, NullMeaning::Absent)
    }

    fn broken(&self, outputs: &Fields, null: NullMeaning) -> Option<BrokenOutput> {
        let verdicts = self.all_verdicts(outputs, null);
        let broken: Vec<_> =
            verdicts.filter(|(_, one)| one.kind == ConstraintKind::Assert && !one.passed).collect();
        let (field, first) = broken.first()?;
        let (field, constraint) = (Arc::clone(field), first.label.clone());
        Some(BrokenOutput { field, constraint, message: message("output", &broken) })
    }

    fn all_verdicts(
        &self,
        values: &Fields,
        null: NullMeaning,
    ) -> impl Iterator<Item = (&Arc<str>, Verdict)> {
        let given = self.fields.iter().filter_map(|one| Some((one, values.get(&one.name)?)));
        given.flat_map(move |(field, value)| {
            self.verdicts(field, value, null).into_iter().map(|verdict| (&field.name, verdict))
        })
    }
}

/// Names the broken asserts of fields.
fn message(side: &str, broken: &[(&Arc<str>, Verdict)]) -> String {
    let texts = broken.iter().map(|(field, verdict)| described(side, field, verdict));
    texts.collect::<Vec<_>>().join("; ")
}

fn described(side: &str, field: &str, verdict: &Verdict) -> String {
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
