//! Selects one of several objects where one is wanted, and reports the others. Does not know how an
//! object is read.

use super::interpretation::BestInterpretation;
use super::leaf::INEXACT;
use super::{FitContext, FitResult, Fitter, mismatch};
use crate::coerce::LeniencyKind;
use crate::coerce::loose::{Loose, LooseShape as Data};
use crate::types::ResolvedType;

impl<'t> Fitter<'t> {
    /// The object with the lowest cost, of equals the first.
    pub(super) fn one_of(
        &mut self,
        objects: &[Loose<'_>],
        data: &Loose<'_>,
        node: &ResolvedType<'t>,
        ctx: FitContext,
    ) -> FitResult {
        let mut best = BestInterpretation::default();
        let mut fitting = Vec::new();
        for object in objects {
            let read = best.attempt(self, |own| own.fit(object, node, ctx.inside()));
            if let Some(read) = read {
                fitting.push((object.source, read.value().clone()));
                best.consider(read);
            }
        }
        let found = best
            .decide()
            .map_err(|error| error.unwrap_or_else(|| mismatch::expected_type(node, data)))?;
        fitting.retain(|(_, other)| other != found.value());
        let is_allowed = ctx.has(LeniencyKind::SingleElement)
            && (fitting.is_empty() || ctx.has(LeniencyKind::Choice));
        if !is_allowed {
            return Err(mismatch::expected_type(node, data).remark(INEXACT));
        }
        let found = self.settle(found);
        self.notes.note(LeniencyKind::SingleElement, data.source, &found);
        for (source, _) in fitting {
            self.notes.note(LeniencyKind::Choice, source, &found);
        }
        Ok(found)
    }
}

/// The objects of a list of several, if it may be read as one of them.
pub(super) fn objects<'d, 's>(data: &'d Loose<'s>, ctx: FitContext) -> Option<&'d [Loose<'s>]> {
    let Data::List(items) = &data.shape else { return None };
    let is_object = |item: &Loose<'_>| matches!(item.shape, Data::Map(_));
    let several = ctx.one_of_several && items.len() > 1 && items.iter().all(is_object);
    several.then_some(items)
}
