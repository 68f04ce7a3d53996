//! The programs that executions named last. Nearly every execution names one of a few graphs; this finds it without
//! hashing, and without the bookkeeping of a large cache. May not know how programs are looked up.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dsrs::graph::Program;
use uuid::Uuid;

use dsrs_store::changes::Epoch;
use dsrs_store::graph::{GraphRef, ResolvedGraph, VersionSelection};

/// How many there are. More would take longer to find than the large cache takes.
const MOST: usize = 16;

/// What programs depend on besides their graph. Another state makes them unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProgramState {
    pub(super) epoch: Epoch,
    /// The count of changes of tools.
    pub(super) tools: u64,
}

/// A program that was looked up.
#[derive(Clone)]
struct RecentProgram {
    workspace: Uuid,
    graph: GraphRef,
    pick: VersionSelection,
    state: ProgramState,
    found: ReadyProgram,
}

/// A program, and the versions that a request means by its name.
pub(super) type ReadyProgram = (Arc<ResolvedGraph>, Arc<Program>);

/// Programs by what requests name, newest last.
#[derive(Default)]
pub(super) struct RecentPrograms(ArcSwap<Vec<RecentProgram>>);

impl RecentPrograms {
    pub(super) fn get(
        &self,
        workspace: Uuid,
        graph: &GraphRef,
        pick: VersionSelection,
        state: ProgramState,
    ) -> Option<ReadyProgram> {
        let known = self.0.load();
        let found = known.iter().find(|known| known.is(workspace, graph, pick))?;
        (found.state == state).then(|| found.found.clone())
    }

    /// Of several programs that are added at the same time, one may be forgotten.
    pub(super) fn insert(
        &self,
        workspace: Uuid,
        graph: &GraphRef,
        pick: VersionSelection,
        state: ProgramState,
        found: ReadyProgram,
    ) {
        let known = self.0.load();
        let others = known.iter().filter(|known| !known.is(workspace, graph, pick));
        let surplus = others.clone().count().saturating_sub(MOST - 1);
        let mut all: Vec<RecentProgram> = others.skip(surplus).cloned().collect();
        all.push(RecentProgram { workspace, graph: graph.clone(), pick, state, found });
        self.0.store(Arc::new(all));
    }
}

impl RecentProgram {
    fn is(&self, workspace: Uuid, graph: &GraphRef, pick: VersionSelection) -> bool {
        self.workspace == workspace && self.pick == pick && self.graph == *graph
    }
}
