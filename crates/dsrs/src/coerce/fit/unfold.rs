//! Reads a text for a list, tuple, map or class: JSON inside the text, lists and records written as
//! lines, else the text as the only part.

use super::interpretation::BestInterpretation;
use super::leaf::{INEXACT, LeafText};
use super::{FitContext, FitResult, Fitter, mismatch};
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::coerce::{Leniencies, LeniencyKind, lines, records, repair, tags, word};
use crate::types::{Literal, ResolvedType, TypeShape};

impl<'t> Fitter<'t> {
    /// Reads a text as a container, at the lowest cost.
    pub(super) fn unfold(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let Some(leaf) = LeafText::of(data, ctx).filter(|leaf| !leaf.is_null()) else {
            return Err(mismatch::expected_type(node, data));
        };
        let text = leaf.text.trim();
        if text.is_empty() {
            return Err(mismatch::expected_type(node, data));
        }
        self.spend(text.len())?;
        if let Some(inner) = inner_json(leaf, text, ctx.allowed) {
            return self.inner(&inner, data, node, ctx);
        }
        let mut best = BestInterpretation::default();
        for found in self.written_out(text, node, ctx.allowed).into_iter().flatten() {
            best.offer(self, |fitter| fitter.isolated(|own| own.fit(&found, node, ctx.inside())));
        }
        // The text counts as the only part only if it cannot be several.
        if !best.is_found() {
            best.offer(self, |fitter| fitter.only_part(data, text, node, ctx));
        }
        match best.decide() {
            Ok(interpretation) => Ok(self.settle(interpretation)),
            Err(Some(error)) if error.is_specific() || error.remark == INEXACT => Err(error),
            Err(_) => Err(mismatch::expected_type(node, data)),
        }
    }

    /// JSON inside a text is nothing but that JSON.
    fn inner(
        &mut self,
        inner: &Loose<'_>,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        if !ctx.has(LeniencyKind::JsonInString) {
            return Err(mismatch::expected_type(node, data).remark(INEXACT));
        }
        let found = self.isolated(|own| own.fit(inner, node, ctx.inside()))?;
        self.notes.note(LeniencyKind::JsonInString, data.source, &found);
        Ok(found)
    }

    /// The containers that the lines, marks or tags of a text form.
    fn written_out<'d>(
        &mut self,
        text: &'d str,
        node: &ResolvedType<'t>,
        allowed: Leniencies,
    ) -> [Option<Loose<'d>>; 5] {
        let is_record = |shape: &TypeShape<'_>| {
            matches!(
                shape,
                TypeShape::Class(_) | TypeShape::Dict(_) | TypeShape::Any | TypeShape::Union(_)
            )
        };
        match &node.shape {
            TypeShape::List(element) => {
                let element = self.resolve(element);
                let items = lines::items(text, allowed, of_numbers(&element));
                if !is_record(&element.shape) {
                    return [items, tags::list(text, allowed), None, None, None];
                }
                [
                    records::table(text, allowed),
                    records::bullets(text, allowed),
                    records::apart(text, allowed),
                    items,
                    tags::list(text, allowed),
                ]
            }
            TypeShape::Tuple(parts) => {
                let numbers = parts.iter().all(|part| of_numbers(&self.resolve(part)));
                [lines::items(text, allowed, numbers), None, None, None, None]
            }
            _ => [records::object(text, allowed), tags::object(text, allowed), None, None, None],
        }
    }

    /// The text as the only element or member.
    fn only_part(
        &mut self,
        data: &Loose<'_>,
        text: &str,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        match &node.shape {
            TypeShape::List(element) if !word::is_null(text) => {
                self.single_element(data, node, element, ctx)
            }
            TypeShape::Class(class) => self.implied(data, node, class, ctx),
            _ => Err(mismatch::expected_type(node, data)),
        }
    }

    /// Reads data that is dropped afterwards, so it must not be cached.
    pub(super) fn isolated<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let known = std::mem::take(&mut self.known);
        let found = read(self);
        self.known = known;
        found
    }
}

/// The object or list in a quoted text. Those in a section are candidates.
fn inner_json<'d>(leaf: LeafText<'_>, text: &'d str, allowed: Leniencies) -> Option<Loose<'d>> {
    let inner = text.starts_with(['{', '[']) && !leaf.whole;
    let inner = inner.then(|| repair::parse(text, allowed)).flatten()?;
    matches!(inner.shape, Data::List(_) | Data::Map(_)).then_some(inner)
}

/// Whether a type has only numbers, so that a comma separates two of them.
fn of_numbers(node: &ResolvedType<'_>) -> bool {
    match &node.shape {
        TypeShape::Int
        | TypeShape::Float
        | TypeShape::Null
        | TypeShape::Literal(Literal::Int(_)) => true,
        TypeShape::Union(members) => members.iter().all(of_numbers),
        _ => false,
    }
}
