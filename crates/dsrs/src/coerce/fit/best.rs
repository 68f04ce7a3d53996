//! Of several readings of the same text, the one of least doubt; of several failures, the one that
//! says most.

use super::trail::{Misfit, Note, penalty};
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
    notes: Vec<Note>,
}

impl Reading {
    /// How doubtful it is; of equals the one that filled in less is better.
    fn doubt(&self) -> (u32, usize) {
        (penalty(&self.notes), self.notes.len())
    }
}

impl Best {
    /// Tries a reading. Among equals the first one stays.
    pub(super) fn offer<'t>(
        &mut self,
        fitter: &mut Fitter<'t>,
        attempt: impl FnOnce(&mut Fitter<'t>) -> Fit,
    ) {
        if self.is_exact() {
            return;
        }
        let mark = fitter.trail.mark();
        let outcome = attempt(fitter);
        let notes = fitter.trail.take(mark);
        match outcome {
            Ok(value) => {
                let reading = Reading { value, notes };
                if self.found.as_ref().is_none_or(|known| reading.doubt() < known.doubt()) {
                    self.found = Some(reading);
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

    pub(super) fn is_exact(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.notes.is_empty())
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
        self.trail.extend(reading.notes);
        reading.value
    }
}
