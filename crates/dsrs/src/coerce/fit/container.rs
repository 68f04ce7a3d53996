//! Fits to lists, tuples and maps. Adds the position of each part to errors and notes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::interpretation::BestInterpretation;
use super::notes::{FitError, PathStep};
use super::{FitContext, FitResult, Fitter, mismatch, several};
use crate::coerce::LeniencyKind;
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::types::{ResolvedType, TypeIR};
use crate::value::{Map, Payload};

/// The members of an object, as written.
pub(super) type ObjectMembers<'d, 's> = &'d [(Cow<'s, str>, Loose<'s>)];

impl<'t> Fitter<'t> {
    pub(super) fn list(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        element: &'t TypeIR,
        ctx: FitContext,
    ) -> FitResult {
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

    /// Reads tags of one name inside another tag as elements, unless the outer tag is itself an
    /// element.
    fn tagged_elements(
        &mut self,
        data: &Loose<'_>,
        items: &[Loose<'_>],
        node: &ResolvedType<'t>,
        element: &'t TypeIR,
        ctx: FitContext,
    ) -> FitResult {
        let inner = self.resolve(element);
        let mut best = BestInterpretation::default();
        best.offer(self, |own| own.elements(items.iter().map(|item| (item, &inner)), ctx));
        best.offer(self, |own| own.single_element(data, node, element, ctx));
        match best.decide() {
            Ok(interpretation) => Ok(self.settle(interpretation)),
            Err(error) => Err(error.unwrap_or_else(|| mismatch::expected_type(node, data))),
        }
    }

    /// A single value for a list, unless a list was added already.
    pub(super) fn single_element(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        element: &'t TypeIR,
        ctx: FitContext,
    ) -> FitResult {
        if ctx.wrapped {
            return Err(mismatch::expected_type(node, data));
        }
        if !ctx.has(LeniencyKind::SingleElement) {
            return Err(mismatch::expected_type(node, data).remark(super::leaf::INEXACT));
        }
        let element = self.resolve(element);
        let mark = self.notes.mark();
        let only = self.fit_shape(data, &element, ctx.wrapped());
        let only = only.map_err(|error| {
            if error.is_specific() {
                error.at(PathStep::Element(0))
            } else {
                mismatch::expected_type(node, data)
            }
        })?;
        self.notes.place(mark, || PathStep::Element(0));
        let list = Payload::list(vec![only]);
        self.notes.note(LeniencyKind::SingleElement, data.source, &list);
        Ok(list)
    }

    pub(super) fn tuple(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        parts: &'t [TypeIR],
        ctx: FitContext,
    ) -> FitResult {
        let items = match &data.shape {
            Data::List(items) => items,
            Data::Map(_) => return Err(mismatch::expected_type(node, data)),
            _ => return self.unfold(data, node, ctx),
        };
        if items.len() != parts.len() {
            let reason = format!("expected {} values, found {}", parts.len(), items.len());
            return Err(FitError::new(reason));
        }
        let nodes: Vec<ResolvedType<'t>> = parts.iter().map(|part| self.resolve(part)).collect();
        self.elements(items.iter().zip(&nodes), ctx)
    }

    fn elements<'p>(
        &mut self,
        parts: impl ExactSizeIterator<Item = (&'p Loose<'p>, &'p ResolvedType<'t>)>,
        ctx: FitContext,
    ) -> FitResult
    where
        't: 'p,
    {
        let mut found = Vec::with_capacity(parts.len());
        for (index, (item, node)) in parts.enumerate() {
            found
                .push(self.part(item, node, ctx.inside().complete(), || PathStep::Element(index))?);
        }
        Ok(Payload::list(found))
    }

    pub(super) fn dict(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        member: &'t TypeIR,
        ctx: FitContext,
    ) -> FitResult {
        match &data.shape {
            Data::Map(members) => {
                let member = self.resolve(member);
                self.entries(members, &member, ctx)
            }
            Data::List(_) => match several::objects(data, ctx) {
                Some(objects) => self.one_of(objects, data, node, ctx),
                None => Err(mismatch::expected_type(node, data)),
            },
            _ => self.unfold(data, node, ctx),
        }
    }

    /// The members of an object with values of one type; the last of a repeated key counts.
    pub(super) fn entries(
        &mut self,
        members: ObjectMembers<'_, '_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let mut values = Map::with_capacity(members.len());
        let mut last = None;
        for (index, (key, member)) in members.iter().enumerate() {
            let mark = self.notes.mark();
            let name: Arc<str> = key.as_ref().into();
            match self.part(member, node, ctx.inside(), || PathStep::Member(name.clone())) {
                Ok(fitted) => drop(values.insert(name, fitted)),
                Err(error) => {
                    let last = last.get_or_insert_with(|| last_of_each(members));
                    if last.get(&**key) == Some(&index) {
                        return Err(error);
                    }
                    self.notes.take(mark);
                    values.insert(name, Payload::Null);
                }
            }
        }
        if values.len() < members.len() {
            self.overridden(members, &values, ctx)?;
        }
        Ok(Payload::map(values))
    }

    /// Notes the values of keys that are repeated later.
    fn overridden(
        &mut self,
        members: ObjectMembers<'_, '_>,
        found: &Map,
        ctx: FitContext,
    ) -> Result<(), FitError> {
        let mut earlier: HashMap<&str, &str> = HashMap::with_capacity(found.len());
        for (key, member) in members {
            let Some(read) = earlier.insert(key, member.source) else { continue };
            let selected = found.get(&**key).cloned().unwrap_or_default();
            self.repeated(&selected, read, ctx, || PathStep::Member(key.as_ref().into()))?;
        }
        Ok(())
    }

    /// Notes a repeated key.
    pub(super) fn repeated(
        &mut self,
        selected: &Payload,
        read: &str,
        ctx: FitContext,
        step: impl Fn() -> PathStep,
    ) -> Result<(), FitError> {
        if !ctx.has(LeniencyKind::DuplicateKey) {
            return Err(FitError::new("occurs twice").at(step()));
        }
        let mark = self.notes.mark();
        self.notes.note(LeniencyKind::DuplicateKey, read, selected);
        self.notes.place(mark, step);
        Ok(())
    }
}

/// The last position of each key.
fn last_of_each<'d>(members: ObjectMembers<'d, '_>) -> HashMap<&'d str, usize> {
    members.iter().enumerate().map(|(index, (key, _))| (key.as_ref(), index)).collect()
}

/// The elements in `<tags><tag>a</tag><tag>b</tag></tags>`: tags of one name inside another tag.
fn tagged<'d, 's>(source: &str, members: ObjectMembers<'d, 's>) -> Option<&'d [Loose<'s>]> {
    match members {
        [(_, only)] if source.starts_with('<') => match &only.shape {
            Data::List(items) if only.source.starts_with('<') => Some(items),
            _ => Some(std::slice::from_ref(only)),
        },
        _ => None,
    }
}
