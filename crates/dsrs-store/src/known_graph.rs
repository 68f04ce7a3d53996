//! A graph that records runs on this server: its dictionary, and whether another one would be better. May not know
//! where dictionaries are stored.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::run_body::Dictionary;

/// How often a newer dictionary is looked for.
const CHECK_INTERVAL: Duration = Duration::from_secs(120);

/// How long a dictionary is used without asking the database, which notes the day. Rows that were not used for days are
/// removed (`run_text_removal`).
const VALIDITY: Duration = Duration::from_secs(6 * 3600);

/// Runs after which a graph without a dictionary is due for one.
const FIRST_RUNS: u64 = 100;

/// Runs over which the ratio of a dictionary is measured.
const MEASURED_RUNS: u64 = 200;

/// How much larger the ratio may be than at first.
const TOLERATED_GROWTH: f64 = 1.5;

/// A graph that records runs here.
#[derive(Debug)]
pub(crate) struct KnownGraph {
    pub(crate) workspace: Uuid,
    pub(crate) name: Arc<str>,
    /// The number of its newest dictionary. The dictionary itself may be out of memory.
    number: Option<i64>,
    dictionary: Option<Arc<Dictionary>>,
    /// When the database was asked for it.
    checked: Option<SystemTime>,
    /// The newest run.
    pub(crate) used: SystemTime,
    /// Runs since the last training, or since it is known.
    runs: u64,
    /// The sizes of recent runs before and after compression.
    before: u64,
    after: u64,
    /// The ratio of these sizes over the first runs with the dictionary.
    first_ratio: Option<f64>,
}

impl KnownGraph {
    pub(crate) fn new(workspace: Uuid, name: &str) -> Self {
        Self {
            workspace,
            name: name.into(),
            number: None,
            dictionary: None,
            checked: None,
            used: SystemTime::now(),
            runs: 0,
            before: 0,
            after: 0,
            first_ratio: None,
        }
    }

    /// The dictionary, if it may be used. `true` if the database is to be asked.
    pub(crate) fn dictionary(&self) -> (Option<Arc<Dictionary>>, bool) {
        // A clock that was set back says nothing of the age.
        let age = self.checked.and_then(|checked| checked.elapsed().ok());
        let is_valid = age.is_some_and(|age| age < VALIDITY);
        let dictionary = self.dictionary.clone().filter(|_| is_valid);
        (dictionary, age.is_none_or(|age| age > CHECK_INTERVAL))
    }

    /// Counts a run that was compressed.
    pub(crate) fn count(&mut self, before: usize, after: usize) {
        self.runs += 1;
        self.before = self.before.saturating_add(before as u64);
        self.after = self.after.saturating_add(after as u64);
        if self.runs.is_multiple_of(MEASURED_RUNS) {
            self.first_ratio = self.first_ratio.or(self.ratio());
            // The newest runs count, and those before them less and less.
            (self.before, self.after) = (self.before / 2, self.after / 2);
        }
    }

    fn ratio(&self) -> Option<f64> {
        (self.before > 0).then(|| self.after as f64 / self.before as f64)
    }

    /// Whether it is due for a training. After this it is due again after as many runs.
    pub(crate) fn take_due(&mut self) -> bool {
        let is_due = match self.number {
            None => self.runs >= FIRST_RUNS,
            Some(_) => self.runs >= MEASURED_RUNS && self.fits_worse(),
        };
        if is_due {
            self.runs = 0;
        }
        is_due
    }

    fn fits_worse(&self) -> bool {
        let ratios = self.ratio().zip(self.first_ratio);
        ratios.is_some_and(|(now, first)| now > first * TOLERATED_GROWTH)
    }

    /// Stores what the database has said.
    pub(crate) fn check(
        &mut self,
        number: Option<i64>,
        dictionary: Option<Arc<Dictionary>>,
        at: SystemTime,
    ) {
        self.checked = Some(at);
        self.dictionary = dictionary;
        if self.number != number {
            self.number = number;
            (self.runs, self.before, self.after, self.first_ratio) = (0, 0, 0, None);
        }
    }

    /// Forgets the dictionary. It is looked for with the next run.
    pub(crate) fn forget(&mut self) {
        (self.dictionary, self.checked) = (None, None);
    }

    /// The memory of the dictionary.
    pub(crate) fn size(&self) -> usize {
        self.dictionary.as_ref().map_or(0, |dictionary| dictionary.size())
    }

    /// Frees the dictionary. It is looked for again.
    pub(crate) fn free(&mut self) {
        self.dictionary = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_due_after_its_first_runs_and_once_its_dictionary_fits_worse() {
        let mut graph = KnownGraph::new(Uuid::nil(), "q");
        (0..FIRST_RUNS).for_each(|_| graph.count(1000, 300));
        assert!(graph.take_due() && !graph.take_due());
        graph.check(Some(1), None, SystemTime::now());
        (0..MEASURED_RUNS * 4).for_each(|_| graph.count(1000, 100));
        assert!(!graph.take_due());
        (0..MEASURED_RUNS * 2).for_each(|_| graph.count(1000, 300));
        assert!(graph.take_due());
        graph.check(Some(2), None, SystemTime::now());
        assert!(!graph.take_due());
    }
}
