//! A module as a program of one node: what runs, traces and tunes a typed module like a graph. Its
//! document describes it; a registry does not know it, so that it is built from the module alone.

use std::sync::Arc;

use super::edge::{INPUT, Source, Target};
use super::node::{Node, NodeSettings};
use super::program::Program;
use super::program_graph::ProgramGraph;
use crate::problem::Problems;
use crate::strategy::DynModule;

/// The name of the node, and of the graph.
const NODE: &str = "program";

impl Program {
    /// The program whose one node is this module, with the module's inputs and outputs. `name` stands
    /// for the strategy in its document.
    ///
    /// # Errors
    /// Names of fields or types that a graph cannot have.
    pub fn of_module(
        name: &str,
        module: Box<dyn DynModule>,
        settings: NodeSettings,
    ) -> Result<Self, Problems> {
        let schema = module.schema().clone();
        let node: Arc<str> = Arc::from(NODE);
        let mut graph = ProgramGraph::new(NODE, schema.defs.clone())?;
        for field in &schema.inputs {
            graph.set_input(field.clone())?;
        }
        graph.add_node(&node, Node::of_module(name.into(), module, settings))?;
        for field in &schema.inputs {
            let target = Target { node: node.clone(), field: field.name.clone() };
            graph.connect(Source::field_of(Arc::from(INPUT), field.name.clone()), target)?;
        }
        for field in &schema.outputs {
            graph.set_output(&field.name, Source::field_of(node.clone(), field.name.clone()))?;
        }
        graph.compile()
    }

    /// The path of a predictor of [`Self::of_module`] within the module.
    #[must_use]
    pub fn path_within_module(path: &str) -> &str {
        let within = path.strip_prefix(NODE).unwrap_or(path);
        within.strip_prefix('.').unwrap_or(within)
    }
}
