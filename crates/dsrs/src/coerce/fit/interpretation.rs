//! Selects the interpretation of a text with the lowest cost, or the most specific of several
//! failures.

use super::notes::{FitError, NoteSegment};
use super::{FitResult, Fitter};
use crate::value::Payload;

/// The best interpretation so far.
#[derive(Debug, Default)]
pub(super) struct BestInterpretation {
    best: Option<Interpretation>,
    error: Option<FitError>,
}

/// A value and the notes of reading it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Interpretation {
    value: Payload,
    segment: NoteSegment,
}

impl BestInterpretation {
    /// Tries an interpretation. Returns whether it is the best so far; the first of equals wins.
    pub(super) fn offer<'t>(
        &mut self,
        fitter: &mut Fitter<'t>,
        attempt: impl FnOnce(&mut Fitter<'t>) -> FitResult,
    ) -> bool {
        if self.best.as_ref().is_some_and(|found| found.segment.is_exact()) {
            return false;
        }
        self.attempt(fitter, attempt).is_some_and(|interpretation| self.consider(interpretation))
    }

    /// Tries an interpretation without selecting it. Records a failure.
    pub(super) fn attempt<'t>(
        &mut self,
        fitter: &mut Fitter<'t>,
        attempt: impl FnOnce(&mut Fitter<'t>) -> FitResult,
    ) -> Option<Interpretation> {
        let mark = fitter.notes.mark();
        let outcome = attempt(fitter);
        let segment = fitter.notes.take(mark);
        outcome
            .map(|value| Interpretation { value, segment })
            .map_err(|error| self.fail(error))
            .ok()
    }

    /// Selects an interpretation if it is the best so far.
    pub(super) fn consider(&mut self, interpretation: Interpretation) -> bool {
        let known = self.best.as_ref().map(|known| known.segment.cost());
        let better = known.is_none_or(|known| interpretation.segment.cost() < known);
        if better {
            self.best = Some(interpretation);
        }
        better
    }

    pub(super) fn fail(&mut self, error: FitError) {
        if self.error.as_ref().is_none_or(|known| error.weight() > known.weight()) {
            self.error = Some(error);
        }
    }

    pub(super) const fn is_found(&self) -> bool {
        self.best.is_some()
    }

    /// Whether the best interpretation needs no leniency.
    pub(super) fn is_clean(&self) -> bool {
        self.best.as_ref().is_some_and(|found| found.segment.is_clean())
    }

    /// Whether nothing fits so far and a failure is inside of a part.
    pub(super) fn fails_deep(&self) -> bool {
        self.best.is_none() && self.error.as_ref().is_some_and(FitError::is_deeper)
    }

    /// The best interpretation, or the most specific failure. After a search that a limit stopped,
    /// what was found may not be the best.
    pub(super) fn decide(self) -> Result<Interpretation, Option<FitError>> {
        match self.error {
            Some(error) if error.is_stopped() => Err(Some(error)),
            error => self.best.ok_or(error),
        }
    }
}

impl Interpretation {
    pub(super) const fn value(&self) -> &Payload {
        &self.value
    }

    /// The penalty of its leniencies.
    pub(super) const fn penalty(&self) -> usize {
        self.segment.cost().penalty()
    }
}

impl Fitter<'_> {
    /// Accepts an interpretation and adds its notes.
    pub(super) fn settle(&mut self, interpretation: Interpretation) -> Payload {
        self.notes.extend(interpretation.segment);
        interpretation.value
    }
}
