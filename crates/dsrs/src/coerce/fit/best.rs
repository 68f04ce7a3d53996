//! Of several readings of the same text, the one of least doubt; of several failures, the one that
//! says most.

use super::trail::{Misfit, Stretch};
use super::{Fit, Fitter};
use crate::value::Payload;

/// The best reading so far.
#[derive(Debug, Default)]
pub(super) struct Best {
    found: Option<Reading>,
    misfit: Option<Misfit>,
}

/// A value and what it took to read it. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    value: Payload,
    stretch: Stretch,
}

impl Best {
    /// Tries a reading; says whether it is the best so far. Among equals the first one stays.
    pub(super) fn offer<'t>(
        &mut self,
        fitter: &mut Fitter<'t>,
        attempt: impl FnOnce(&mut Fitter<'t>) -> Fit,
    ) -> bool {
        if self.found.as_ref().is_some_and(|found| found.stretch.is_exact()) {
            return false;
        }
        self.attempt(fitter, attempt).is_some_and(|reading| self.consider(reading))
    }

    /// Tries a reading without taking it; a failure is kept.
    pub(super) fn attempt<'t>(
        &mut self,
        fitter: &mut Fitter<'t>,
        attempt: impl FnOnce(&mut Fitter<'t>) -> Fit,
    ) -> Option<Reading> {
        let mark = fitter.trail.mark();
        let outcome = attempt(fitter);
        let stretch = fitter.trail.take(mark);
        outcome.map(|value| Reading { value, stretch }).map_err(|misfit| self.fail(misfit)).ok()
    }

    /// Takes a reading if it is the best so far.
    pub(super) fn consider(&mut self, reading: Reading) -> bool {
        let known = self.found.as_ref().map(|known| known.stretch.doubt());
        let better = known.is_none_or(|known| reading.stretch.doubt() < known);
        if better {
            self.found = Some(reading);
        }
        better
    }

    pub(super) fn fail(&mut self, misfit: Misfit) {
        if self.misfit.as_ref().is_none_or(|known| misfit.weight() > known.weight()) {
            self.misfit = Some(misfit);
        }
    }

    pub(super) const fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// Whether the best reading needs no leniency.
    pub(super) fn is_clean(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.stretch.is_clean())
    }

    /// Whether nothing fits so far, and something that nearly did fails in one of its parts.
    pub(super) fn fails_deep(&self) -> bool {
        self.found.is_none() && self.misfit.as_ref().is_some_and(Misfit::is_deeper)
    }

    /// The best reading, or what says most of why there is none.
    pub(super) fn decide(self) -> Result<Reading, Option<Misfit>> {
        self.found.ok_or(self.misfit)
    }
}

impl Reading {
    pub(super) const fn value(&self) -> &Payload {
        &self.value
    }

    /// How doubtful it is, by its leniencies alone.
    pub(super) const fn penalty(&self) -> usize {
        self.stretch.doubt().penalty()
    }
}

impl Fitter<'_> {
    /// Takes a reading: what it noted counts from now on.
    pub(super) fn settle(&mut self, reading: Reading) -> Payload {
        self.trail.extend(reading.stretch);
        reading.value
    }
}
