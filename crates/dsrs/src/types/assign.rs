//! Assignability: which values may flow where. Structural, decided on types alone, total on
//! recursive ones. Knows nothing of edges and values.
//!
//! The relation is the greatest one that its rules allow, found without assumptions that could
//! leak from a failed branch: every pair of types that the question touches is written down with
//! the pairs it rests on, and then falsehood is carried upwards until nothing changes. The work is
//! linear in the pairs and what they rest on, whatever the types look like.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use super::shape::{Node, Shape, look};
use super::{Class, Enum, Literal, Type, TypeDefs, TypeIR, explain};

/// How many pairs of types one question may touch.
const PAIR_LIMIT: usize = 50_000;

/// How many pairs of types all the questions of one document may touch.
const DOCUMENT_LIMIT: usize = 500_000;

/// How much comparing a document may still cost: each question alone is bounded, but a document may
/// ask thousands.
#[derive(Clone, Copy, Debug)]
pub struct CompareBudget {
    left: usize,
    used_up: bool,
}

impl CompareBudget {
    /// What a document may cost.
    #[must_use]
    pub const fn of_a_document() -> Self {
        Self { left: DOCUMENT_LIMIT, used_up: false }
    }

    /// Whether a question went unanswered for lack of it.
    #[must_use]
    pub const fn is_used_up(&self) -> bool {
        self.used_up
    }
}

/// Where and why two types part.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Mismatch {
    /// The place in the value (`person.age`, `items[*].name`, `[0]`); empty for the whole value.
    pub path: String,
    /// The type at that place of the source.
    pub from: TypeIR,
    /// The type at that place of the target.
    pub to: TypeIR,
    /// What is wrong there, as a sentence that names both types.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl Type {
    /// Whether every value of this type may be delivered where `to` is wanted.
    ///
    /// # Errors
    /// Where the two part, when it may not. Types that are too large to compare are refused too,
    /// and the reason says so.
    pub fn assignable_to(&self, to: &Self) -> Result<(), Mismatch> {
        self.assignable_within(&mut CompareBudget::of_a_document(), to)
    }

    /// The same as one of many questions about a document.
    ///
    /// # Errors
    /// As [`Type::assignable_to`]; and when the budget is used up, which the budget says.
    pub fn assignable_within(&self, budget: &mut CompareBudget, to: &Self) -> Result<(), Mismatch> {
        if Arc::ptr_eq(&self.defs, &to.defs) && self.ir == to.ir {
            return Ok(());
        }
        let Some(table) = Table::within(budget.left.min(PAIR_LIMIT), self, to) else {
            budget.used_up |= budget.left < PAIR_LIMIT;
            return Err(explain::too_large(self, to));
        };
        budget.left = budget.left.saturating_sub(table.pairs.len());
        if table.fails(Table::ROOT) { Err(explain::mismatch(&table)) } else { Ok(()) }
    }
}

/// What the answer about one pair rests on. Numbers are positions in the table.
#[derive(Debug)]
pub(crate) enum Rule<'t> {
    /// It holds by itself.
    Holds,
    /// A whole number becomes a float.
    Widens,
    /// It does not hold, and why.
    Fails(Why<'t>),
    /// All of these must hold.
    All(Vec<(Step<'t>, usize)>),
    /// One of these must hold.
    One(Vec<usize>),
}

/// Why two types do not fit that rest on nothing else.
#[derive(Debug)]
pub(crate) enum Why<'t> {
    Different,
    MissingField(&'t str),
    MissingMember(&'t str),
    Length,
    ErrorIntoAny,
    OutOfAny,
}

/// The way from a pair to one that it rests on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'t> {
    /// A member of a union: the same value.
    Member,
    /// An element of a list or a value of a dict.
    Each,
    /// An element of a tuple.
    Position(usize),
    /// A field of a class.
    Field(&'t Arc<str>),
}

/// Two types under comparison.
#[derive(Debug)]
pub(crate) struct Pair<'t> {
    pub(crate) from: Node<'t>,
    pub(crate) to: Node<'t>,
    pub(crate) rule: Rule<'t>,
    /// Set once it is known not to hold: the how-manieth to fail. What it rests on failed before.
    pub(crate) failed: Option<usize>,
}

/// All pairs that one question touches, decided.
#[derive(Debug)]
pub(crate) struct Table<'t> {
    from: &'t TypeDefs,
    to: &'t TypeDefs,
    pub(crate) pairs: Vec<Pair<'t>>,
    index: HashMap<(usize, usize), usize>,
}

impl<'t> Table<'t> {
    /// The pair that was asked about.
    pub(crate) const ROOT: usize = 0;

    /// Writes down and decides every pair; `None` when they are too many.
    pub(crate) fn of(from: &'t Type, to: &'t Type) -> Option<Self> {
        Self::within(PAIR_LIMIT, from, to)
    }

    fn within(limit: usize, from: &'t Type, to: &'t Type) -> Option<Self> {
        let mut table =
            Self { from: &from.defs, to: &to.defs, pairs: Vec::new(), index: HashMap::new() };
        table.pair(look(&from.ir, &from.defs), look(&to.ir, &to.defs));
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

    fn pair(&mut self, from: Node<'t>, to: Node<'t>) -> usize {
        let next = self.pairs.len();
        let position = *self.index.entry((from.key, to.key)).or_insert(next);
        if position == next {
            self.pairs.push(Pair { from, to, rule: Rule::Holds, failed: None });
        }
        position
    }

    fn pair_of(&mut self, from: &'t TypeIR, to: &'t TypeIR) -> usize {
        self.pair(look(from, self.from), look(to, self.to))
    }

    fn rule(&mut self, from: &Node<'t>, to: &Node<'t>) -> Rule<'t> {
        if from.key == to.key && std::ptr::eq(self.from, self.to) {
            return Rule::Holds;
        }
        match (&from.shape, &to.shape) {
            (Shape::Union(members), _) => {
                let pairs =
                    members.iter().map(|m| (Step::Member, self.pair(m.clone(), to.clone())));
                Rule::All(pairs.collect())
            }
            (_, Shape::Union(members)) => {
                Rule::One(members.iter().map(|m| self.pair(from.clone(), m.clone())).collect())
            }
            (Shape::Error, Shape::Any) => Rule::Fails(Why::ErrorIntoAny),
            (Shape::Unknown(_), Shape::Any) => Rule::Fails(Why::Different),
            (_, Shape::Any) => Rule::Holds,
            (Shape::Any, _) => Rule::Fails(Why::OutOfAny),
            (Shape::List(a), Shape::List(b)) | (Shape::Dict(a), Shape::Dict(b)) => {
                Rule::All(vec![(Step::Each, self.pair_of(a, b))])
            }
            (Shape::Tuple(a), Shape::Tuple(b)) => self.tuple_rule(a, b),
            (Shape::Class(a), Shape::Class(b)) => self.class_rule(a, b),
            (Shape::Enum(a), Shape::Enum(b)) => enum_rule(a, b),
            (a, b) => scalar_rule(a, b),
        }
    }

    fn tuple_rule(&mut self, from: &'t [TypeIR], to: &'t [TypeIR]) -> Rule<'t> {
        if from.len() != to.len() {
            return Rule::Fails(Why::Length);
        }
        let both = from.iter().zip(to).enumerate();
        Rule::All(both.map(|(i, (a, b))| (Step::Position(i), self.pair_of(a, b))).collect())
    }

    fn class_rule(&mut self, from: &'t Class, to: &'t Class) -> Rule<'t> {
        if let Some(name) = to.fields.keys().find(|name| !from.fields.contains_key(*name)) {
            return Rule::Fails(Why::MissingField(name));
        }
        let mut pairs = Vec::with_capacity(to.fields.len());
        for (name, wanted) in &to.fields {
            if let Some(given) = from.fields.get(name) {
                pairs.push((Step::Field(name), self.pair_of(&given.ty, &wanted.ty)));
            }
        }
        Rule::All(pairs)
    }

    /// Marks every pair that fails by itself, and all that rest on them.
    fn decide(&mut self) {
        let seeds = |(position, pair): (usize, &Pair<'t>)| hopeless(&pair.rule).then_some(position);
        let seeds = self.pairs.iter().enumerate().filter_map(seeds).collect();
        for (pair, order) in self.carry_up(seeds).into_iter().enumerate() {
            self.pairs[pair].failed = order;
        }
    }

    /// Carries a mark from some pairs to all that rest on them: to one that rests on all of its
    /// parts as soon as one of them has it, to one that rests on any when all have it. Gives the
    /// order in which the mark arrived, for each pair that it reached.
    pub(crate) fn carry_up(&self, seeds: Vec<usize>) -> Vec<Option<usize>> {
        let mut above: Vec<Vec<usize>> = vec![Vec::new(); self.pairs.len()];
        let mut unmarked: Vec<usize> = vec![1; self.pairs.len()];
        for (position, pair) in self.pairs.iter().enumerate() {
            match &pair.rule {
                Rule::All(parts) => parts.iter().for_each(|(_, part)| above[*part].push(position)),
                Rule::One(parts) => {
                    parts.iter().for_each(|part| above[*part].push(position));
                    unmarked[position] = parts.len();
                }
                Rule::Holds | Rule::Widens | Rule::Fails(_) => {}
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

const fn hopeless(rule: &Rule<'_>) -> bool {
    match rule {
        Rule::Fails(_) => true,
        Rule::One(parts) => parts.is_empty(),
        Rule::Holds | Rule::Widens | Rule::All(_) => false,
    }
}

fn enum_rule<'t>(from: &'t Enum, to: &'t Enum) -> Rule<'t> {
    match from.members.keys().find(|name| !to.members.contains_key(*name)) {
        Some(name) => Rule::Fails(Why::MissingMember(name)),
        None => Rule::Holds,
    }
}

fn scalar_rule<'t>(from: &Shape<'t>, to: &Shape<'t>) -> Rule<'t> {
    match (from, to) {
        (Shape::Str, Shape::Str)
        | (Shape::Int, Shape::Int)
        | (Shape::Float, Shape::Float)
        | (Shape::Bool, Shape::Bool)
        | (Shape::Null, Shape::Null)
        | (Shape::Bytes, Shape::Bytes)
        | (Shape::Error, Shape::Error)
        | (Shape::Enum(_) | Shape::Literal(Literal::Str(_)), Shape::Str)
        | (Shape::Literal(Literal::Int(_)), Shape::Int)
        | (Shape::Literal(Literal::Bool(_)), Shape::Bool) => Rule::Holds,
        (Shape::Int | Shape::Literal(Literal::Int(_)), Shape::Float) => Rule::Widens,
        (Shape::Literal(a), Shape::Literal(b)) if a == b => Rule::Holds,
        (Shape::Unknown(a), Shape::Unknown(b)) if a == b => Rule::Holds,
        _ => Rule::Fails(Why::Different),
    }
}
