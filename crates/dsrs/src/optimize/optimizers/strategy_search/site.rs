//! The places of a graph that moves change, and the moves themselves as edits. Knows graphs; knows no
//! kind of move.

use std::sync::Arc;

use super::choices::{StrategyChoice, member};
use super::inherit::node_of;
use crate::graph::{Edits, Node, Program};
use crate::problem::At;
use crate::signature::SignatureSchema;
use crate::strategy::{StoredEnv, registry};
use crate::value::{Map, Payload};

/// A change of a graph.
pub(super) struct Move {
    /// A short description.
    pub(super) what: String,
    pub(super) edits: Edits,
}

/// A node that moves may change: one with its own prompts.
pub(super) struct Site<'p> {
    pub(super) program: &'p Program,
    pub(super) name: &'p Arc<str>,
    pub(super) node: &'p Node,
    /// The node as written in the document.
    pub(super) written: &'p Map,
}

impl<'p> Site<'p> {
    /// The nodes of a program that call an LM with their own prompts. Nodes that refer to something
    /// defined elsewhere, such as a stored graph, are excluded.
    pub(super) fn all(program: &'p Program) -> Vec<Self> {
        let paths: Vec<String> = program.predictors().into_iter().map(|(path, _)| path).collect();
        let written = member(program.document(), "nodes");
        let nodes = program.graph().nodes().filter_map(|(name, node)| {
            let written = written.and_then(|nodes| member(nodes, name))?.as_map()?;
            let factory = registry::get(node.strategy())?;
            let config = written.get("config").cloned().unwrap_or_default();
            let own = factory.own_signature(&StoredEnv, &config, &At::Root).is_some();
            let prompts = paths.iter().any(|path| node_of(path) == name.as_ref());
            let plain = factory.op().is_none() && factory.calls_lm() && !own;
            (plain && prompts).then_some(Self { program, name, node, written })
        });
        nodes.collect()
    }

    pub(super) fn base(&self) -> &SignatureSchema {
        self.node.base()
    }

    /// The written node with some members replaced.
    pub(super) fn with<'m>(
        &self,
        members: impl IntoIterator<Item = (&'m str, Payload)>,
    ) -> Payload {
        let mut written = self.written.clone();
        for (name, member) in members {
            written.insert(name.into(), member);
        }
        Payload::map(written)
    }

    pub(super) fn now(&self) -> StrategyChoice {
        let config = self.written.get("config").cloned();
        let config = config.unwrap_or_else(|| Payload::map(Map::new()));
        StrategyChoice { strategy: self.node.strategy().into(), config }
    }
}
