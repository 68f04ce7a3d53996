//! The pieces of a text that fit: the one that counts, and the others that would have done as well,
//! which are never dropped without a word.

use std::cmp::Reverse;
use std::ops::Range;

use super::best::{Best, Reading};
use super::leaf::INEXACT;
use super::section::is_scalar;
use super::{Ctx, Fit, Fitter};
use crate::coerce::LeniencyKind;
use crate::coerce::candidates::Candidate;
use crate::coerce::loose::{Loose, Shape as Data};
use crate::types::{ResolvedType, TypeShape};
use crate::value::Payload;

/// A piece of a text that fits.
struct Piece<'c> {
    data: &'c Loose<'c>,
    reading: Reading,
}

/// A piece that would have done too, with another value.
pub(super) struct Rival<'c> {
    source: &'c str,
    penalty: usize,
}

impl<'t> Fitter<'t> {
    /// Offers the pieces that fit; answers the rivals of the one that was taken, if one was.
    pub(super) fn offer_pieces<'c>(
        &mut self,
        best: &mut Best,
        candidates: &[&'c Candidate<'c>],
        node: &ResolvedType<'t>,
        ctx: Ctx,
    ) -> Vec<Rival<'c>> {
        let objects = candidates.iter().filter(|one| matches!(one.data.shape, Data::Map(_)));
        // One of several objects is not all of a list.
        let ctx = if objects.count() > 1 { ctx.wrapped() } else { ctx };
        let mut pieces = Vec::new();
        for one in candidates {
            if one.several && !self.may_be_several(one, node) {
                continue;
            }
            let reading = best.attempt(self, |fitter| fitter.candidate(one, node, ctx));
            pieces.extend(reading.map(|reading| Piece { data: &one.data, reading }));
        }
        let pieces = outermost(pieces);
        let mut taken = None;
        for (index, piece) in pieces.iter().enumerate() {
            if best.consider(piece.reading.clone()) {
                taken = Some(index);
            }
        }
        taken.and_then(|index| pieces.get(index)).map_or_else(Vec::new, |taken| {
            pieces.iter().filter(|piece| piece.rivals(taken)).map(Piece::told).collect()
        })
    }

    /// Notes what else would have done than what was found, by this penalty. Of single values none
    /// is better than another.
    pub(super) fn tell_rivals(
        &mut self,
        rivals: &[Rival<'_>],
        (found, penalty): (&Payload, usize),
        node: &ResolvedType<'t>,
        ctx: Ctx,
    ) -> Result<(), &'static str> {
        if is_scalar(node) && rivals.iter().any(|rival| rival.penalty <= penalty) {
            return Err("several values");
        }
        if !rivals.is_empty() && !ctx.has(LeniencyKind::Choice) {
            return Err(INEXACT);
        }
        rivals.iter().for_each(|rival| self.trail.note(LeniencyKind::Choice, rival.source, found));
        Ok(())
    }

    pub(super) fn candidate(
        &mut self,
        candidate: &Candidate<'_>,
        node: &ResolvedType<'t>,
        ctx: Ctx,
    ) -> Fit {
        let data = &candidate.data;
        let ctx = Ctx { whole: false, ..ctx };
        let found = self.isolated(|own| own.fit(data, node, ctx))?;
        self.trail.note_all(candidate.how, data.source, &found);
        Ok(found)
    }

    /// Whether several pieces may be the elements of one list: lists only of a list of lists.
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
    /// Whether it stands elsewhere than another one, and says something else.
    fn rivals(&self, taken: &Self) -> bool {
        let (own, other) = (self.place(), taken.place());
        let apart = own.end <= other.start || other.end <= own.start;
        apart && self.reading.value() != taken.reading.value()
    }

    fn told(&self) -> Rival<'c> {
        Rival { source: self.data.source, penalty: self.reading.penalty() }
    }

    /// Where it stands, as addresses: all pieces are of one text.
    fn place(&self) -> Range<usize> {
        let start = self.data.source.as_ptr() as usize;
        start..start + self.data.source.len()
    }

    /// Whether it is surely data, so that what stands in it is a part of it.
    fn is_data(&self) -> bool {
        is_container(self.data) && !is_phrases(self.data)
    }
}

/// The pieces that are no part of another one: a part of data that fits is not what was meant. One
/// pass from the left, wider ones first, since there may be very many.
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

pub(super) fn is_container(data: &Loose<'_>) -> bool {
    matches!(data.shape, Data::List(_) | Data::Map(_))
}

/// Whether a list may as well be a remark in prose: `[as I said]`.
pub(super) fn is_phrases(data: &Loose<'_>) -> bool {
    let is_phrase = |item: &Loose<'_>| match item.shape {
        Data::Bare(text) => item.slips.has(LeniencyKind::Unquoted) && !is_numeric(text),
        _ => false,
    };
    matches!(&data.shape, Data::List(items) if items.iter().all(is_phrase))
}

/// Whether a text without quotes is a number in some habit, or a date, or a time.
fn is_numeric(text: &str) -> bool {
    text.contains(char::is_numeric) && !text.contains(char::is_alphabetic)
}
