//! From the text of a section to the reading of least doubt: the text as it is, the data that it is,
//! and the data that stands in it.

use super::best::Best;
use super::leaf::INEXACT;
use super::pieces::{is_container, is_phrases};
use super::{Ctx, Fit, Fitter, told};
use crate::coerce::candidates::{self, Candidate};
use crate::coerce::loose::{Loose, Shape as Data};
use crate::coerce::{Leniencies, LeniencyKind};
use crate::types::{ResolvedType, TypeIR, TypeShape};
use crate::value::Payload;

impl<'t> Fitter<'t> {
    pub(super) fn section(&mut self, text: &str, ir: &'t TypeIR, allowed: Leniencies) -> Fit {
        let node = self.resolve(ir);
        let whole = Loose { source: text, shape: Data::Bare(text), slips: Leniencies::NONE };
        let ctx = Ctx::of(allowed, true);
        match takes_text(&node) {
            _ if text.is_empty() => self.nothing(&whole, &node, ctx),
            Takes::OnlyText => self.fit(&whole, &node, ctx),
            Takes::TextToo => self.text_or_data(&whole, &node, ctx),
            Takes::NoText => self.data(&whole, &node, ctx),
        }
    }

    /// Nothing was said: null where that is allowed, else what the type makes of an empty text.
    fn nothing(&mut self, whole: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        if node.is_optional() && ctx.has(LeniencyKind::Default) {
            self.trail.note(LeniencyKind::Default, "", &Payload::Null);
            return Ok(Payload::Null);
        }
        match takes_text(node) {
            Takes::NoText => Err(told::mismatch(node, whole)),
            _ => self.fit(whole, node, ctx),
        }
    }

    /// Reads a text that is wanted as a text or as something else.
    fn text_or_data(&mut self, whole: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        if let Some(found) = self.data_instead(whole.source, node, ctx.allowed) {
            return found;
        }
        // Data may be meant: where that may not be read, neither is the text.
        let inexact = ctx.allowed != Leniencies::ALL && {
            let mark = self.trail.mark();
            let data = self.data_instead(whole.source, node, Leniencies::ALL);
            self.trail.take(mark);
            data.is_some()
        };
        if inexact {
            return Err(told::mismatch(node, whole).remark(INEXACT));
        }
        self.fit(whole, node, ctx)
    }

    /// Reads a text that is wanted as anything but a text.
    fn data(&mut self, whole: &Loose<'_>, node: &ResolvedType<'t>, ctx: Ctx) -> Fit {
        let text = whole.source;
        let mut best = Best::default();
        let leaf_first = is_scalar(node) && !text.starts_with(['{', '[', '(']);
        if leaf_first {
            best.offer(self, |fitter| fitter.fit(whole, node, ctx));
        }
        let candidates =
            if best.is_clean() { Vec::new() } else { candidates::of(text, ctx.allowed) };
        let others = candidates.iter().filter(|candidate| !is_same(candidate, text));
        let (asides, data): (Vec<_>, Vec<_>) = others.partition(|other| is_aside(other));
        let mut rivals = self.offer_pieces(&mut best, &data, node, ctx);
        let is_data = candidates.first().is_none_or(is_all_data);
        let in_fence = best.is_found() && text.starts_with(['`', '~']);
        if !leaf_first && !is_data && !in_fence {
            // Where there is data, or nearly, the text around it is no single value.
            let ctx = if best.is_found() || best.fails_deep() { ctx.wrapped() } else { ctx };
            if best.offer(self, |fitter| fitter.isolated(|own| own.fit(whole, node, ctx))) {
                rivals.clear();
            }
        }
        if !best.is_found() {
            rivals = self.offer_pieces(&mut best, &asides, node, ctx);
        }
        let reading = best
            .decide()
            .map_err(|misfit| misfit.unwrap_or_else(|| told::mismatch(node, whole)))?;
        let penalty = reading.penalty();
        let found = self.settle(reading);
        match self.tell_rivals(&rivals, (&found, penalty), node, ctx) {
            Ok(()) => Ok(found),
            Err(remark) => Err(told::mismatch(node, whole).remark(remark)),
        }
    }

    /// The data that a text is, where a text would be as good: only if all of it is data, and of
    /// another type than text.
    fn data_instead(
        &mut self,
        text: &str,
        node: &ResolvedType<'t>,
        allowed: Leniencies,
    ) -> Option<Fit> {
        if !text.starts_with(['{', '[', '"', '(', '`', '~', '<']) {
            return None;
        }
        let mut best = Best::default();
        let candidates = candidates::of(text, allowed);
        let all_data = || candidates.iter().filter(|candidate| is_all_data(candidate));
        // Of several blocks none is all of the text.
        let blocks = all_data().filter(|one| one.how.has(LeniencyKind::Fenced) && !one.several);
        let single = blocks.count() < 2;
        for candidate in all_data().filter(|one| single || one.several) {
            let ctx = Ctx::of(allowed, false);
            best.offer(self, |fitter| {
                let found = fitter.candidate(candidate, node, ctx)?;
                let is_text = matches!(found, Payload::Str(_)) && is_container(&candidate.data);
                if is_text { Err(told::mismatch(node, &candidate.data)) } else { Ok(found) }
            });
        }
        match best.decide() {
            Ok(reading) => Some(Ok(self.settle(reading))),
            Err(misfit) => misfit.filter(|_| matches!(node.shape, TypeShape::Any)).map(Err),
        }
    }
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

/// Whether a candidate is nothing but the text again.
fn is_same(candidate: &Candidate<'_>, text: &str) -> bool {
    matches!(candidate.data.shape, Data::Bare(same) if same == text) && candidate.how.is_empty()
}

/// Whether a candidate may as well be a remark in prose.
fn is_aside(candidate: &Candidate<'_>) -> bool {
    candidate.how.has(LeniencyKind::Prose) && is_phrases(&candidate.data)
}

fn is_all_data(candidate: &Candidate<'_>) -> bool {
    let quoted = matches!(candidate.data.shape, Data::Quoted(_)) && candidate.how.is_empty();
    let plain = candidate.data.slips.is_empty();
    !candidate.how.has(LeniencyKind::Prose) && (is_container(&candidate.data) || quoted && plain)
}

/// What a type makes of a text.
enum Takes {
    OnlyText,
    TextToo,
    NoText,
}

fn takes_text(node: &ResolvedType<'_>) -> Takes {
    match &node.shape {
        TypeShape::Str => Takes::OnlyText,
        TypeShape::Any => Takes::TextToo,
        TypeShape::Union(members) => {
            let is_text = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Str);
            let is_null = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Null);
            if !members.iter().any(is_text) {
                Takes::NoText
            } else if members.iter().all(|member| is_text(member) || is_null(member)) {
                Takes::OnlyText
            } else {
                Takes::TextToo
            }
        }
        _ => Takes::NoText,
    }
}
