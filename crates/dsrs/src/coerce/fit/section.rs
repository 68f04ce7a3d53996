//! Selects the interpretation of a section with the lowest cost: the text itself, the text as data,
//! or data in the text.

use super::interpretation::BestInterpretation;
use super::leaf::INEXACT;
use super::pieces::{Alternative, is_container, is_phrases, is_scalar};
use super::{FitContext, FitResult, Fitter, mismatch};
use crate::coerce::candidates::{self, Candidate};
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::coerce::{Leniencies, LeniencyKind};
use crate::types::{ResolvedType, TypeIR, TypeShape};
use crate::value::Payload;

impl<'t> Fitter<'t> {
    pub(super) fn section(&mut self, text: &str, ir: &'t TypeIR, allowed: Leniencies) -> FitResult {
        let node = self.resolve(ir);
        let whole = Loose { source: text, shape: Data::Bare(text), leniencies: Leniencies::NONE };
        let ctx = FitContext::of(allowed, true);
        match text_use(&node) {
            _ if text.is_empty() => self.nothing(&whole, &node, ctx),
            TextUse::OnlyText => self.fit(&whole, &node, ctx),
            TextUse::TextToo => self.text_or_data(&whole, &node, ctx),
            TextUse::NoText => self.data(&whole, &node, ctx),
        }
    }

    /// An empty section: null if that is allowed, else the type's reading of an empty text.
    fn nothing(
        &mut self,
        whole: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        if node.is_optional() && ctx.has(LeniencyKind::Default) {
            self.notes.note(LeniencyKind::Default, "", &Payload::Null);
            return Ok(Payload::Null);
        }
        match text_use(node) {
            TextUse::NoText => Err(mismatch::expected_type(node, whole)),
            _ => self.fit(whole, node, ctx),
        }
    }

    /// Reads a text for a type that accepts text and other values.
    fn text_or_data(
        &mut self,
        whole: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        if let Some(found) = self.data_instead(whole.source, node, ctx.allowed) {
            return found;
        }
        // If the text may be data that is not allowed, the text is not allowed either.
        let inexact = ctx.allowed != Leniencies::ALL && {
            let mark = self.notes.mark();
            let data = self.data_instead(whole.source, node, Leniencies::ALL);
            self.notes.take(mark);
            data.is_some()
        };
        if inexact {
            return Err(mismatch::expected_type(node, whole).remark(INEXACT));
        }
        self.fit(whole, node, ctx)
    }

    /// Reads a text for a type that accepts no text.
    fn data(&mut self, whole: &Loose<'_>, node: &ResolvedType<'t>, ctx: FitContext) -> FitResult {
        let text = whole.source;
        let mut best = BestInterpretation::default();
        let leaf_first = is_scalar(node) && !text.starts_with(['{', '[', '(']);
        if leaf_first {
            best.offer(self, |fitter| fitter.fit(whole, node, ctx));
        }
        let candidates =
            if best.is_clean() { Vec::new() } else { candidates::of(text, ctx.allowed) };
        let others = candidates.iter().filter(|candidate| !is_same(candidate, text));
        let (asides, data): (Vec<_>, Vec<_>) = others.partition(|other| is_aside(other));
        let mut alternatives = self.offer_pieces(&mut best, &data, node, ctx);
        if !best.is_found() && matches!(node.shape, TypeShape::List(_)) {
            alternatives = self.offer_lists_in_prose(&mut best, &asides, node, ctx);
        }
        let is_data = candidates.first().is_none_or(is_all_data);
        let in_fence = best.is_found() && text.starts_with(['`', '~']);
        if !leaf_first && !is_data && !in_fence {
            // If the text contains data, or almost, the text as a whole is no single value.
            let ctx = if best.is_found() || best.fails_deep() { ctx.wrapped() } else { ctx };
            if best.offer(self, |fitter| fitter.isolated(|own| own.fit(whole, node, ctx))) {
                alternatives.clear();
            }
        }
        if !best.is_found() {
            alternatives = self.offer_pieces(&mut best, &asides, node, ctx);
        }
        let interpretation = best
            .decide()
            .map_err(|error| error.unwrap_or_else(|| mismatch::expected_type(node, whole)))?;
        let penalty = interpretation.penalty();
        let found = self.settle(interpretation);
        match self.note_alternatives(&alternatives, (&found, penalty), node, ctx) {
            Ok(()) => Ok(found),
            Err(remark) => Err(mismatch::expected_type(node, whole).remark(remark)),
        }
    }

    /// Offers lists without quotes in prose: `[a, b] is the output.` One phrase in brackets is a
    /// remark. One that does not fit says nothing about the text.
    fn offer_lists_in_prose<'c>(
        &mut self,
        best: &mut BestInterpretation,
        asides: &[&'c Candidate<'c>],
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> Vec<Alternative<'c>> {
        let several =
            |data: &Loose<'_>| matches!(&data.shape, Data::List(items) if items.len() > 1);
        let lists: Vec<_> = asides.iter().filter(|aside| several(&aside.data)).copied().collect();
        let mut in_prose = BestInterpretation::default();
        let alternatives = self.offer_pieces(&mut in_prose, &lists, node, ctx);
        if let Ok(found) = in_prose.decide() {
            best.consider(found);
        }
        alternatives
    }

    /// The text as data, for a type that also accepts text: only if the whole text is data and the
    /// value is no text.
    fn data_instead(
        &mut self,
        text: &str,
        node: &ResolvedType<'t>,
        allowed: Leniencies,
    ) -> Option<FitResult> {
        if !text.starts_with(['{', '[', '"', '(', '`', '~', '<']) {
            return None;
        }
        let mut best = BestInterpretation::default();
        let candidates = candidates::of(text, allowed);
        let all_data = || candidates.iter().filter(|candidate| is_all_data(candidate));
        // One of several blocks is not the whole text.
        let blocks = all_data().filter(|one| one.how.has(LeniencyKind::Fenced) && !one.several);
        let single = blocks.count() < 2;
        for candidate in all_data().filter(|one| single || one.several) {
            let ctx = FitContext::of(allowed, false);
            best.offer(self, |fitter| {
                let found = fitter.candidate(candidate, node, ctx)?;
                let is_text = matches!(found, Payload::Str(_)) && is_container(&candidate.data);
                if is_text {
                    Err(mismatch::expected_type(node, &candidate.data))
                } else {
                    Ok(found)
                }
            });
        }
        match best.decide() {
            Ok(interpretation) => Some(Ok(self.settle(interpretation))),
            Err(error) => error.filter(|_| matches!(node.shape, TypeShape::Any)).map(Err),
        }
    }
}

/// Whether a candidate is just the whole text.
fn is_same(candidate: &Candidate<'_>, text: &str) -> bool {
    matches!(candidate.data.shape, Data::Bare(same) if same == text) && candidate.how.is_empty()
}

/// Whether a candidate may be a remark in prose.
fn is_aside(candidate: &Candidate<'_>) -> bool {
    candidate.how.has(LeniencyKind::Prose) && is_phrases(&candidate.data)
}

fn is_all_data(candidate: &Candidate<'_>) -> bool {
    let quoted = matches!(candidate.data.shape, Data::Quoted(_)) && candidate.how.is_empty();
    let plain = candidate.data.leniencies.is_empty();
    !candidate.how.has(LeniencyKind::Prose) && (is_container(&candidate.data) || quoted && plain)
}

/// How a type uses text.
enum TextUse {
    OnlyText,
    TextToo,
    NoText,
}

fn text_use(node: &ResolvedType<'_>) -> TextUse {
    match &node.shape {
        TypeShape::Str => TextUse::OnlyText,
        TypeShape::Any => TextUse::TextToo,
        TypeShape::Union(members) => {
            let is_text = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Str);
            let is_null = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Null);
            if !members.iter().any(is_text) {
                TextUse::NoText
            } else if members.iter().all(|member| is_text(member) || is_null(member)) {
                TextUse::OnlyText
            } else {
                TextUse::TextToo
            }
        }
        _ => TextUse::NoText,
    }
}
