//! Fitting to lists, tuples and maps: every part has its place in errors and notes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::best::Best;
use super::trail::{Misfit, Step};
use super::{Ctx, Fit, Fitter, told};
use crate::coerce::LeniencyKind;
use crate::coerce::loose::{Loose, Shape as Data};
use crate::types::{ResolvedType, TypeIR};
use crate::value::{Map, Payload};

/// The members of an object, as they were written.
pub(super) type Members<'d, 's> = &'d [(Cow<'s, str>, Loose<'s>)];

impl<'t> Fitter<'t> {
    pub(super) fn list(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        element: &'t TypeIR,
        ctx: Ctx,
    ) -> Fit {
        match &data.shape {
            Data::List(items) => {
                let element = self.resolve(element);
                self.elements(items.iter().map(|item| (item, &element)), ctx)
            }
            Data::Map(members) => match tagged(data.source, members) {
                Some(items) => self.tagged_elements(data, items, node, element, ctx),
                None => self.single_element(data, node, element, ctx),
            },
            _ => self.unfold(data, node, ctx),
        }
    }

    /// The elements that tags of one name make inside another one, unless that is an element itself.
    fn tagged_elements(
        &mut self,
        data: &Loose<'_>,
        items: &[Loose<'_>],
        node: &ResolvedType<'t>,
        element: &'t TypeIR,
        ctx: Ctx,
    ) -> Fit {
        let inner = self.resolve(element);
        let mut best = Best::default();
        best.offer(self, |own| own.elements(items.iter().map(|item| (item, &inner)), ctx));
        best.offer(self, |own| own.single_element(data, node, element, ctx));
        match best.decide() {
            Ok(reading) => Ok(self.settle(reading)),
            Err(misfit) => Err(misfit.unwrap_or_else(|| told::mismatch(node, data))),
        }
    }

    /// One value where a list is wanted, unless a list was put around it already.
    pub(super) fn single_element(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        element: &'t TypeIR,
        ctx: Ctx,
    ) -> Fit {
        if ctx.wrapped {
            return Err(told::mismatch(node, data));
        }
        if !ctx.has(LeniencyKind::SingleElement) {
            return Err(told::mismatch(node, data).remark(super::leaf::INEXACT));
        }
        let element = self.resolve(element);
        let mark = self.trail.mark();
        let only = self.fit_shape(data, &element, ctx.wrapped());
        let only = only.map_err(|misfit| {
            if misfit.is_deeper() {
                misfit.at(Step::Element(0))
            } else {
                told::mismatch(node, data)
            }
        })?;
        self.trail.place(mark, || Step::Element(0));
        let list = Payload::list(vec![only]);
        self.trail.note(LeniencyKind::SingleElement, data.source, &list);
        Ok(list)
    }

    pub(super) fn tuple(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        parts: &'t [TypeIR],
        ctx: Ctx,
    ) -> Fit {
        let items = match &data.shape {
            Data::List(items) => items,
            Data::Map(_) => return Err(told::mismatch(node, data)),
            _ => return self.unfold(data, node, ctx),
        };
        if items.len() != parts.len() {
            let reason = format!("expected {} values, found {}", parts.len(), items.len());
            return Err(Misfit::new(reason));
        }
        let nodes: Vec<ResolvedType<'t>> = parts.iter().map(|part| self.resolve(part)).collect();
        self.elements(items.iter().zip(&nodes), ctx)
    }

    fn elements<'p>(
        &mut self,
        parts: impl ExactSizeIterator<Item = (&'p Loose<'p>, &'p ResolvedType<'t>)>,
        ctx: Ctx,
    ) -> Fit
    where
        't: 'p,
    {
        let mut found = Vec::with_capacity(parts.len());
        for (index, (item, node)) in parts.enumerate() {
            found.push(self.part(item, node, ctx.inside(), || Step::Element(index))?);
        }
        Ok(Payload::list(found))
    }

    pub(super) fn dict(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        member: &'t TypeIR,
        ctx: Ctx,
    ) -> Fit {
        match &data.shape {
            Data::Map(members) => {
                let member = self.resolve(member);
                self.entries(members, &member, ctx)
            }
            Data::List(_) => Err(told::mismatch(node, data)),
            _ => self.unfold(data, node, ctx),
        }
    }

    /// The members of an object, each of one type; the last of a repeated key counts.
    pub(super) fn entries(
        &mut self,
        members: Members<'_, '_>,
        node: &ResolvedType<'t>,
        ctx: Ctx,
    ) -> Fit {
        let mut found = Map::with_capacity(members.len());
        let mut last = None;
        for (index, (key, member)) in members.iter().enumerate() {
            let mark = self.trail.mark();
            let name: Arc<str> = key.as_ref().into();
            match self.part(member, node, ctx.inside(), || Step::Member(name.clone())) {
                Ok(fitted) => drop(found.insert(name, fitted)),
                Err(misfit) => {
                    let last = last.get_or_insert_with(|| last_of_each(members));
                    if last.get(&**key) == Some(&index) {
                        return Err(misfit);
                    }
                    self.trail.take(mark);
                    found.insert(name, Payload::Null);
                }
            }
        }
        if found.len() < members.len() {
            self.overridden(members, &found, ctx)?;
        }
        Ok(Payload::map(found))
    }

    /// Notes what stood under keys that came again.
    fn overridden(
        &mut self,
        members: Members<'_, '_>,
        found: &Map,
        ctx: Ctx,
    ) -> Result<(), Misfit> {
        let mut earlier: HashMap<&str, &str> = HashMap::with_capacity(found.len());
        for (key, member) in members {
            let Some(read) = earlier.insert(key, member.source) else { continue };
            let kept = found.get(&**key).cloned().unwrap_or_default();
            self.repeated(&kept, read, ctx, || Step::Member(key.as_ref().into()))?;
        }
        Ok(())
    }

    /// Notes that a key stood more than once.
    pub(super) fn repeated(
        &mut self,
        kept: &Payload,
        read: &str,
        ctx: Ctx,
        step: impl Fn() -> Step,
    ) -> Result<(), Misfit> {
        if !ctx.has(LeniencyKind::DuplicateKey) {
            return Err(Misfit::new("stands there twice").at(step()));
        }
        let mark = self.trail.mark();
        self.trail.note(LeniencyKind::DuplicateKey, read, kept);
        self.trail.place(mark, step);
        Ok(())
    }
}

/// Where each key stands for the last time.
fn last_of_each<'d>(members: Members<'d, '_>) -> HashMap<&'d str, usize> {
    members.iter().enumerate().map(|(index, (key, _))| (key.as_ref(), index)).collect()
}

/// What stands in tags of one name inside another tag: `<tags><tag>a</tag><tag>b</tag></tags>`.
fn tagged<'d, 's>(source: &str, members: Members<'d, 's>) -> Option<&'d [Loose<'s>]> {
    match members {
        [(_, only)] if source.starts_with('<') => match &only.shape {
            Data::List(items) if only.source.starts_with('<') => Some(items),
            _ => Some(std::slice::from_ref(only)),
        },
        _ => None,
    }
}
