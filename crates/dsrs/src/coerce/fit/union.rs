//! Fits to unions: selects the best member, not the first.

use std::rc::Rc;

use super::interpretation::{BestInterpretation, Interpretation};
use super::leaf::{INEXACT, LeafText, exact, widens};
use super::notes::FitError;
use super::{FitContext, FitResult, Fitter, mismatch, names};
use crate::coerce::loose::Loose;
use crate::coerce::{LeniencyKind, word};
use crate::types::{ResolvedType, TypeShape};
use crate::value::Payload;

type UnionMembers<'n, 't> = &'n Rc<[ResolvedType<'t>]>;

impl<'t> Fitter<'t> {
    pub(super) fn union(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: UnionMembers<'_, 't>,
        ctx: FitContext,
    ) -> FitResult {
        match LeafText::of(data, ctx) {
            Some(leaf) => {
                if let Some(found) = self.exact_member(leaf, data, node, members, ctx) {
                    return found;
                }
                let found = self.choose(data, node, members, ctx);
                found.map(|interpretation| self.settle(interpretation))
            }
            None => self.container_member(data, node, members, ctx),
        }
    }

    /// The member that a leaf fits exactly. For a leaf without quotes, text is the last choice,
    /// after null.
    fn exact_member(
        &mut self,
        leaf: LeafText<'_>,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: UnionMembers<'_, 't>,
        ctx: FitContext,
    ) -> Option<FitResult> {
        let mut closest: Option<(u8, Payload)> = None;
        for member in members.iter() {
            let Some(found) = exact(leaf, &member.shape) else { continue };
            match distance(leaf, &member.shape) {
                0 => return Some(Ok(found)),
                other if closest.as_ref().is_none_or(|(known, _)| other < *known) => {
                    closest = Some((other, found));
                }
                _ => {}
            }
        }
        let (distance, found) = closest?;
        if matches!(found, Payload::Float(_)) {
            self.notes.widen();
        }
        let is_null = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Null);
        if distance < AS_TEXT || !word::is_null(leaf.text) || !members.iter().any(is_null) {
            return Some(Ok(found));
        }
        // If the text may be null, which is not allowed, the text is not allowed either.
        if !ctx.has(LeniencyKind::Word) {
            return Some(Err(mismatch::expected_type(node, data).remark(INEXACT)));
        }
        self.notes.note(LeniencyKind::Word, data.source, &Payload::Null);
        Some(Ok(Payload::Null))
    }

    /// The result for a container, cached: nested unions may ask for it repeatedly.
    fn container_member(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: UnionMembers<'_, 't>,
        ctx: FitContext,
    ) -> FitResult {
        let key = (std::ptr::from_ref(data) as usize, node.key, ctx);
        if let Some(known) = self.known.get(&key).cloned() {
            return known.map(|interpretation| self.settle(interpretation));
        }
        let found = self.choose(data, node, members, ctx);
        self.known.insert(key, found.clone());
        found.map(|interpretation| self.settle(interpretation))
    }

    fn choose(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: UnionMembers<'_, 't>,
        ctx: FitContext,
    ) -> Result<Interpretation, FitError> {
        let mut best = BestInterpretation::default();
        let leaf = LeafText::of(data, ctx);
        let named: Vec<ResolvedType<'t>> =
            members.iter().filter(|member| names::has_names(&member.shape)).cloned().collect();
        if let Some(leaf) = leaf.filter(|leaf| named.len() > 1 && !leaf.is_null()) {
            best.offer(self, |fitter| {
                fitter.spend_names(named.iter().map(|one| names::count(&one.shape)).sum())?;
                let read = names::near(leaf.text, &named, ctx.allowed);
                fitter
                    .take(read, data, node, ctx, |all| names::near(leaf.text, &named, all).is_ok())
            });
        }
        let named_together = leaf.is_some() && named.len() > 1;
        // Any object could be read as its source text, so text is the last choice.
        let last =
            |member: &&ResolvedType<'t>| leaf.is_none() && matches!(member.shape, TypeShape::Str);
        let others = members
            .iter()
            .filter(|member| !(last(member) || named_together && names::has_names(&member.shape)));
        for member in others {
            best.offer(self, |fitter| fitter.fit_shape(data, member, ctx));
        }
        if !best.is_found() {
            for member in members.iter().filter(last) {
                best.offer(self, |fitter| fitter.fit_shape(data, member, ctx));
            }
        }
        best.decide().map_err(|error| none_fits(error, data, node))
    }
}

/// The distance between a leaf without quotes and a text.
const AS_TEXT: u8 = 2;

/// The distance between a leaf and a type that it fits exactly. Digits without a point are an
/// integer rather than a float; quotes make a text rather than bytes; a leaf without quotes is a
/// name only if it is no number, and a text only if it is nothing else.
fn distance(leaf: LeafText<'_>, shape: &TypeShape<'_>) -> u8 {
    match shape {
        TypeShape::Float if widens(leaf, shape) => 1,
        TypeShape::Bytes => 1,
        known if !leaf.quoted && names::has_names(known) => 1,
        TypeShape::Str if !leaf.quoted => AS_TEXT,
        _ => 0,
    }
}

/// Why no member fits: the deepest reason, else that none matches.
fn none_fits(error: Option<FitError>, data: &Loose<'_>, node: &ResolvedType<'_>) -> FitError {
    match error {
        Some(error) if error.is_deeper() => error,
        Some(error) => mismatch::expected_type(node, data).remark(error.remark),
        None => mismatch::expected_type(node, data),
    }
}
