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

/// A value and what it took to read it.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    value: Payload,
    stretch: Stretch,
}

impl Best {
    /// Tries a reading. Among equals the first one stays.
    pub(super) fn offer<'t>(
        &mut self,
        fitter: &mut Fitter<'t>,
        attempt: impl FnOnce(&mut Fitter<'t>) -> Fit,
    ) {
        if self.found.as_ref().is_some_and(|found| found.stretch.is_exact()) {
            return;
        }
        let mark = fitter.trail.mark();
        let outcome = attempt(fitter);
        let stretch = fitter.trail.take(mark);
        match outcome {
            Ok(value) => {
                let known = self.found.as_ref().map(|known| known.stretch.doubt());
                if known.is_none_or(|known| stretch.doubt() < known) {
                    self.found = Some(Reading { value, stretch });
                }
            }
            Err(misfit) => self.fail(misfit),
        }
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

impl Fitter<'_> {
    /// Takes a reading: what it noted counts from now on.
    pub(super) fn settle(&mut self, reading: Reading) -> Payload {
        self.trail.extend(reading.stretch);
        reading.value
    }
}
