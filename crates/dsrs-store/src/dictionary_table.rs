//! The dictionaries of graphs: what their runs have in common. A run that ends is compressed with the newest one that this
//! process knows; a run that is read, with the one that its body names. `dictionary_training` makes them. May not know the
//! layout of a body.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgConnection;
use uuid::Uuid;

use super::run_body::Dictionary;
use super::{Db, StoreError};

/// How often a newer dictionary is looked for.
const CHECKED: Duration = Duration::from_secs(120);

/// How long a dictionary is used without asking the database again, which notes that it is in use.
const TRUSTED: Duration = Duration::from_secs(6 * 3600);

/// The graphs that are known, and the memory of their dictionaries; of those that readers use as much again.
const KNOWN: usize = 4096;
const CACHED_BYTES: usize = 16 << 20;

/// Runs after which a graph without a dictionary is due to get one, and after which another one may be better.
const FIRST_RUNS: u64 = 100;

/// Runs over which a dictionary is judged.
const JUDGED_RUNS: u64 = 200;

/// How much worse than at first it may compress.
const WORSE: f64 = 1.5;

/// A graph that records runs here.
#[derive(Debug)]
struct KnownGraph {
    workspace: Uuid,
    name: Arc<str>,
    dictionary: Option<Arc<Dictionary>>,
    /// When the database was asked for it.
    checked: Option<Instant>,
    /// Runs since the last training, or since it is known.
    runs: u64,
    /// The sizes of the last runs before and after compression.
    before: u64,
    after: u64,
    /// How small the dictionary made runs at first.
    first_ratio: Option<f64>,
}

/// A graph that is due for a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DueGraph {
    pub(crate) workspace: Uuid,
    pub(crate) graph: Uuid,
    pub(crate) name: Arc<str>,
}

#[derive(Debug, Default)]
struct State {
    graphs: HashMap<Uuid, KnownGraph>,
    loaded: HashMap<i64, Arc<Dictionary>>,
    unchecked: HashSet<Uuid>,
}

/// The dictionaries that this process knows.
#[derive(Debug, Default)]
pub(crate) struct DictionaryTable(Mutex<State>);

impl DictionaryTable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dictionary for a run of a graph that ends. Never waits.
    pub(crate) fn of_graph(
        &self,
        workspace: Uuid,
        graph: Uuid,
        name: &str,
    ) -> Option<Arc<Dictionary>> {
        let mut state = self.state();
        if state.graphs.len() > KNOWN {
            state.graphs.clear();
        }
        let known = state.graphs.entry(graph).or_insert_with(|| KnownGraph {
            workspace,
            name: name.into(),
            dictionary: None,
            checked: None,
            runs: 0,
            before: 0,
            after: 0,
            first_ratio: None,
        });
        let age = known.checked.map(|checked| checked.elapsed());
        let dictionary = known.dictionary.clone().filter(|_| age.is_some_and(|age| age < TRUSTED));
        if age.is_none_or(|age| age > CHECKED) {
            state.unchecked.insert(graph);
        }
        dictionary
    }

    /// Counts a run that was compressed.
    pub(crate) fn count(&self, graph: Uuid, before: usize, after: usize) {
        if let Some(known) = self.state().graphs.get_mut(&graph) {
            known.count(before as u64, after as u64);
        }
    }

    /// Whether [`DictionaryTable::check`] has something to do.
    pub(crate) fn has_unchecked(&self) -> bool {
        !self.state().unchecked.is_empty()
    }

    /// Looks for newer dictionaries of the graphs that record runs, and notes that these are in use.
    pub(crate) async fn check(&self, db: &Db) -> Result<(), StoreError> {
        let graphs: Vec<Uuid> = self.state().unchecked.drain().collect();
        if graphs.is_empty() {
            return Ok(());
        }
        let checked = Instant::now();
        let mut connection = db.all_workspaces().await?;
        let newest = sqlx::query_as(
            "update run_dictionaries set used_on = current_date where id in
                 (select max(id) from run_dictionaries where graph_id = any($1) group by graph_id)
             returning graph_id, id",
        );
        let newest: Vec<(Uuid, i64)> = newest.bind(&graphs).fetch_all(&mut *connection).await?;
        let numbers = newest.iter().map(|(_, number)| *number).collect();
        let loaded = self.load(&mut connection, numbers).await?;
        let newest: HashMap<Uuid, i64> = newest.into_iter().collect();
        let mut state = self.state();
        state.bound();
        for graph in graphs {
            let found = newest.get(&graph).and_then(|number| loaded.get(number));
            if let Some(known) = state.graphs.get_mut(&graph) {
                known.checked = Some(checked);
                known.replace(found);
            }
        }
        Ok(())
    }

    /// These dictionaries, on a connection that sees their workspaces. One that is not stored is missing.
    pub(crate) async fn load(
        &self,
        connection: &mut PgConnection,
        numbers: HashSet<i64>,
    ) -> Result<HashMap<i64, Arc<Dictionary>>, StoreError> {
        let mut found: HashMap<i64, Arc<Dictionary>> = HashMap::new();
        let missing: Vec<i64> = {
            let state = self.state();
            let known =
                |number: &i64| state.loaded.get(number).map(|loaded| (*number, loaded.clone()));
            found.extend(numbers.iter().filter_map(known));
            numbers.into_iter().filter(|number| !found.contains_key(number)).collect()
        };
        if missing.is_empty() {
            return Ok(found);
        }
        let read = sqlx::query_as("select id, content from run_dictionaries where id = any($1)");
        let read: Vec<(i64, Vec<u8>)> = read.bind(missing).fetch_all(connection).await?;
        for (number, content) in read {
            if let Some(dictionary) = Dictionary::new(number, content) {
                self.state().cache(&dictionary);
                found.insert(number, dictionary);
            }
        }
        Ok(found)
    }

    /// The graphs that are due for a training. They are due again after as many runs.
    pub(crate) fn take_due(&self) -> Vec<DueGraph> {
        let mut due = Vec::new();
        for (graph, known) in &mut self.state().graphs {
            if known.is_due() {
                known.runs = 0;
                let (workspace, name) = (known.workspace, known.name.clone());
                due.push(DueGraph { workspace, graph: *graph, name });
            }
        }
        due
    }

    /// Has the newest dictionary of a graph looked for at once.
    pub(crate) fn expect(&self, graph: Uuid) {
        self.state().unchecked.insert(graph);
    }
}

impl State {
    /// Forgets the dictionaries of all graphs once they take too much memory. Those in use are looked for again.
    fn bound(&mut self) {
        let dictionaries = self.graphs.values().filter_map(|known| known.dictionary.as_ref());
        if dictionaries.map(|dictionary| dictionary.size()).sum::<usize>() > CACHED_BYTES {
            self.graphs.values_mut().for_each(|known| known.dictionary = None);
        }
    }

    fn cache(&mut self, dictionary: &Arc<Dictionary>) {
        let loaded: usize = self.loaded.values().map(|loaded| loaded.size()).sum();
        if loaded + dictionary.size() > CACHED_BYTES {
            self.loaded.clear();
        }
        self.loaded.insert(dictionary.number(), dictionary.clone());
    }
}

impl KnownGraph {
    fn count(&mut self, before: u64, after: u64) {
        self.runs += 1;
        self.before += before;
        self.after += after;
        if self.runs.is_multiple_of(JUDGED_RUNS) {
            let ratio = self.ratio();
            self.first_ratio = self.first_ratio.or(ratio);
            // The last runs count, and those before them less and less.
            (self.before, self.after) = (self.before / 2, self.after / 2);
        }
    }

    fn ratio(&self) -> Option<f64> {
        (self.before > 0).then(|| self.after as f64 / self.before as f64)
    }

    fn is_due(&self) -> bool {
        if self.dictionary.is_none() {
            return self.runs >= FIRST_RUNS;
        }
        let worse =
            self.ratio().zip(self.first_ratio).is_some_and(|(now, first)| now > first * WORSE);
        self.runs >= JUDGED_RUNS && worse
    }

    fn replace(&mut self, dictionary: Option<&Arc<Dictionary>>) {
        let number = |dictionary: &Arc<Dictionary>| dictionary.number();
        if self.dictionary.as_ref().map(number) != dictionary.map(number) {
            self.dictionary = dictionary.cloned();
            (self.runs, self.before, self.after, self.first_ratio) = (0, 0, 0, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(dictionary: Option<Arc<Dictionary>>) -> KnownGraph {
        KnownGraph {
            workspace: Uuid::nil(),
            name: "q".into(),
            dictionary,
            checked: None,
            runs: 0,
            before: 0,
            after: 0,
            first_ratio: None,
        }
    }

    #[test]
    fn a_graph_is_due_after_its_first_runs_and_once_its_dictionary_fits_worse() {
        let mut graph = known(None);
        (0..FIRST_RUNS).for_each(|_| graph.count(1000, 300));
        assert!(graph.is_due());
        let mut graph = known(Dictionary::new(1, b"what runs have in common".to_vec()));
        (0..JUDGED_RUNS * 4).for_each(|_| graph.count(1000, 100));
        assert!(!graph.is_due());
        (0..JUDGED_RUNS * 2).for_each(|_| graph.count(1000, 300));
        assert!(graph.is_due());
        graph.replace(Dictionary::new(2, b"what newer runs have in common".to_vec()).as_ref());
        assert!(!graph.is_due());
    }
}
