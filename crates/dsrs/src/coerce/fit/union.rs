//! Fitting to unions: the member that fits best, not first.

use std::rc::Rc;

use super::best::{Best, Reading};
use super::leaf::{INEXACT, Leaf, exact, widens};
use super::trail::Misfit;
use super::{Ctx, Fit, Fitter, names, told};
use crate::coerce::loose::Loose;
use crate::coerce::{LeniencyKind, word};
use crate::types::{ResolvedType, TypeShape};
use crate::value::Payload;

type Members<'n, 't> = &'n Rc<[ResolvedType<'t>]>;

impl<'t> Fitter<'t> {
    pub(super) fn union(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: Members<'_, 't>,
        ctx: Ctx,
    ) -> Fit {
        match Leaf::of(data, ctx) {
            Some(leaf) => {
                if let Some(found) = self.exact_member(leaf, data, node, members, ctx) {
                    return found;
                }
                let found = self.choose(data, node, members, ctx);
                found.map(|reading| self.settle(reading))
            }
            None => self.container_member(data, node, members, ctx),
        }
    }

    /// The member that a leaf is exactly of. A text is what a leaf without quotes was meant as last,
    /// and null comes before it.
    fn exact_member(
        &mut self,
        leaf: Leaf<'_>,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: Members<'_, 't>,
        ctx: Ctx,
    ) -> Option<Fit> {
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
            self.trail.widen();
        }
        let is_null = |member: &ResolvedType<'_>| matches!(member.shape, TypeShape::Null);
        if distance < AS_TEXT || !word::is_null(leaf.text) || !members.iter().any(is_null) {
            return Some(Ok(found));
        }
        // Null may be meant: where that may not be read, neither is the text.
        if !ctx.has(LeniencyKind::Word) {
            return Some(Err(told::mismatch(node, data).remark(INEXACT)));
        }
        self.trail.note(LeniencyKind::Word, data.source, &Payload::Null);
        Some(Ok(Payload::Null))
    }

    /// What a container is, remembered: unions in unions may ask for it again and again.
    fn container_member(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: Members<'_, 't>,
        ctx: Ctx,
    ) -> Fit {
        let key = (std::ptr::from_ref(data) as usize, node.key, ctx);
        if let Some(known) = self.known.get(&key).cloned() {
            return known.map(|reading| self.settle(reading));
        }
        let found = self.choose(data, node, members, ctx);
        self.known.insert(key, found.clone());
        found.map(|reading| self.settle(reading))
    }

    fn choose(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        members: Members<'_, 't>,
        ctx: Ctx,
    ) -> Result<Reading, Misfit> {
        let mut best = Best::default();
        let leaf = Leaf::of(data, ctx);
        let named: Vec<ResolvedType<'t>> =
            members.iter().filter(|member| names::has_names(&member.shape)).cloned().collect();
        if let Some(leaf) = leaf.filter(|leaf| named.len() > 1 && !leaf.is_null()) {
            best.offer(self, |fitter| {
                let read = names::near(leaf.text, &named, ctx.allowed);
                fitter
                    .take(read, data, node, ctx, |all| names::near(leaf.text, &named, all).is_ok())
            });
        }
        let named_together = leaf.is_some() && named.len() > 1;
        // Any object could be a text as it is spelled: that is meant last.
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
        best.decide().map_err(|misfit| none_fits(misfit, data, node))
    }
}

/// How far a leaf without quotes is from a text.
const AS_TEXT: u8 = 2;

/// How far a leaf is from the type that it is exactly of: digits without a point are an integer
/// before they are a number, quotes make a text before they make bytes, and what has no quotes is
/// a name only if it is no number, and a text only if it is nothing else.
fn distance(leaf: Leaf<'_>, shape: &TypeShape<'_>) -> u8 {
    match shape {
        TypeShape::Float if widens(leaf, shape) => 1,
        TypeShape::Bytes => 1,
        known if !leaf.quoted && names::has_names(known) => 1,
        TypeShape::Str if !leaf.quoted => AS_TEXT,
        _ => 0,
    }
}

/// Why no member fits: the reason that goes deepest, else that none of them is there.
fn none_fits(misfit: Option<Misfit>, data: &Loose<'_>, node: &ResolvedType<'_>) -> Misfit {
    match misfit {
        Some(misfit) if misfit.is_deeper() => misfit,
        Some(misfit) => told::mismatch(node, data).remark(misfit.remark),
        None => told::mismatch(node, data),
    }
}
