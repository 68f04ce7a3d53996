//! The graphs inside of a graph, as far as a view needs them. Knows no view.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use dsrs::graph::Program;

use crate::drawing::{Opened, graphs_inside};
use crate::graph::selection::GraphSelection;
use crate::visitor::Visitor;

/// How many nodes are looked into.
const MOST: usize = 32;

/// A graph with the graphs inside of it that are loaded.
pub(super) struct Nested {
    /// What the picture needs.
    pub(super) opened: Opened,
    /// The programs by the path of what is in them; the graph itself is at the empty path.
    programs: HashMap<String, Arc<Program>>,
}

impl Nested {
    /// Loads what is open, and what leads to the selected node.
    pub(super) async fn load(
        visitor: &Visitor,
        root: Arc<Program>,
        selection: &GraphSelection,
    ) -> Self {
        let mut nested = Self {
            opened: Opened::new(selection.open.iter().map(String::as_str)),
            programs: HashMap::from([(String::new(), root)]),
        };
        // Sorted, a node is after those that contain it.
        let mut paths: BTreeSet<String> = selection.open.iter().cloned().collect();
        for path in selection.open.iter().chain(&selection.node) {
            paths.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        }
        for path in paths.into_iter().take(MOST) {
            nested.look_into(visitor, &path).await;
        }
        nested
    }

    async fn look_into(&mut self, visitor: &Visitor, path: &str) {
        let Some((program, name)) = self.holder(path) else { return };
        let inside = program.graph().node(name).map(|node| graphs_inside(node, path));
        for found in inside.unwrap_or_default() {
            let loaded = visitor.app.referenced_program(&visitor.scope, &found.reference).await;
            // A graph that is gone, or cannot be built here, stays closed.
            if let Ok(Some(program)) = loaded {
                let opened = std::mem::take(&mut self.opened);
                self.opened = opened.with(found.reference, program.clone());
                self.programs.insert(found.path, program);
            }
        }
    }

    /// The program that a node of this path is in, and its name there.
    fn holder<'p>(&self, path: &'p str) -> Option<(Arc<Program>, &'p str)> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.programs.get(above).map(|program| (program.clone(), name))
    }

    /// The node of a path, or the one that contains it, if it is a strategy in a config: the program that it is in,
    /// its name and its path.
    pub(super) fn node<'p>(&self, path: &'p str) -> Option<(Arc<Program>, &'p str, &'p str)> {
        let mut path = path;
        loop {
            if let Some((program, name)) = self.holder(path)
                && program.graph().node(name).is_some()
            {
                return Some((program, name, path));
            }
            (path, _) = path.rsplit_once('/')?;
        }
    }
}
