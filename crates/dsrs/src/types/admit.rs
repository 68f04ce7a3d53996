//! The boundary: converts a value from outside to exactly its type, or reports every reason why it
//! does not fit, each with its place. Drops nothing and guesses nothing.

use std::sync::Arc;

use super::admit_union::{UnionChoice, choose};
use super::brief::{brief, brief_value};
use super::instance::{
    InstanceChecker, InstanceMode, VALUE_DEPTH, bytes_of, float_of, is_kind_of_literal, is_literal,
};
use super::judge::report_broken;
use super::resolve::{ResolvedType, TypeShape, resolve};
use super::{Class, Constraint, Enum, Type, TypeDefs, TypeIR, absent_value};
use crate::problem::{At, Code, Problems};
use crate::read::nearest;
use crate::value::{Map, Payload};

/// How many allowed values a problem lists.
const NAMED: usize = 10;

/// Converts a value from outside to exactly its type: integers become floats and base64 becomes
/// bytes where the type requires it, absent members get their default or null, and members are put
/// in the order of the type. Returns `None` if the value does not fit; `problems` has the reasons.
pub fn admit(
    payload: &Payload,
    ty: &Type,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    let (admitted, broken) = admit_as(InstanceMode::Boundary, payload, ty, at, problems);
    let holds = broken.is_empty();
    problems.append(broken);
    admitted.filter(|_| holds)
}

/// Like [`admit`], for the value of a field with asserts of its own. Reports every assert that the value
/// and its parts break, and returns a value that has its type even if it breaks some: further asserts
/// can be checked on it.
pub(crate) fn admit_field(
    payload: &Payload,
    (name, ty, constraints): (&str, &Type, &[Constraint]),
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    let (admitted, broken) = admit_as(InstanceMode::Boundary, payload, ty, at, problems);
    problems.append(broken);
    admitted.inspect(|value| report_broken(constraints, name, value, at, problems))
}

/// Converts a default inside a definition to exactly its type. Unlike [`admit`], it requires the
/// members that have defaults of their own: defaults within defaults could recurse forever.
pub fn admit_default(
    payload: &Payload,
    ty: &Type,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Payload> {
    let (admitted, broken) = admit_as(InstanceMode::Complete, payload, ty, at, problems);
    let holds = broken.is_empty();
    problems.append(broken);
    admitted.filter(|_| holds)
}

/// The value as its type, and the asserts that its members break.
fn admit_as(
    mode: InstanceMode,
    payload: &Payload,
    ty: &Type,
    at: &At<'_>,
    problems: &mut Problems,
) -> (Option<Payload>, Problems) {
    let mut admission = Admission::new(&ty.defs, mode, problems);
    let admitted = admission.admit(payload, &ty.ir, at);
    (admitted, admission.broken)
}

/// The admission of one value.
struct Admission<'v, 't, 'p> {
    defs: &'t TypeDefs,
    mode: InstanceMode,
    exact: InstanceChecker<'v, 't>,
    fitting: InstanceChecker<'v, 't>,
    depth: usize,
    /// Why the value does not have its type.
    problems: &'p mut Problems,
    /// The asserts that members break.
    broken: Problems,
}

impl<'v, 't, 'p> Admission<'v, 't, 'p> {
    fn new(defs: &'t TypeDefs, mode: InstanceMode, problems: &'p mut Problems) -> Self {
        let (exact, fitting) =
            (InstanceChecker::new(defs, InstanceMode::Exact), InstanceChecker::new(defs, mode));
        Self { defs, mode, exact, fitting, depth: 0, problems, broken: Problems::new() }
    }

    fn admit(&mut self, value: &'v Payload, ir: &'t TypeIR, at: &At<'_>) -> Option<Payload> {
        if self.depth >= VALUE_DEPTH {
            let detail = format!("nested deeper than {VALUE_DEPTH} levels");
            self.problems.add(at, Code::TooLarge, detail);
            return None;
        }
        self.depth += 1;
        let admitted = self.admit_node(value, &resolve(ir, self.defs), at);
        self.depth -= 1;
        admitted
    }

    fn admit_node(
        &mut self,
        value: &'v Payload,
        node: &ResolvedType<'t>,
        at: &At<'_>,
    ) -> Option<Payload> {
        match (&node.shape, value) {
            (TypeShape::Any, _) => Some(value.clone()),
            (TypeShape::Union(members), _) => self.admit_union(value, node, members, at),
            (TypeShape::List(element), Payload::List(list)) => {
                self.elements(list.iter().map(|value| (value, *element)), at)
            }
            (TypeShape::Tuple(types), Payload::List(list)) if types.len() == list.len() => {
                self.elements(list.iter().zip(types.iter()), at)
            }
            (TypeShape::Tuple(types), Payload::List(list)) => {
                let detail = format!(
                    "expected {}, which has {} elements, found {}",
                    brief(node.ir),
                    types.len(),
                    list.len()
                );
                self.refuse(at, Code::InvalidValue, detail)
            }
            (TypeShape::Dict(element), Payload::Map(map)) => self.dict(map, element, at),
            (TypeShape::Class(class), Payload::Map(map)) => self.class(map, class, at),
            (TypeShape::Enum(known), _) => self.member(value, known, node, at),
            _ => self.scalar(value, node, at),
        }
    }

    fn admit_union(
        &mut self,
        value: &'v Payload,
        node: &ResolvedType<'t>,
        members: &[ResolvedType<'t>],
        at: &At<'_>,
    ) -> Option<Payload> {
        match choose(value, members, &mut self.exact, &mut self.fitting) {
            UnionChoice::Member(member) => self.admit_node(value, member, at),
            UnionChoice::None { alike } => {
                let code = if alike { Code::InvalidValue } else { Code::WrongType };
                let detail = format!("expected {}, found {}", brief(node.ir), brief_value(value));
                self.refuse(at, code, detail)
            }
        }
    }

    fn elements(
        &mut self,
        parts: impl ExactSizeIterator<Item = (&'v Payload, &'t TypeIR)>,
        at: &At<'_>,
    ) -> Option<Payload> {
        let count = parts.len();
        let mut admitted = Vec::with_capacity(count);
        for (index, (value, ir)) in parts.enumerate() {
            admitted.extend(self.admit(value, ir, &at.index(index)));
        }
        (admitted.len() == count).then(|| Payload::list(admitted))
    }

    fn dict(&mut self, map: &'v Map, ir: &'t TypeIR, at: &At<'_>) -> Option<Payload> {
        let mut admitted = Map::with_capacity(map.len());
        for (name, value) in map {
            if let Some(value) = self.admit(value, ir, &at.key(name)) {
                admitted.insert(name.clone(), value);
            }
        }
        (admitted.len() == map.len()).then(|| Payload::map(admitted))
    }

    fn class(&mut self, map: &'v Map, class: &'t Class, at: &At<'_>) -> Option<Payload> {
        let before = self.problems.len();
        let mut admitted = Map::with_capacity(class.fields.len());
        for (name, field) in &class.fields {
            let value = match map.get(name) {
                Some(value) => self.admit(value, &field.ty, &at.key(name)).inspect(|value| {
                    report_broken(&field.constraints, name, value, &at.key(name), &mut self.broken);
                }),
                None => {
                    let default = if self.mode == InstanceMode::Boundary {
                        field.default.as_ref()
                    } else {
                        None
                    };
                    self.absent(name, &field.ty, default, at)
                }
            };
            admitted.extend(value.map(|value| (Arc::clone(name), value)));
        }
        for name in map.keys().filter(|name| !class.fields.contains_key(*name)) {
            let hint = nearest(name, class.fields.keys().map(AsRef::as_ref))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let detail = format!("unknown member `{name}`{hint}");
            self.problems.add(&at.key(name), Code::UnknownField, detail);
        }
        (self.problems.len() == before).then(|| Payload::map(admitted))
    }

    fn absent(
        &mut self,
        name: &str,
        ir: &'t TypeIR,
        default: Option<&Payload>,
        at: &At<'_>,
    ) -> Option<Payload> {
        let at = at.key(name);
        match absent_value(ir, self.defs, default) {
            None => {
                let detail = format!("`{name}` is missing; its type is {}", brief(ir));
                self.refuse(&at, Code::MissingField, detail)
            }
            // A default comes from a document too, so it may use the same lenient forms.
            Some(value) => {
                let mut default = Admission::new(self.defs, InstanceMode::Complete, self.problems);
                let admitted = default.admit(&value, ir, &at);
                self.broken.append(default.broken);
                admitted
            }
        }
    }

    fn member(
        &mut self,
        value: &Payload,
        known: &Enum,
        node: &ResolvedType<'t>,
        at: &At<'_>,
    ) -> Option<Payload> {
        let Payload::Str(name) = value else { return self.wrong_kind(value, node, at) };
        if known.members.contains_key(name) {
            return Some(value.clone());
        }
        let near = nearest(name, known.members.keys().map(AsRef::as_ref))
            .map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
        let names = known.members.keys();
        let mut allowed: Vec<String> =
            names.take(NAMED).map(|name| Payload::Str(name.clone()).to_json()).collect();
        if known.members.len() > NAMED {
            allowed.push(format!("{} more", known.members.len() - NAMED));
        }
        let found = brief_value(value);
        let detail = format!("expected one of {}, found {found}{near}", allowed.join(", "));
        self.refuse(at, Code::InvalidValue, detail)
    }

    fn scalar(&mut self, value: &Payload, node: &ResolvedType<'t>, at: &At<'_>) -> Option<Payload> {
        match (&node.shape, value) {
            (TypeShape::Str, Payload::Str(_))
            | (TypeShape::Int, Payload::Int(_))
            | (TypeShape::Float, Payload::Float(_))
            | (TypeShape::Bool, Payload::Bool(_))
            | (TypeShape::Null, Payload::Null)
            | (TypeShape::Bytes, Payload::Bytes(_)) => Some(value.clone()),
            (TypeShape::Float, Payload::Int(number)) => match float_of(*number) {
                Some(float) => Some(Payload::Float(float)),
                None => {
                    let detail =
                        format!("{number} is beyond 2^53 and would lose digits as a float");
                    self.refuse(at, Code::InvalidValue, detail)
                }
            },
            (TypeShape::Int, Payload::Float(number)) if is_beyond_int(*number) => {
                self.refuse(at, Code::InvalidValue, "outside the range of 64-bit integers")
            }
            (TypeShape::Bytes, Payload::Str(text)) => match bytes_of(text) {
                Some(bytes) => Some(Payload::Bytes(bytes.into())),
                None => self.refuse(at, Code::InvalidValue, "expected padded base64"),
            },
            (TypeShape::Literal(expected), _) if is_literal(value, expected) => Some(value.clone()),
            (TypeShape::Literal(expected), _) => {
                let same_kind = is_kind_of_literal(value, expected);
                let code = if same_kind { Code::InvalidValue } else { Code::WrongType };
                let detail = format!("expected {expected}, found {}", brief_value(value));
                self.refuse(at, code, detail)
            }
            (TypeShape::Error, _) => self.refuse(
                at,
                Code::WrongType,
                "a value of type `error` cannot be passed in; only nodes produce errors",
            ),
            (TypeShape::Unknown(name), _) => {
                self.refuse(at, Code::InvalidType, format!("the type `{name}` is not defined"))
            }
            _ => self.wrong_kind(value, node, at),
        }
    }

    fn wrong_kind(
        &mut self,
        value: &Payload,
        node: &ResolvedType<'t>,
        at: &At<'_>,
    ) -> Option<Payload> {
        let detail = format!("expected {}, found {}", brief(node.ir), value.kind());
        self.refuse(at, Code::WrongType, detail)
    }

    fn refuse(&mut self, at: &At<'_>, code: Code, detail: impl Into<String>) -> Option<Payload> {
        self.problems.add(at, code, detail);
        None
    }
}

/// Whether a number is integral but outside the range of `i64`: JSON readers return it as a float.
fn is_beyond_int(number: f64) -> bool {
    const PAST_INT: f64 = 9_223_372_036_854_775_808.0;
    number.fract() == 0.0 && !(-PAST_INT..PAST_INT).contains(&number)
}
