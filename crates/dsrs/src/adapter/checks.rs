//! The constraints of a schema, compiled once, and their outcomes for an answer. Does not know
//! texts.

use std::sync::Arc;

use crate::coerce::Path;
use crate::expr::Condition;
use crate::signature::SignatureSchema;
use crate::types::{Class, Constraint, ConstraintKind, Type, TypeDef, TypeDefs, TypeIR};
use crate::value::Payload;

/// The outcome of a constraint of kind check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOutcome {
    /// The output field.
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

/// The constraints of every output field, in order, and those of the classes they use.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks {
    fields: Vec<Vec<CompiledConstraint>>,
    /// The compiled constraints of class members.
    members: Vec<CompiledConstraint>,
}

#[derive(Clone, Debug)]
struct CompiledConstraint {
    kind: ConstraintKind,
    label: Arc<str>,
    expression: Arc<str>,
    /// An expression that does not compile always fails, with this reason.
    condition: Result<Condition, String>,
}

impl Checks {
    pub(super) fn compile(schema: &SignatureSchema) -> Self {
        let rules = |constraints: &[Constraint]| {
            constraints.iter().map(CompiledConstraint::compile).collect()
        };
        let fields = schema.outputs.iter().map(|field| rules(&field.constraints)).collect();
        let mut found: Vec<&Constraint> = Vec::new();
        in_defs(&schema.defs, &mut found);
        schema.outputs.iter().for_each(|field| in_type(&field.ty, &mut found));
        Self { fields, members: found.into_iter().map(CompiledConstraint::compile).collect() }
    }

    /// The constraints inside of a single type.
    pub(super) fn inside(ty: &Type) -> Self {
        let mut found: Vec<&Constraint> = Vec::new();
        in_defs(&ty.defs, &mut found);
        in_type(&ty.ir, &mut found);
        Self {
            fields: Vec::new(),
            members: found.into_iter().map(CompiledConstraint::compile).collect(),
        }
    }

    /// The verdicts on one output field's value.
    pub(super) fn judge(
        &self,
        index: usize,
        ty: &TypeIR,
        defs: &TypeDefs,
        value: &Payload,
    ) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for rule in self.fields.get(index).into_iter().flatten() {
            verdicts.push(rule.judge(value, &Path::Root));
        }
        if !self.members.is_empty() {
            self.descend(ty, defs, value, &Path::Root, &mut verdicts);
        }
        verdicts
    }

    fn descend(
        &self,
        ty: &TypeIR,
        defs: &TypeDefs,
        value: &Payload,
        path: &Path<'_>,
        out: &mut Vec<Verdict>,
    ) {
        let Some(ty) = followed(ty, defs) else { return };
        match (ty, value) {
            (TypeIR::Named(name), _) => {
                if let Some(TypeDef::Class(class)) = defs.get(name) {
                    self.descend_class(class, defs, value, path, out);
                }
            }
            (TypeIR::Class(class), _) => self.descend_class(class, defs, value, path, out),
            (TypeIR::List(element), Payload::List(found)) => {
                for (index, one) in found.iter().enumerate() {
                    self.descend(element, defs, one, &path.element(index), out);
                }
            }
            (TypeIR::Tuple(members), Payload::List(found)) => {
                for (index, (member, one)) in members.iter().zip(found.iter()).enumerate() {
                    self.descend(member, defs, one, &path.element(index), out);
                }
            }
            (TypeIR::Dict(member), Payload::Map(found)) => {
                for (name, one) in found.iter() {
                    self.descend(member, defs, one, &path.member(name), out);
                }
            }
            // The matching member of a wider union is not recorded; `T?` is unambiguous.
            (TypeIR::Union(members), _) if !value.is_null() => {
                if let [single, TypeIR::Null] = members.as_ref() {
                    self.descend(single, defs, value, path, out);
                }
            }
            _ => {}
        }
    }

    fn descend_class(
        &self,
        class: &Class,
        defs: &TypeDefs,
        value: &Payload,
        path: &Path<'_>,
        out: &mut Vec<Verdict>,
    ) {
        let Payload::Map(found) = value else { return };
        for (name, field) in &class.fields {
            let Some(member) = found.get(name) else { continue };
            let here = path.member(name);
            for constraint in &field.constraints {
                let rule = self.members.iter().find(|rule| rule.is(constraint));
                out.extend(rule.map(|rule| rule.judge(member, &here)));
            }
            self.descend(&field.ty, defs, member, &here, out);
        }
    }
}

impl CompiledConstraint {
    fn compile(constraint: &Constraint) -> Self {
        let condition = Condition::compile(&constraint.expression).map_err(|error| error.reason);
        let label = constraint.label.as_ref().unwrap_or(&constraint.expression).clone();
        Self { kind: constraint.kind, label, expression: constraint.expression.clone(), condition }
    }

    fn is(&self, constraint: &Constraint) -> bool {
        self.expression == constraint.expression
            && self.kind == constraint.kind
            && constraint.label.as_ref().unwrap_or(&constraint.expression) == &self.label
    }

    fn judge(&self, value: &Payload, path: &Path<'_>) -> Verdict {
        let outcome = match &self.condition {
            Ok(condition) => condition.holds(value).map_err(|error| error.reason),
            Err(reason) => Err(reason.clone()),
        };
        let passed = outcome == Ok(true);
        let path = if passed { String::new() } else { path.to_string() };
        Verdict { kind: self.kind, label: self.label.clone(), path, passed, reason: outcome.err() }
    }
}

/// The type behind aliases. `None` if they form a cycle.
fn followed<'t>(mut ty: &'t TypeIR, defs: &'t TypeDefs) -> Option<&'t TypeIR> {
    for _ in 0..=defs.0.len() {
        match ty {
            TypeIR::Named(name) => match defs.get(name) {
                Some(TypeDef::Alias(aliased)) => ty = aliased,
                _ => return Some(ty),
            },
            other => return Some(other),
        }
    }
    None
}

fn in_defs<'t>(defs: &'t TypeDefs, found: &mut Vec<&'t Constraint>) {
    for definition in defs.0.values() {
        match definition {
            TypeDef::Class(class) => in_class(class, found),
            TypeDef::Alias(ty) => in_type(ty, found),
            TypeDef::Enum(_) => {}
        }
    }
}

fn in_class<'t>(class: &'t Class, found: &mut Vec<&'t Constraint>) {
    for field in class.fields.values() {
        found.extend(&field.constraints);
        in_type(&field.ty, found);
    }
}

fn in_type<'t>(ty: &'t TypeIR, found: &mut Vec<&'t Constraint>) {
    match ty {
        TypeIR::List(inner) | TypeIR::Dict(inner) => in_type(inner, found),
        TypeIR::Tuple(members) | TypeIR::Union(members) => {
            members.iter().for_each(|member| in_type(member, found));
        }
        TypeIR::Class(class) => in_class(class, found),
        _ => {}
    }
}
