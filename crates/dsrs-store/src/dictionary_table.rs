//! The dictionaries of graphs: what their runs have in common. A run that ends is compressed with the newest one that
//! this process knows; a run that is read, with the one that its body names. `dictionary_training` makes them. May not
//! know the layout of a body.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use sqlx::PgConnection;
use uuid::Uuid;

use super::known_graph::KnownGraph;
use super::run_body::Dictionary;
use super::{Db, StoreError};

/// The graphs in memory.
const GRAPH_CAPACITY: usize = 4096;

/// The memory of dictionaries for runs that end, and for runs that are read.
const WRITER_BYTES: usize = 16 << 20;
const READER_BYTES: usize = 4 << 20;

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
    /// Dictionaries for readers.
    loaded: HashMap<i64, Arc<Dictionary>>,
    /// Graphs whose newest dictionary is looked for.
    unchecked: HashSet<Uuid>,
}

/// The dictionaries that this process knows.
#[derive(Debug, Default)]
pub(crate) struct DictionaryTable(Mutex<State>);

impl DictionaryTable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dictionary for a run of a graph that ends. Never waits. `true` if [`DictionaryTable::check`] is to be
    /// called.
    pub(crate) fn of_graph(
        &self,
        workspace: Uuid,
        graph: Uuid,
        name: &str,
    ) -> (Option<Arc<Dictionary>>, bool) {
        let mut state = self.state();
        if state.graphs.len() > GRAPH_CAPACITY {
            state.graphs.clear();
        }
        let new = || KnownGraph::new(workspace, name);
        let known = state.graphs.entry(graph).or_insert_with(new);
        known.used = SystemTime::now();
        let (dictionary, is_old) = known.dictionary();
        let is_unchecked = is_old && state.unchecked.insert(graph);
        (dictionary, is_unchecked)
    }

    /// Counts a run that was compressed.
    pub(crate) fn count(&self, graph: Uuid, before: usize, after: usize) {
        if let Some(known) = self.state().graphs.get_mut(&graph) {
            known.count(before, after);
        }
    }

    /// Forgets every dictionary: the database may be another one.
    pub(crate) fn clear(&self) {
        let mut state = self.state();
        state.loaded.clear();
        state.graphs.values_mut().for_each(KnownGraph::forget);
    }

    /// Looks for the newest dictionaries of the graphs that record runs, and notes that these are in use.
    pub(crate) async fn check(&self, db: &Db) -> Result<(), StoreError> {
        let graphs: Vec<Uuid> = self.state().unchecked.drain().collect();
        if graphs.is_empty() {
            return Ok(());
        }
        let checked = SystemTime::now();
        let mut connection = db.all_workspaces().await?;
        let newest = newest(&mut connection, &graphs).await?;
        let loaded = self.load(&mut connection, newest.values().copied().collect()).await?;
        let mut state = self.state();
        for graph in graphs {
            let number = newest.get(&graph).copied();
            let dictionary = number.and_then(|number| loaded.get(&number).cloned());
            if let Some(known) = state.graphs.get_mut(&graph) {
                known.check(number, dictionary, checked);
            }
        }
        state.bound();
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
            if known.take_due() {
                let (workspace, name) = (known.workspace, known.name.clone());
                due.push(DueGraph { workspace, graph: *graph, name });
            }
        }
        due
    }

    /// Has the newest dictionary of a graph looked for at once.
    pub(crate) fn check_soon(&self, graph: Uuid) {
        self.state().unchecked.insert(graph);
    }
}

/// The newest dictionary of each graph that has one.
async fn newest(
    connection: &mut PgConnection,
    graphs: &[Uuid],
) -> Result<HashMap<Uuid, i64>, StoreError> {
    let found = sqlx::query_as(
        "select graph_id, max(id) from run_dictionaries where graph_id = any($1) group by graph_id",
    );
    let newest: Vec<(Uuid, i64)> = found.bind(graphs).fetch_all(&mut *connection).await?;
    let numbers: Vec<i64> = newest.iter().map(|(_, number)| *number).collect();
    // In one order, so that servers do not wait for each other in a circle. Once a day it changes something.
    let used = sqlx::query(
        "update run_dictionaries set used_on = current_date
         where used_on < current_date and id in
             (select id from run_dictionaries where id = any($1) and used_on < current_date
              order by id for no key update)",
    );
    used.bind(numbers).execute(connection).await?;
    Ok(newest.into_iter().collect())
}

impl State {
    /// Frees dictionaries that were not used for longest, once all of them take too much memory.
    fn bound(&mut self) {
        let mut size: usize = self.graphs.values().map(KnownGraph::size).sum();
        if size <= WRITER_BYTES {
            return;
        }
        let mut oldest: Vec<&mut KnownGraph> = self.graphs.values_mut().collect();
        oldest.sort_unstable_by_key(|known| known.used);
        for known in oldest {
            if size <= WRITER_BYTES / 2 {
                break;
            }
            size -= known.size();
            known.free();
        }
    }

    fn cache(&mut self, dictionary: &Arc<Dictionary>) {
        let loaded: usize = self.loaded.values().map(|loaded| loaded.size()).sum();
        if loaded + dictionary.size() > READER_BYTES {
            self.loaded.clear();
        }
        self.loaded.insert(dictionary.number(), dictionary.clone());
    }
}
