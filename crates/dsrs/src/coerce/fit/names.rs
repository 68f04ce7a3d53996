//! The names of a type: members of enums, by name or alias, and literal texts. The names of a union
//! are matched together, so that two of them can tie.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{FitContext, FitResult, Fitter, LeafResult, mismatch};
use crate::coerce::Leniencies;
use crate::coerce::loose::Loose;
use crate::coerce::name::{self, Name, NameError, NameIndex};
use crate::types::{Literal, ResolvedType, TypeShape};
use crate::value::Payload;

/// How many names the texts of one read may be compared with, in all.
const COMPARISONS: usize = 1_000_000;

/// The remark for a text that was not compared with all names.
const STOPPED: &str = "the search for a near name was stopped after 1000000 comparisons; only exact \
                       names and names in another case are still found";

/// The names of the types of one read, and the comparisons that are left.
pub(super) struct NameSearches<'t> {
    known: HashMap<usize, Rc<NodeNames<'t>>>,
    comparisons: usize,
}

/// The names of a type, and the members of a union that have none.
pub(super) struct NodeNames<'t> {
    index: NameIndex<'t>,
    /// The members of the union with names.
    pub(super) named: Vec<usize>,
    /// The other members of the union.
    pub(super) others: Vec<usize>,
    /// The first member of the union with a spelling, and the name.
    exact: HashMap<&'t str, (usize, &'t Arc<str>)>,
}

/// All spellings of the names of a type: first the ones shown to the LM, then the names themselves.
fn of<'n>(shape: &TypeShape<'n>) -> impl Iterator<Item = Name<'n>> + use<'n> {
    let literal = match shape {
        TypeShape::Literal(Literal::Str(text)) => {
            Some(Name { name: text, shown_name: text, spelling: text })
        }
        _ => None,
    };
    let known = if let TypeShape::Enum(known) = shape { Some(*known) } else { None };
    let members = known.into_iter().flat_map(|known| &known.members);
    let shown_name = members.clone().map(|(name, member)| {
        let shown_name = member.alias.as_ref().unwrap_or(name);
        Name { name, shown_name, spelling: shown_name }
    });
    let own = members.filter_map(|(name, member)| {
        let shown_name = member.alias.as_ref()?;
        Some(Name { name, shown_name, spelling: name })
    });
    literal.into_iter().chain(shown_name).chain(own)
}

/// Whether a type consists of names.
pub(super) const fn has_names(shape: &TypeShape<'_>) -> bool {
    matches!(shape, TypeShape::Enum(_) | TypeShape::Literal(Literal::Str(_)))
}

/// The member with exactly this name or alias. A list may name every member of a large enum: no member is
/// searched for.
pub(super) fn exact(text: &str, shape: &TypeShape<'_>) -> Option<Payload> {
    let found = match shape {
        TypeShape::Enum(known) => {
            let own = known.members.get_key_value(text).map(|(name, _)| name);
            // What the LM is shown wins: a member without an alias is shown by its name.
            known.by_alias(text).or(own)
        }
        TypeShape::Literal(Literal::Str(own)) => (**own == *text).then_some(own),
        _ => None,
    };
    found.map(|name| Payload::Str(name.clone()))
}

impl Default for NameSearches<'_> {
    fn default() -> Self {
        Self { known: HashMap::new(), comparisons: COMPARISONS }
    }
}

impl<'t> NodeNames<'t> {
    fn of(node: &ResolvedType<'t>) -> Self {
        let alone = std::slice::from_ref(node);
        let members = if let TypeShape::Union(members) = &node.shape { members } else { alone };
        let (named, others): (Vec<usize>, Vec<usize>) = (0..members.len())
            .partition(|at| members.get(*at).is_some_and(|member| has_names(&member.shape)));
        let names = members.iter().map(|member| of(&member.shape));
        let mut exact = HashMap::new();
        for (at, names) in names.clone().enumerate() {
            for one in names {
                exact.entry(one.spelling).or_insert((at, one.name));
            }
        }
        Self { index: NameIndex::of(names.flatten()), named, others, exact }
    }

    /// The first member of the union with exactly this name, and the name.
    pub(super) fn exact(&self, text: &str) -> Option<(usize, Payload)> {
        self.exact.get(text).map(|(at, name)| (*at, Payload::Str((*name).clone())))
    }

    /// The name that a text means.
    fn near(&self, text: &str, allowed: Leniencies, comparisons: &mut usize) -> LeafResult {
        match name::near(text, &self.index, allowed, comparisons) {
            Ok((name, used)) => Ok((Payload::Str(name.clone()), used)),
            Err(NameError::None) => Err("".into()),
            Err(NameError::Stopped) => Err(STOPPED.into()),
            Err(NameError::Tie(shown_name)) => {
                let shown_name: Vec<String> =
                    shown_name.iter().map(|name| format!("`{name}`")).collect();
                Err(format!("could be {}", shown_name.join(" or ")).into())
            }
        }
    }
}

impl<'t> Fitter<'t> {
    /// The names of a type, indexed at their first use.
    pub(super) fn names_of(&mut self, node: &ResolvedType<'t>) -> Rc<NodeNames<'t>> {
        let known = &mut self.names.known;
        known.entry(node.key).or_insert_with(|| Rc::new(NodeNames::of(node))).clone()
    }

    /// The name of a type that a text means.
    pub(super) fn near_name(
        &mut self,
        text: &str,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let names = self.names_of(node);
        let mut left = self.names.comparisons;
        let read = names.near(text, ctx.allowed, &mut left);
        self.names.comparisons = left;
        if matches!(&read, Err(remark) if remark == STOPPED) {
            return Err(mismatch::expected_type(node, data).remark(STOPPED).stopped());
        }
        self.take(read, data, node, ctx, |all| names.near(text, all, &mut left).is_ok())
    }
}
