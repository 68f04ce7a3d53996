//! Evaluates the constraints on values and on their parts. Knows nothing of how a failure is reported
//! to callers, except to the boundary for values from outside.

use std::collections::HashSet;
use std::sync::Arc;

use super::instance::{InstanceChecker, InstanceMode, VALUE_DEPTH};
use super::resolve::{ResolvedType, TypeShape, resolve};
use super::{Class, Constraint, ConstraintKind, Type, TypeDef, TypeDefs, TypeIR};
use crate::problem::{At, Code, Problems};
use crate::value::Payload;

/// Why a constraint does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    /// Why it could not be evaluated, if that is the cause.
    pub(crate) reason: Option<String>,
}

impl Constraint {
    /// The name under which it is reported: its label, else its text.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        self.label.as_ref().unwrap_or_else(|| self.expression.text())
    }

    /// Evaluates it on a value.
    pub(crate) fn judge(&self, value: &Payload) -> Result<(), Breach> {
        match self.expression.holds(value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Breach { reason: None }),
            Err(error) => Err(Breach { reason: Some(error.reason) }),
        }
    }
}

/// Reports the asserts that a value from outside breaks. Null passes: for an optional member it means
/// that the member is absent.
pub(crate) fn report_broken(
    constraints: &[Constraint],
    name: &str,
    value: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) {
    if value.is_null() {
        return;
    }
    for constraint in constraints.iter().filter(|one| one.kind == ConstraintKind::Assert) {
        if let Err(breach) = constraint.judge(value) {
            problems.add(at, Code::InvalidValue, describe_breach(name, constraint, &breach));
        }
    }
}

/// Reports the asserts that the members of classes in a value break.
pub(crate) fn report_broken_members(
    value: &Payload,
    ty: &Type,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let mut members = MemberConstraints::new(&ty.defs);
    members.visit(value, &ty.ir, at, &mut |constraint, value, at| {
        let name = at.name().unwrap_or("value");
        report_broken(std::slice::from_ref(constraint), name, value, at, problems);
    });
}

fn describe_breach(name: &str, constraint: &Constraint, breach: &Breach) -> String {
    let label = constraint.label.as_ref().map_or_else(String::new, |label| format!(" ({label})"));
    let reason = breach.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("`{name}` breaks the assert `{}`{label}{reason}", constraint.expression)
}

/// Visits the constraints of the class members in values that have their types exactly. In a union, the
/// first member that the value matches counts, as when the value was read.
pub(crate) struct MemberConstraints<'v, 't> {
    defs: &'t TypeDefs,
    exact: InstanceChecker<'v, 't>,
    depth: usize,
}

/// What is done with a constraint, the value of its member and the place of the value.
pub(crate) type Visit<'a, 'v, 't> = &'a mut dyn FnMut(&'t Constraint, &'v Payload, &At<'_>);

impl<'v, 't> MemberConstraints<'v, 't> {
    pub(crate) fn new(defs: &'t TypeDefs) -> Self {
        Self { defs, exact: InstanceChecker::new(defs, InstanceMode::Exact), depth: 0 }
    }

    pub(crate) fn visit(
        &mut self,
        value: &'v Payload,
        ty: &'t TypeIR,
        at: &At<'_>,
        visit: Visit<'_, 'v, 't>,
    ) {
        if self.depth >= VALUE_DEPTH {
            return;
        }
        self.depth += 1;
        self.visit_node(value, &resolve(ty, self.defs), at, visit);
        self.depth -= 1;
    }

    fn visit_node(
        &mut self,
        value: &'v Payload,
        node: &ResolvedType<'t>,
        at: &At<'_>,
        visit: Visit<'_, 'v, 't>,
    ) {
        match (&node.shape, value) {
            (TypeShape::Class(class), Payload::Map(_)) => self.class(value, class, at, visit),
            (TypeShape::List(element), Payload::List(list)) => {
                for (index, one) in list.iter().enumerate() {
                    self.visit(one, element, &at.index(index), visit);
                }
            }
            (TypeShape::Tuple(types), Payload::List(list)) => {
                for (index, (one, ty)) in list.iter().zip(types.iter()).enumerate() {
                    self.visit(one, ty, &at.index(index), visit);
                }
            }
            (TypeShape::Dict(member), Payload::Map(map)) => {
                for (name, one) in map.iter() {
                    self.visit(one, member, &at.key(name), visit);
                }
            }
            (TypeShape::Union(members), _) => {
                let read = members.iter().find(|member| self.exact.fits_node(value, member));
                if let Some(member) = read {
                    self.visit_node(value, member, at, visit);
                }
            }
            _ => {}
        }
    }

    fn class(
        &mut self,
        value: &'v Payload,
        class: &'t Class,
        at: &At<'_>,
        visit: Visit<'_, 'v, 't>,
    ) {
        let Payload::Map(found) = value else { return };
        for (name, field) in &class.fields {
            let Some(member) = found.get(name) else { continue };
            let here = at.key(name);
            for constraint in &field.constraints {
                visit(constraint, member, &here);
            }
            self.visit(member, &field.ty, &here, visit);
        }
    }
}

/// Whether a class in a type has constraints on its members.
pub(crate) fn has_member_constraints(ty: &TypeIR, defs: &TypeDefs) -> bool {
    MemberSearch { defs, seen: HashSet::new() }.finds(ty)
}

struct MemberSearch<'t> {
    defs: &'t TypeDefs,
    seen: HashSet<&'t str>,
}

impl<'t> MemberSearch<'t> {
    fn finds(&mut self, ty: &'t TypeIR) -> bool {
        match ty {
            TypeIR::List(inner) | TypeIR::Dict(inner) => self.finds(inner),
            TypeIR::Tuple(members) | TypeIR::Union(members) => {
                members.iter().any(|member| self.finds(member))
            }
            TypeIR::Class(class) => self.finds_in_class(class),
            TypeIR::Named(name) if self.seen.insert(name) => match self.defs.get(name) {
                Some(TypeDef::Class(class)) => self.finds_in_class(class),
                Some(TypeDef::Alias(aliased)) => self.finds(aliased),
                _ => false,
            },
            _ => false,
        }
    }

    fn finds_in_class(&mut self, class: &'t Class) -> bool {
        class.fields.values().any(|field| !field.constraints.is_empty() || self.finds(&field.ty))
    }
}
