//! Removing a node: its readers read its own source of the same type instead, or go without an optional
//! input.

use std::sync::Arc;

use super::insertions::{Readers, draft_of, feeding};
use super::site::{Move, Site};
use crate::graph::{Edge, Edit, Edits, Source};
use crate::value::SelectionStep;

/// Removes a node if all of its readers can do without it.
pub(super) fn remove(site: &Site<'_>) -> Option<Move> {
    let Readers { edges, outputs } = Readers::of(site);
    let mut edits = Vec::new();
    for (name, from) in outputs {
        edits.push(Edit::SetOutput { name, from: instead(site, &from)? });
    }
    edits.push(Edit::RemoveNode { name: site.name.clone() });
    for Edge { from, to } in edges {
        // An optional input such as a plan is left unconnected.
        if !is_optional(site, &to.node, &to.field) {
            edits.push(Edit::Connect(Edge { from: instead(site, &from)?, to }));
        }
    }
    Some(Move { what: format!("without `{}`", site.name), edits: Edits(edits) })
}

/// The replacement for an output of a removed node: the source of its draft input, or of the first
/// input with the same type.
fn instead(site: &Site<'_>, from: &Source) -> Option<Source> {
    let [SelectionStep::Field(output)] = from.selection.steps() else { return None };
    let output = site.base().output(output)?;
    let draft = draft_of(&output.name);
    let alike =
        |edge: &&Edge| site.base().input(&edge.to.field).is_some_and(|input| input.ty == output.ty);
    let mut fed = feeding(site).filter(alike);
    let found = feeding(site).find(|edge| edge.to.field == draft).or_else(|| fed.next());
    found.map(|edge| edge.from.clone())
}

fn is_optional(site: &Site<'_>, node: &str, field: &Arc<str>) -> bool {
    let node = site.program.graph().node(node);
    node.and_then(|node| node.schema().input(field)).is_some_and(|field| field.default.is_some())
}
