//! The canonical document of a graph: everything resolved, in one notation and in document order.
//! Its text is stored and hashed.

use std::sync::Arc;

use super::node::Node;
use super::program_graph::ProgramGraph;
use crate::predict::lm_to_payload;
use crate::signature::{FieldSchema, field_to_payload, signature_to_payload};
use crate::types::defs_to_payload;
use crate::value::{Map, Payload};

impl ProgramGraph {
    /// The resolved document: nothing implicit is left.
    pub(super) fn to_document(&self) -> Payload {
        let inputs = self.inputs.iter().map(|(name, field)| (name.clone(), input(field)));
        let nodes = self.nodes.iter().map(|(name, found)| (name.clone(), node_to_payload(found)));
        let edges = self.edges.iter().map(|edge| {
            object([
                ("from", Payload::from(edge.from.to_string())),
                ("to", Payload::from(edge.to.to_string())),
            ])
        });
        let outputs = self.outputs.iter();
        let outputs =
            outputs.map(|(name, found)| (name.clone(), Payload::from(found.source.to_string())));
        let head = [
            ("name", Payload::Str(self.name.clone())),
            ("description", self.description.clone().map_or(Payload::Null, Payload::Str)),
        ];
        // Only where it is declared, so that definitions without it have the text that they always had.
        let exposure = self.exposure.to_payload().map(|exposure| ("expose", exposure));
        let parts = [
            ("types", defs_to_payload(&self.defs)),
            ("inputs", Payload::map(inputs.collect())),
            ("nodes", Payload::map(nodes.collect())),
            ("edges", Payload::list(edges.collect())),
            ("outputs", Payload::map(outputs.collect())),
        ];
        object(head.into_iter().chain(exposure).chain(parts))
    }
}

/// An input, as its type alone if it has nothing else.
fn input(field: &FieldSchema) -> Payload {
    let full = field_to_payload(field, false);
    match full.as_map() {
        Some(members) if members.len() == 1 => members.get("type").cloned().unwrap_or(full),
        _ => full,
    }
}

/// A node without its name and its connections.
pub(super) fn node_to_payload(node: &Node) -> Payload {
    let settings = node.settings();
    let millis = i64::try_from(settings.timeout.as_millis()).unwrap_or(i64::MAX);
    let signature = (!node.is_op()).then(|| ("signature", signature_to_payload(&node.base)));
    let members = [("strategy", Payload::Str(node.strategy.clone()))].into_iter().chain(signature);
    let paths = &settings.dspy_paths;
    let as_text = |(own, path): (&Arc<str>, &Arc<str>)| (own.clone(), Payload::Str(path.clone()));
    // Only where they differ, so that other definitions have the text that they always had.
    let paths = (!paths.is_empty())
        .then(|| ("dspy_paths", Payload::map(paths.iter().map(as_text).collect())));
    let settings = [
        ("config", node.config.clone()),
        ("lm", lm_to_payload(&settings.lm).unwrap_or_else(|| Payload::map(Map::new()))),
        ("timeout_ms", Payload::Int(millis)),
        ("retries", Payload::Int(settings.retries.into())),
        ("parse_retries", Payload::Int(settings.parse_retries.into())),
    ];
    object(members.chain(settings).chain(paths))
}

fn object<'m>(members: impl IntoIterator<Item = (&'m str, Payload)>) -> Payload {
    Payload::map(members.into_iter().map(|(k, v)| (Arc::from(k), v)).collect::<Map>())
}
