//! The stored graphs that a graph document refers to, or edits of one. They are loaded before the
//! graph is built, so the document may not have been checked.

use super::edits::Edit;
use crate::strategy::{StoredGraphRef, stored_graphs};
use crate::value::Payload;

/// The stored graphs that the nodes of a graph document refer to.
///
/// ```
/// use dsrs::graph::document_references;
/// use dsrs::value::Payload;
///
/// let document = r#"{"nodes": {"triage": {"strategy": "graph", "config": {"graph": "triage"}},
///     "reply": {"strategy": "predict", "signature": "mood -> answer"}}}"#;
/// let found = document_references(&Payload::from_json(document).unwrap());
/// assert_eq!(found.len(), 1);
/// assert_eq!(&*found[0].graph, "triage");
/// ```
#[must_use]
pub fn document_references(document: &Payload) -> Vec<StoredGraphRef> {
    let nodes = member(document, "nodes").and_then(Payload::as_map);
    nodes.into_iter().flat_map(|nodes| nodes.values()).flat_map(node_references).collect()
}

/// The stored graphs that the nodes in edits refer to.
#[must_use]
pub fn edit_references(edits: &[Edit]) -> Vec<StoredGraphRef> {
    let nodes = edits.iter().filter_map(|edit| match edit {
        Edit::AddNode { node, .. }
        | Edit::ReplaceNode { node, .. }
        | Edit::InsertBetween { node, .. } => Some(node),
        _ => None,
    });
    nodes.flat_map(node_references).collect()
}

fn node_references(node: &Payload) -> Vec<StoredGraphRef> {
    let strategy = member(node, "strategy").and_then(Payload::as_str);
    let config = member(node, "config");
    strategy.zip(config).map(|(name, config)| stored_graphs(name, config)).unwrap_or_default()
}

fn member<'p>(object: &'p Payload, name: &str) -> Option<&'p Payload> {
    object.as_map().and_then(|members| members.get(name))
}
