//! Fits to classes: matches keys and members, finds missing and extra ones.

use std::collections::HashMap;
use std::sync::Arc;

use super::container::ObjectMembers;
use super::interpretation::BestInterpretation;
use super::notes::{FitError, PathStep};
use super::{FitContext, FitResult, Fitter, is_missing, leaf, mismatch, several};
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::coerce::name::letters;
use crate::coerce::{Leniencies, LeniencyKind};
use crate::types::{Class, ClassField, ResolvedType};
use crate::value::{Map, Payload};

/// The keys of the members of a class.
struct MemberKeys {
    /// The key of each member of the class.
    by_field: Vec<Option<MemberKey>>,
    /// Keys that a later key of the same member overrides.
    overridden: Vec<(usize, usize)>,
    /// Keys without a member.
    extra: Vec<usize>,
}

/// A key of a member.
#[derive(Clone, Copy)]
struct MemberKey {
    index: usize,
    /// Whether it is exactly the member's name or alias.
    exact: bool,
}

impl MemberKeys {
    fn sort(members: ObjectMembers<'_, '_>, class: &Class, allowed: Leniencies) -> Self {
        let mut keys =
            Self { by_field: vec![None; class.fields.len()], overridden: vec![], extra: vec![] };
        let aliases = aliases(class);
        for (index, (key, _)) in members.iter().enumerate() {
            match exact_field(key, index, class, &aliases) {
                Some(field) => keys.take(field, MemberKey { index, exact: true }),
                None => keys.extra.push(index),
            }
        }
        if !keys.extra.is_empty() && allowed.has(LeniencyKind::Spelling) {
            keys.take_misspelled(members, class);
        }
        keys
    }

    fn take(&mut self, field: usize, key: MemberKey) {
        if let Some(slot) = self.by_field.get_mut(field)
            && let Some(earlier) = slot.replace(key)
        {
            self.overridden.push((field, earlier.index));
        }
    }

    /// Matches members without an exact key to keys that differ in case, spaces or punctuation.
    fn take_misspelled(&mut self, members: ObjectMembers<'_, '_>, class: &Class) {
        // Of several members with these letters, the first has them.
        let mut open: HashMap<String, usize> = HashMap::new();
        for (index, (name, field)) in class.fields.iter().enumerate() {
            if self.by_field.get(index).is_some_and(Option::is_none) {
                open.entry(letters(name)).or_insert(index);
                open.entry(letters(seen_as(name, field))).or_insert(index);
            }
        }
        open.remove("");
        if open.is_empty() {
            return;
        }
        for index in std::mem::take(&mut self.extra) {
            let key = members.get(index).map_or_else(String::new, |(key, _)| letters(key));
            match open.get(&key) {
                Some(field) => self.take(*field, MemberKey { index, exact: false }),
                None => self.extra.push(index),
            }
        }
    }
}

fn seen_as<'c>(name: &'c Arc<str>, field: &'c ClassField) -> &'c Arc<str> {
    field.alias.as_ref().unwrap_or(name)
}

/// The member of a key: by alias, else by name. Checks the position of the class first, because
/// keys are usually in order.
fn exact_field(
    key: &str,
    index: usize,
    class: &Class,
    aliases: &HashMap<&str, usize>,
) -> Option<usize> {
    if let Some((name, field)) = class.fields.get_index(index)
        && **seen_as(name, field) == *key
    {
        return Some(index);
    }
    aliases.get(key).copied().or_else(|| class.fields.get_index_of(key))
}

/// The members by the names that the LM sees, if any member has an alias.
fn aliases(class: &Class) -> HashMap<&str, usize> {
    let mut aliases = HashMap::new();
    if class.fields.values().any(|field| field.alias.is_some()) {
        for (index, (name, field)) in class.fields.iter().enumerate() {
            aliases.entry(seen_as(name, field).as_ref()).or_insert(index);
        }
    }
    aliases
}

/// Whether a list of this one element is the only member of a class and not the class.
fn is_implied(only: &Loose<'_>, class: &Class) -> bool {
    class.fields.len() == 1 && !matches!(only.shape, Data::Map(_))
}

impl<'t> Fitter<'t> {
    pub(super) fn class(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        class: &'t Class,
        ctx: FitContext,
    ) -> FitResult {
        match &data.shape {
            Data::Map(members) => self.members(members, class, ctx),
            Data::List(items) => match items.as_slice() {
                [only] if ctx.has(LeniencyKind::SingleElement) && !is_implied(only, class) => {
                    self.only(data, only, node, ctx)
                }
                _ => self.list_as_class(data, node, class, ctx),
            },
            _ => self.unfold(data, node, ctx),
        }
    }

    /// A list for a class: it is the only member, or has several objects of which one is wanted.
    fn list_as_class(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        class: &'t Class,
        ctx: FitContext,
    ) -> FitResult {
        let Some(objects) = several::objects(data, ctx) else {
            return self.implied(data, node, class, ctx);
        };
        let mut best = BestInterpretation::default();
        best.offer(self, |own| own.implied(data, node, class, ctx));
        best.offer(self, |own| own.one_of(objects, data, node, ctx));
        match best.decide() {
            Ok(interpretation) => Ok(self.settle(interpretation)),
            Err(error) => Err(error.unwrap_or_else(|| mismatch::expected_type(node, data))),
        }
    }

    fn members(
        &mut self,
        members: ObjectMembers<'_, '_>,
        class: &'t Class,
        ctx: FitContext,
    ) -> FitResult {
        let keys = MemberKeys::sort(members, class, ctx.allowed);
        let mut values = Map::with_capacity(class.fields.len());
        for ((name, field), key) in class.fields.iter().zip(&keys.by_field) {
            let member = key.and_then(|key| Some((key, members.get(key.index)?)));
            let fitted = self.member(name, field, member.map(|(_, (_, data))| data), ctx)?;
            if let Some((MemberKey { exact: false, .. }, (key, _))) = member {
                let mark = self.notes.mark();
                self.notes.note(LeniencyKind::Spelling, key, &Payload::Str(name.clone()));
                self.notes.place(mark, || PathStep::Member(name.clone()));
            }
            values.insert(name.clone(), fitted);
        }
        for (field, overridden) in keys.overridden {
            let Some(((name, selected), (_, data))) =
                values.get_index(field).zip(members.get(overridden))
            else {
                continue;
            };
            self.repeated(selected, data.source, ctx, || PathStep::Member(name.clone()))?;
        }
        self.drop_extra(members, &keys.extra, ctx)?;
        Ok(Payload::map(values))
    }

    fn member(
        &mut self,
        name: &'t Arc<str>,
        field: &'t ClassField,
        data: Option<&Loose<'_>>,
        ctx: FitContext,
    ) -> FitResult {
        let allowed =
            if field.strict { ctx.allowed.common(Leniencies::STRICT) } else { ctx.allowed };
        let step = || PathStep::Member(name.clone());
        let Some(data) = data.filter(|data| !is_missing(data)) else {
            let mark = self.notes.mark();
            let found = self.absent(&field.ty, field.default.as_ref(), allowed);
            self.notes.place(mark, step);
            return found.map_err(|error| error.at(step()));
        };
        let node = self.resolve(&field.ty);
        self.part(data, &node, FitContext::of(allowed, false), step)
    }

    fn drop_extra(
        &mut self,
        members: ObjectMembers<'_, '_>,
        extra: &[usize],
        ctx: FitContext,
    ) -> Result<(), FitError> {
        for (key, data) in extra.iter().filter_map(|index| members.get(*index)) {
            let step = || PathStep::Member(key.as_ref().into());
            if !ctx.has(LeniencyKind::ExtraMember) {
                return Err(FitError::new("is not a member that was asked for").at(step()));
            }
            let mark = self.notes.mark();
            self.notes.note(LeniencyKind::ExtraMember, data.source, &Payload::Null);
            self.notes.place(mark, step);
        }
        Ok(())
    }

    /// A value for a class of one member, unless a class was added already.
    pub(super) fn implied(
        &mut self,
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        class: &'t Class,
        ctx: FitContext,
    ) -> FitResult {
        let Some((name, field)) = class.fields.first().filter(|_| class.fields.len() == 1) else {
            return Err(mismatch::expected_type(node, data));
        };
        if ctx.wrapped || leaf::LeafText::of(data, ctx).is_some_and(leaf::LeafText::is_null) {
            return Err(mismatch::expected_type(node, data));
        }
        if !ctx.has(LeniencyKind::ImpliedField) || field.strict {
            return Err(mismatch::expected_type(node, data).remark(leaf::INEXACT));
        }
        let only = self.resolve(&field.ty);
        let mark = self.notes.mark();
        let found = self.fit_shape(data, &only, ctx.wrapped()).map_err(|error| {
            if error.is_specific() {
                error.at(PathStep::Member(name.clone()))
            } else {
                mismatch::expected_type(node, data)
            }
        })?;
        self.notes.place(mark, || PathStep::Member(name.clone()));
        let found = Payload::map(Map::from_iter([(name.clone(), found)]));
        self.notes.note(LeniencyKind::ImpliedField, data.source, &found);
        Ok(found)
    }
}
