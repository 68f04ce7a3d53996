//! The pieces of a text that fit: the selected one, and alternatives, which are always reported.

use std::cmp::Reverse;
use std::ops::Range;

use super::interpretation::{BestInterpretation, Interpretation};
use super::leaf::INEXACT;
use super::{FitContext, FitResult, Fitter};
use crate::coerce::LeniencyKind;
use crate::coerce::candidates::Candidate;
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::types::{ResolvedType, TypeShape};
use crate::value::Payload;

/// A piece of a text that fits.
struct Piece<'c> {
    data: &'c Loose<'c>,
    interpretation: Interpretation,
}

/// A piece that fits too, with another value.
pub(super) struct Alternative<'c> {
    source: &'c str,
    penalty: usize,
}

impl<'t> Fitter<'t> {
    /// Offers the pieces that fit. Returns the alternatives to the selected one.
    pub(super) fn offer_pieces<'c>(
        &mut self,
        best: &mut BestInterpretation,
        candidates: &[&'c Candidate<'c>],
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> Vec<Alternative<'c>> {
        let objects = candidates.iter().filter(|one| matches!(one.data.shape, Data::Map(_)));
        // One of several objects is not a whole list.
        let ctx = if objects.count() > 1 { ctx.wrapped() } else { ctx };
        let mut pieces = Vec::new();
        for one in candidates {
            if one.several && !self.may_be_several(one, node) {
                continue;
            }
            // Each of several pieces is offered by itself.
            let ctx = if one.several { ctx.complete() } else { ctx };
            let interpretation = best.attempt(self, |fitter| fitter.candidate(one, node, ctx));
            pieces.extend(
                interpretation.map(|interpretation| Piece { data: &one.data, interpretation }),
            );
        }
        let pieces = outermost(pieces);
        let mut taken = None;
        for (index, piece) in pieces.iter().enumerate() {
            if best.consider(piece.interpretation.clone()) {
                taken = Some(index);
            }
        }
        taken.and_then(|index| pieces.get(index)).map_or_else(Vec::new, |taken| {
            pieces
                .iter()
                .filter(|piece| piece.is_alternative_to(taken))
                .map(Piece::alternative)
                .collect()
        })
    }

    /// Notes the alternatives to the selected value. Several single values are an error, because
    /// none is better than another.
    pub(super) fn note_alternatives(
        &mut self,
        alternatives: &[Alternative<'_>],
        (found, penalty): (&Payload, usize),
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> Result<(), &'static str> {
        if is_scalar(node) && alternatives.iter().any(|alternative| alternative.penalty <= penalty)
        {
            return Err("several values");
        }
        if !alternatives.is_empty() && !ctx.has(LeniencyKind::Choice) {
            return Err(INEXACT);
        }
        alternatives.iter().for_each(|alternative| {
            self.notes.note(LeniencyKind::Choice, alternative.source, found)
        });
        Ok(())
    }

    pub(super) fn candidate(
        &mut self,
        candidate: &Candidate<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let data = &candidate.data;
        let ctx = FitContext { whole: false, ..ctx };
        let found = self.isolated(|own| own.fit(data, node, ctx))?;
        self.notes.note_all(candidate.how, data.source, &found);
        Ok(found)
    }

    /// Whether several pieces may be the elements of one list. Lists may only be elements of a list
    /// of lists.
    fn may_be_several(&mut self, all: &Candidate<'_>, node: &ResolvedType<'t>) -> bool {
        let is_list = |one: &Loose<'_>| matches!(one.shape, Data::List(_));
        let Data::List(pieces) = &all.data.shape else { return false };
        if !pieces.iter().any(is_list) {
            return true;
        }
        let TypeShape::List(element) = &node.shape else { return false };
        matches!(self.resolve(element).shape, TypeShape::List(_) | TypeShape::Tuple(_))
    }
}

impl<'c> Piece<'c> {
    /// Whether it is at another place and has another value.
    fn is_alternative_to(&self, taken: &Self) -> bool {
        let (own, other) = (self.place(), taken.place());
        let apart = own.end <= other.start || other.end <= own.start;
        apart && self.interpretation.value() != taken.interpretation.value()
    }

    fn alternative(&self) -> Alternative<'c> {
        Alternative { source: self.data.source, penalty: self.interpretation.penalty() }
    }

    /// Its range, as addresses: all pieces are of one text.
    fn place(&self) -> Range<usize> {
        let start = self.data.source.as_ptr() as usize;
        start..start + self.data.source.len()
    }

    /// Whether it is clearly data, so that everything inside is a part of it.
    fn is_data(&self) -> bool {
        is_container(self.data) && !is_phrases(self.data)
    }
}

/// The pieces that are not inside of another one: a fitting part of larger data is not the answer.
/// One pass from the left, wider pieces first, because there may be many.
fn outermost(mut pieces: Vec<Piece<'_>>) -> Vec<Piece<'_>> {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    let place = |index: &usize| pieces.get(*index).map_or(0..0, Piece::place);
    order.sort_by_key(|index| (place(index).start, Reverse(place(index).end)));
    let mut held = vec![false; pieces.len()];
    let mut reach = 0;
    for same in order.chunk_by(|one, other| place(one) == place(other)) {
        let end = same.first().map_or(0, |first| place(first).end);
        let is_held = end <= reach;
        for index in same {
            held.get_mut(*index).into_iter().for_each(|held| *held = is_held);
            if pieces.get(*index).is_some_and(Piece::is_data) {
                reach = reach.max(end);
            }
        }
    }
    let mut held = held.into_iter();
    pieces.retain(|_| !held.next().unwrap_or(false));
    pieces
}

/// Whether a type has no parts.
pub(super) fn is_scalar(node: &ResolvedType<'_>) -> bool {
    match &node.shape {
        TypeShape::Union(members) => members.iter().all(is_scalar),
        TypeShape::List(_) | TypeShape::Tuple(_) | TypeShape::Dict(_) | TypeShape::Class(_) => {
            false
        }
        _ => true,
    }
}

pub(super) fn is_container(data: &Loose<'_>) -> bool {
    matches!(data.shape, Data::List(_) | Data::Map(_))
}

/// Whether a list may be a remark in prose: `[as I said]`.
pub(super) fn is_phrases(data: &Loose<'_>) -> bool {
    let is_phrase = |item: &Loose<'_>| match item.shape {
        Data::Bare(text) => item.leniencies.has(LeniencyKind::Unquoted) && !is_numeric(text),
        _ => false,
    };
    matches!(&data.shape, Data::List(items) if items.iter().all(is_phrase))
}

/// Whether a text without quotes is a number, a date or a time.
fn is_numeric(text: &str) -> bool {
    text.contains(char::is_numeric) && !text.contains(char::is_alphabetic)
}
