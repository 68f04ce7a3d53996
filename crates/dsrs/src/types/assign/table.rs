//! The table of pairs of types that one comparison touches, and the decision for each pair. Knows
//! nothing of how a mismatch is explained.
//!
//! The relation is the greatest one that its rules allow. The table lists every pair of types that
//! the comparison touches, with the pairs it depends on; failure then propagates upwards until
//! nothing changes. No assumption can leak out of a failed branch, and the work is linear in the
//! number of pairs and dependencies, whatever the types look like.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::PAIR_LIMIT;
use crate::types::resolve::{ResolvedType, TypeShape, resolve};
use crate::types::{Class, Enum, Literal, Type, TypeDefs, TypeIR};

/// What decides one pair. Numbers are positions in the table.
#[derive(Debug)]
pub(crate) enum PairRule<'t> {
    /// The pair is assignable.
    Holds,
    /// Assignable, with integers converted to floats.
    Widens,
    /// Not assignable, and why.
    Fails(MismatchCause<'t>),
    /// Assignable if all of these are.
    All(Vec<(TypeStep<'t>, usize)>),
    /// Assignable if one of these is.
    One(Vec<usize>),
}

/// Why a pair without further dependencies is not assignable.
#[derive(Debug)]
pub(crate) enum MismatchCause<'t> {
    Different,
    MissingField(&'t str),
    MissingMember(&'t str),
    Length,
    ErrorIntoAny,
    OutOfAny,
}

/// The step from a pair to one that it depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TypeStep<'t> {
    /// A member of a union: the same value.
    Member,
    /// An element of a list or a value of a dict.
    Each,
    /// An element of a tuple.
    Position(usize),
    /// A field of a class.
    Field(&'t Arc<str>),
}

/// Two types that are compared.
#[derive(Debug)]
pub(crate) struct TypePair<'t> {
    pub(crate) from: ResolvedType<'t>,
    pub(crate) to: ResolvedType<'t>,
    pub(crate) rule: PairRule<'t>,
    /// If the pair fails: its position in the order of failures. Its dependencies failed before it.
    pub(crate) failed: Option<usize>,
}

/// All pairs that one comparison touches, decided.
#[derive(Debug)]
pub(crate) struct PairTable<'t> {
    from: &'t TypeDefs,
    to: &'t TypeDefs,
    pub(crate) pairs: Vec<TypePair<'t>>,
    index: HashMap<(usize, usize), usize>,
}

impl<'t> PairTable<'t> {
    /// The pair that the comparison is about.
    pub(crate) const ROOT: usize = 0;

    /// Lists and decides every pair; `None` if there are too many.
    pub(crate) fn of(from: &'t Type, to: &'t Type) -> Option<Self> {
        Self::within(PAIR_LIMIT, from, to)
    }

    pub(super) fn within(limit: usize, from: &'t Type, to: &'t Type) -> Option<Self> {
        let mut table =
            Self { from: &from.defs, to: &to.defs, pairs: Vec::new(), index: HashMap::new() };
        table.pair(resolve(&from.ir, &from.defs), resolve(&to.ir, &to.defs));
        let mut next = 0;
        while next < table.pairs.len() {
            if table.pairs.len() > limit {
                return None;
            }
            let (from, to) = (table.pairs[next].from.clone(), table.pairs[next].to.clone());
            table.pairs[next].rule = table.rule(&from, &to);
            next += 1;
        }
        table.decide();
        Some(table)
    }

    pub(crate) fn fails(&self, pair: usize) -> bool {
        self.pairs[pair].failed.is_some()
    }

    fn pair(&mut self, from: ResolvedType<'t>, to: ResolvedType<'t>) -> usize {
        let next = self.pairs.len();
        let position = *self.index.entry((from.key, to.key)).or_insert(next);
        if position == next {
            self.pairs.push(TypePair { from, to, rule: PairRule::Holds, failed: None });
        }
        position
    }

    fn pair_of(&mut self, from: &'t TypeIR, to: &'t TypeIR) -> usize {
        self.pair(resolve(from, self.from), resolve(to, self.to))
    }

    fn rule(&mut self, from: &ResolvedType<'t>, to: &ResolvedType<'t>) -> PairRule<'t> {
        if from.key == to.key && std::ptr::eq(self.from, self.to) {
            return PairRule::Holds;
        }
        match (&from.shape, &to.shape) {
            (TypeShape::Union(members), _) => {
                let pairs =
                    members.iter().map(|m| (TypeStep::Member, self.pair(m.clone(), to.clone())));
                PairRule::All(pairs.collect())
            }
            (TypeShape::Enum(values), TypeShape::Union(members)) if are_names(values, members) => {
                PairRule::Holds
            }
            (TypeShape::Bool, TypeShape::Union(members)) if are_both(members) => PairRule::Holds,
            (_, TypeShape::Union(members)) => {
                PairRule::One(members.iter().map(|m| self.pair(from.clone(), m.clone())).collect())
            }
            (TypeShape::Error, TypeShape::Any) => PairRule::Fails(MismatchCause::ErrorIntoAny),
            (TypeShape::Unknown(_), TypeShape::Any) => PairRule::Fails(MismatchCause::Different),
            (_, TypeShape::Any) => PairRule::Holds,
            (TypeShape::Any, _) => PairRule::Fails(MismatchCause::OutOfAny),
            (TypeShape::List(a), TypeShape::List(b)) | (TypeShape::Dict(a), TypeShape::Dict(b)) => {
                PairRule::All(vec![(TypeStep::Each, self.pair_of(a, b))])
            }
            (TypeShape::Tuple(a), TypeShape::Tuple(b)) => self.tuple_rule(a, b),
            (TypeShape::Class(a), TypeShape::Class(b)) => self.class_rule(a, b),
            (TypeShape::Enum(a), TypeShape::Enum(b)) => enum_rule(a, |name| has_name(b, name)),
            (TypeShape::Enum(a), TypeShape::Literal(b)) => enum_rule(a, |name| is_text(b, name)),
            (TypeShape::Literal(Literal::Str(name)), TypeShape::Enum(b)) => {
                match has_name(b, name) {
                    true => PairRule::Holds,
                    false => PairRule::Fails(MismatchCause::MissingMember(name)),
                }
            }
            (a, b) => scalar_rule(a, b),
        }
    }

    fn tuple_rule(&mut self, from: &'t [TypeIR], to: &'t [TypeIR]) -> PairRule<'t> {
        if from.len() != to.len() {
            return PairRule::Fails(MismatchCause::Length);
        }
        let both = from.iter().zip(to).enumerate();
        PairRule::All(both.map(|(i, (a, b))| (TypeStep::Position(i), self.pair_of(a, b))).collect())
    }

    fn class_rule(&mut self, from: &'t Class, to: &'t Class) -> PairRule<'t> {
        if let Some(name) = to.fields.keys().find(|name| !from.fields.contains_key(*name)) {
            return PairRule::Fails(MismatchCause::MissingField(name));
        }
        let mut pairs = Vec::with_capacity(to.fields.len());
        for (name, expected) in &to.fields {
            if let Some(source) = from.fields.get(name) {
                pairs.push((TypeStep::Field(name), self.pair_of(&source.ty, &expected.ty)));
            }
        }
        PairRule::All(pairs)
    }

    /// Marks every pair that fails by itself, and all that depend on those.
    fn decide(&mut self) {
        let seeds =
            |(position, pair): (usize, &TypePair<'t>)| hopeless(&pair.rule).then_some(position);
        let seeds = self.pairs.iter().enumerate().filter_map(seeds).collect();
        for (pair, order) in self.carry_up(seeds).into_iter().enumerate() {
            self.pairs[pair].failed = order;
        }
    }

    /// Propagates a mark from some pairs to all that depend on them. A pair of the rule `All` gets
    /// it with the first of its parts, one of the rule `One` with the last. Returns, for each marked
    /// pair, its position in the order of marking.
    pub(crate) fn carry_up(&self, seeds: Vec<usize>) -> Vec<Option<usize>> {
        let mut above: Vec<Vec<usize>> = vec![Vec::new(); self.pairs.len()];
        let mut unmarked: Vec<usize> = vec![1; self.pairs.len()];
        for (position, pair) in self.pairs.iter().enumerate() {
            match &pair.rule {
                PairRule::All(parts) => {
                    parts.iter().for_each(|(_, part)| above[*part].push(position))
                }
                PairRule::One(parts) => {
                    parts.iter().for_each(|part| above[*part].push(position));
                    unmarked[position] = parts.len();
                }
                PairRule::Holds | PairRule::Widens | PairRule::Fails(_) => {}
            }
        }
        let mut order: Vec<Option<usize>> = vec![None; self.pairs.len()];
        // First in, first out: explanations then follow the written order.
        let mut marked = VecDeque::from(seeds);
        let mut count = 0;
        while let Some(pair) = marked.pop_front() {
            if order[pair].is_some() {
                continue;
            }
            order[pair] = Some(count);
            count += 1;
            for &upper in &above[pair] {
                unmarked[upper] = unmarked[upper].saturating_sub(1);
                if unmarked[upper] == 0 {
                    marked.push_back(upper);
                }
            }
        }
        order
    }
}

const fn hopeless(rule: &PairRule<'_>) -> bool {
    match rule {
        PairRule::Fails(_) => true,
        PairRule::One(parts) => parts.is_empty(),
        PairRule::Holds | PairRule::Widens | PairRule::All(_) => false,
    }
}

/// An enum fits what accepts each of its values, which are texts.
fn enum_rule<'t>(from: &'t Enum, accepts: impl Fn(&str) -> bool) -> PairRule<'t> {
    match from.members.keys().find(|name| !accepts(name)) {
        Some(name) => PairRule::Fails(MismatchCause::MissingMember(name)),
        None => PairRule::Holds,
    }
}

fn has_name(values: &Enum, name: &str) -> bool {
    values.members.contains_key(name)
}

fn is_text(literal: &Literal, name: &str) -> bool {
    matches!(literal, Literal::Str(text) if **text == *name)
}

/// Whether each value of an enum is a value of some member of a union.
fn are_names(values: &Enum, members: &[ResolvedType<'_>]) -> bool {
    values.members.keys().all(|name| {
        members.iter().any(|member| match &member.shape {
            TypeShape::Str | TypeShape::Any => true,
            TypeShape::Enum(other) => has_name(other, name),
            TypeShape::Literal(literal) => is_text(literal, name),
            _ => false,
        })
    })
}

/// Whether a union has both literals of a boolean.
fn are_both(members: &[ResolvedType<'_>]) -> bool {
    [true, false].iter().all(|value| {
        let is_value =
            |shape: &TypeShape<'_>| matches!(shape, TypeShape::Literal(Literal::Bool(b)) if b == value);
        members.iter().any(|member| is_value(&member.shape))
    })
}

fn scalar_rule<'t>(from: &TypeShape<'t>, to: &TypeShape<'t>) -> PairRule<'t> {
    match (from, to) {
        (TypeShape::Str, TypeShape::Str)
        | (TypeShape::Int, TypeShape::Int)
        | (TypeShape::Float, TypeShape::Float)
        | (TypeShape::Bool, TypeShape::Bool)
        | (TypeShape::Null, TypeShape::Null)
        | (TypeShape::Bytes, TypeShape::Bytes)
        | (TypeShape::Error, TypeShape::Error)
        | (TypeShape::Enum(_) | TypeShape::Literal(Literal::Str(_)), TypeShape::Str)
        | (TypeShape::Literal(Literal::Int(_)), TypeShape::Int)
        | (TypeShape::Literal(Literal::Bool(_)), TypeShape::Bool) => PairRule::Holds,
        (TypeShape::Int | TypeShape::Literal(Literal::Int(_)), TypeShape::Float) => {
            PairRule::Widens
        }
        (TypeShape::Literal(a), TypeShape::Literal(b)) if a == b => PairRule::Holds,
        (TypeShape::Unknown(a), TypeShape::Unknown(b)) if a == b => PairRule::Holds,
        _ => PairRule::Fails(MismatchCause::Different),
    }
}
