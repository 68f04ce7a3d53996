//! The conversion of a value along an edge to exactly the target type. It is planned once from the
//! two types; most edges change nothing and pass the value on. Knows nothing of nodes.

use std::fmt;
use std::sync::Arc;

use super::assign::{PairRule, PairTable, TypeStep};
use super::brief::brief;
use super::instance::{InstanceChecker, InstanceMode, could_be, float_of};
use super::resolve::{TypeShape, resolve};
use super::{Type, TypeDefs, TypeIR};
use crate::value::{Map, Payload, key_step};

/// Converts values of one type to another that it is assignable to: drops extra class fields, turns
/// integers into floats and puts fields in the order of the target.
#[derive(Clone, Debug)]
pub struct Conversion(Option<Arc<ConversionPlan>>);

/// Why a value could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConvertError {
    /// The place in the value (`person.age`, `items[3]`); empty for the whole value.
    pub path: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

/// One operation for each pair of types. Operations refer to others by position.
#[derive(Debug)]
struct ConversionPlan {
    defs: Arc<TypeDefs>,
    ops: Vec<ConversionOp>,
}

#[derive(Clone, Debug)]
enum ConversionOp {
    /// Return the value unchanged.
    Same,
    ToFloat,
    Each(usize),
    Tuple(Box<[usize]>),
    Class(Box<[(Arc<str>, usize)]>),
    /// Use the operation of the source member that the value matches.
    Choose(Box<[(TypeIR, usize)]>),
    /// Do the same as another operation.
    As(usize),
    Refuse(Box<str>),
}

impl Conversion {
    /// The conversion that changes nothing.
    pub const IDENTITY: Self = Self(None);

    /// The conversion along an edge from one type to another. If the source is not assignable to
    /// the target, the conversion fails for the values that it cannot convert.
    #[must_use]
    pub fn between(from: &Type, to: &Type) -> Self {
        if Arc::ptr_eq(&from.defs, &to.defs) && is_one(&from.ir, &to.ir) {
            return Self::IDENTITY;
        }
        let Some(table) = PairTable::of(from, to) else {
            return Self::of(
                from,
                vec![ConversionOp::Refuse("the types are too large to compare".into())],
            );
        };
        let changes = changing(&table);
        if !changes[PairTable::ROOT] {
            return Self::IDENTITY;
        }
        let op =
            |pair| if changes[pair] { op_of(&table, pair, &changes) } else { ConversionOp::Same };
        Self::of(from, (0..table.pairs.len()).map(op).collect())
    }

    fn of(from: &Type, ops: Vec<ConversionOp>) -> Self {
        Self(Some(Arc::new(ConversionPlan { defs: from.defs.clone(), ops })))
    }

    /// Whether it returns every value unchanged.
    #[must_use]
    pub const fn is_identity(&self) -> bool {
        self.0.is_none()
    }

    /// Converts one value.
    ///
    /// # Errors
    /// If an integer beyond ±2^53 would become a float, or the value does not match the source type.
    pub fn apply(&self, value: &Payload) -> Result<Payload, ConvertError> {
        let Some(plan) = &self.0 else { return Ok(value.clone()) };
        Converter { plan, fit: InstanceChecker::new(&plan.defs, InstanceMode::Exact) }
            .apply(PairTable::ROOT, value)
    }
}

/// Whether two types are the same, decided cheaply. Equal classes do not count: their fields may be
/// in different orders.
fn is_one(from: &TypeIR, to: &TypeIR) -> bool {
    match (from, to) {
        (TypeIR::List(from), TypeIR::List(to)) | (TypeIR::Dict(from), TypeIR::Dict(to)) => {
            Arc::ptr_eq(from, to) || is_one(from, to)
        }
        (TypeIR::Tuple(from), TypeIR::Tuple(to)) | (TypeIR::Union(from), TypeIR::Union(to)) => {
            Arc::ptr_eq(from, to)
        }
        (TypeIR::Class(from), TypeIR::Class(to)) => Arc::ptr_eq(from, to),
        (from, to) => from == to,
    }
}

/// Which pairs change a value: those that do so by themselves and all that depend on them. A target
/// union changes it only if every member that accepts it does.
fn changing(table: &PairTable<'_>) -> Vec<bool> {
    let seeds = (0..table.pairs.len()).filter(|pair| alters(table, *pair)).collect();
    table.carry_up(seeds).iter().map(Option::is_some).collect()
}

fn alters(table: &PairTable<'_>, pair: usize) -> bool {
    let pair = &table.pairs[pair];
    let reshaped = match (&pair.from.shape, &pair.to.shape) {
        (TypeShape::Class(from), TypeShape::Class(to)) => !from.fields.keys().eq(to.fields.keys()),
        _ => false,
    };
    pair.failed.is_some() || reshaped || matches!(pair.rule, PairRule::Widens)
}

fn op_of(table: &PairTable<'_>, position: usize, changes: &[bool]) -> ConversionOp {
    let pair = &table.pairs[position];
    let parts = match &pair.rule {
        PairRule::Holds => return ConversionOp::Same,
        PairRule::Widens => return ConversionOp::ToFloat,
        PairRule::Fails(_) => return refuse(table, position),
        PairRule::One(parts) => {
            return best(table, parts, changes)
                .map_or_else(|| refuse(table, position), ConversionOp::As);
        }
        PairRule::All(parts) => parts,
    };
    match &pair.from.shape {
        TypeShape::Union(_) => ConversionOp::Choose(
            parts.iter().map(|(_, part)| (table.pairs[*part].from.ir.clone(), *part)).collect(),
        ),
        _ if table.fails(position) => refuse(table, position),
        TypeShape::Tuple(_) => ConversionOp::Tuple(parts.iter().map(|(_, part)| *part).collect()),
        TypeShape::Class(_) => ConversionOp::Class(parts.iter().filter_map(field_part).collect()),
        _ => parts.first().map_or(ConversionOp::Same, |(_, part)| ConversionOp::Each(*part)),
    }
}

fn field_part((step, part): &(TypeStep<'_>, usize)) -> Option<(Arc<str>, usize)> {
    if let TypeStep::Field(name) = step { Some((Arc::clone(name), *part)) } else { None }
}

/// The member of the target union that accepts the value: one that does not change it, else the
/// first.
fn best(table: &PairTable<'_>, parts: &[usize], changes: &[bool]) -> Option<usize> {
    let same = parts.iter().find(|part| !changes[**part]);
    same.or_else(|| parts.iter().find(|part| !table.fails(**part))).copied()
}

fn refuse(table: &PairTable<'_>, position: usize) -> ConversionOp {
    let pair = &table.pairs[position];
    let reason = format!("{} is not assignable to {}", brief(pair.from.ir), brief(pair.to.ir));
    ConversionOp::Refuse(reason.into())
}

/// The conversion of one value.
struct Converter<'v, 'p> {
    plan: &'p ConversionPlan,
    fit: InstanceChecker<'v, 'p>,
}

impl<'v, 'p> Converter<'v, 'p> {
    fn apply(&mut self, op: usize, value: &'v Payload) -> Result<Payload, ConvertError> {
        let plan = self.plan;
        match (&plan.ops[op], value) {
            (ConversionOp::Same, _) => Ok(value.clone()),
            (ConversionOp::ToFloat, _) => to_float(value),
            (ConversionOp::As(other), _) => self.apply(*other, value),
            (ConversionOp::Choose(members), _) => match self.choose(members, value) {
                Some(part) => self.apply(part, value),
                None => Err(misfit(value)),
            },
            (ConversionOp::Each(part), Payload::List(list)) => {
                self.elements(list.iter().map(|value| (*part, value))).map(Payload::list)
            }
            (ConversionOp::Each(part), Payload::Map(map)) => {
                self.values(*part, map).map(Payload::map)
            }
            (ConversionOp::Tuple(parts), Payload::List(list)) if parts.len() == list.len() => {
                self.elements(parts.iter().copied().zip(list.iter())).map(Payload::list)
            }
            (ConversionOp::Class(fields), Payload::Map(map)) => {
                self.fields(fields, map).map(Payload::map)
            }
            (ConversionOp::Each(_) | ConversionOp::Tuple(_) | ConversionOp::Class(_), _) => {
                Err(misfit(value))
            }
            (ConversionOp::Refuse(reason), _) => Err(fail(reason.to_string())),
        }
    }

    /// The member that the value is of. Where only one is built like the value, that one, without
    /// looking further.
    fn choose(&mut self, members: &'p [(TypeIR, usize)], value: &'v Payload) -> Option<usize> {
        let defs = &self.plan.defs;
        let mut alike = members.iter().filter(|(ir, _)| could_be(value, &resolve(ir, defs)));
        let first = alike.next()?;
        if alike.next().is_none() {
            return Some(first.1);
        }
        members.iter().find(|(ir, _)| self.fit.fits(value, ir)).map(|(_, part)| *part)
    }

    fn elements(
        &mut self,
        parts: impl Iterator<Item = (usize, &'v Payload)>,
    ) -> Result<Vec<Payload>, ConvertError> {
        let convert = |(index, (part, value)): (usize, (usize, &'v Payload))| {
            self.apply(part, value).map_err(|error| error.under(&format!("[{index}]")))
        };
        parts.enumerate().map(convert).collect()
    }

    fn values(&mut self, part: usize, map: &'v Map) -> Result<Map, ConvertError> {
        let mut converted = Map::with_capacity(map.len());
        for (name, value) in map {
            let within = |error: ConvertError| error.under(&key_step(name));
            converted.insert(name.clone(), self.apply(part, value).map_err(within)?);
        }
        Ok(converted)
    }

    fn fields(&mut self, fields: &[(Arc<str>, usize)], map: &'v Map) -> Result<Map, ConvertError> {
        let mut converted = Map::with_capacity(fields.len());
        for (name, part) in fields {
            let Some(value) = map.get(name) else {
                return Err(fail(format!("the field `{name}` is missing")));
            };
            let value = self.apply(*part, value).map_err(|error| error.under(name))?;
            converted.insert(name.clone(), value);
        }
        Ok(converted)
    }
}

fn to_float(value: &Payload) -> Result<Payload, ConvertError> {
    match value {
        Payload::Int(number) => float_of(*number).map(Payload::Float).ok_or_else(|| {
            fail(format!("{number} is beyond 2^53 and would lose digits as a float"))
        }),
        other => Err(misfit(other)),
    }
}

fn misfit(value: &Payload) -> ConvertError {
    fail(format!("{} does not match the source type", value.kind()))
}

fn fail(reason: String) -> ConvertError {
    ConvertError { path: String::new(), reason }
}

impl ConvertError {
    /// The same error, seen from the container of the value.
    fn under(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}
