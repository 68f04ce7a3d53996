//! Fits to unions: selects the best member, not the first.

use std::rc::Rc;

use super::interpretation::{BestInterpretation, Interpretation};
use super::leaf::{INEXACT, LeafText, exact, widens};
use super::notes::FitError;
use super::{FitContext, FitResult, Fitter, mismatch, names, several};
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
            None => match several::objects(data, ctx) {
                Some(objects) => self.objects_as_member(objects, data, node, members, ctx),
                None => self.container_member(data, node, members, ctx),
            },
        }
    }

    /// Several objects: the list as a whole, or one of them. A text loses nothing, so that none is
    /// selected beside it.
    fn objects_as_member(
        &mut self,
        objects: &[Loose<'_>],
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: UnionMembers<'_, 't>,
        ctx: FitContext,
    ) -> FitResult {
        let mut best = BestInterpretation::default();
        best.offer(self, |own| own.container_member(data, node, members, ctx.complete()));
        let is_text = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Str);
        if !members.iter().any(is_text) {
            best.offer(self, |own| own.one_of(objects, data, node, ctx));
        }
        match best.decide() {
            Ok(interpretation) => Ok(self.settle(interpretation)),
            Err(error) => Err(none_fits(error, data, node)),
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
        let names = self.names_of(node);
        let named = if leaf.is_text() { names.exact(leaf.text) } else { None };
        let others = names.others.iter().filter_map(|at| {
            let shape = &members.get(*at)?.shape;
            Some((distance(leaf, shape), *at, exact(leaf, shape)?))
        });
        let named = named
            .and_then(|(at, found)| Some((distance(leaf, &members.get(at)?.shape), at, found)));
        let closest = others.chain(named).min_by_key(|(distance, at, _)| (*distance, *at));
        let (distance, _, found) = closest?;
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
        let names = self.names_of(node);
        let together = leaf.filter(|_| names.named.len() > 1);
        if let Some(leaf) = together.filter(|leaf| !leaf.is_null()) {
            best.offer(self, |fitter| fitter.near_name(leaf.text, data, node, ctx));
        }
        // Any object could be read as its source text, so text is the last choice.
        let last =
            |member: &&ResolvedType<'t>| leaf.is_none() && matches!(member.shape, TypeShape::Str);
        let named = if together.is_some() { [].as_slice() } else { names.named.as_slice() };
        let mut tried: Vec<usize> = names.others.iter().chain(named).copied().collect();
        tried.sort_unstable();
        for member in tried.iter().filter_map(|at| members.get(*at)).filter(|one| !last(one)) {
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
        Some(error) if error.is_of_any_type() => error,
        Some(error) => error.because(mismatch::expected_type(node, data)),
        None => mismatch::expected_type(node, data),
    }
}
