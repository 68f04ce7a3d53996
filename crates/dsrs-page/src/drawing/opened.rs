//! Which nodes of a picture show what is inside, with the stored graphs that they need. Knows no layout.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::strategy::StoredGraphRef;

/// How many nodes may be open at once.
const MAX_OPENED: usize = 24;

/// The nodes that are open, by path, and the programs of the stored graphs within.
#[derive(Clone, Default)]
pub(crate) struct Opened {
    paths: BTreeSet<String>,
    programs: HashMap<StoredGraphRef, Arc<Program>>,
}

impl Opened {
    /// The nodes of these paths, with `/` between the names of nodes.
    pub(crate) fn new<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let paths = paths.into_iter().filter(|path| !path.is_empty()).take(MAX_OPENED);
        Self { paths: paths.map(str::to_owned).collect(), programs: HashMap::new() }
    }

    /// The same with the program of a stored graph.
    pub(crate) fn with(mut self, reference: StoredGraphRef, program: Arc<Program>) -> Self {
        self.programs.insert(reference, program);
        self
    }

    /// Whether a node shows what is inside.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// The program of a stored graph, if it was loaded.
    pub(crate) fn program(&self, reference: &StoredGraphRef) -> Option<&Arc<Program>> {
        self.programs.get(reference)
    }

    /// What makes one picture of a graph another than a second one.
    pub(super) fn key(&self, hash: &str) -> String {
        let mut key = hash.to_owned();
        for path in &self.paths {
            let _ = write!(key, " {path}");
        }
        let mut hashes: Vec<_> = self.programs.values().map(|found| found.content_hash()).collect();
        hashes.sort_unstable();
        for hash in hashes {
            let _ = write!(key, "+{hash}");
        }
        key
    }
}
