//! A node less: who read from it reads what fed it, where that is of the same type, or goes without.
//! Knows nothing of who put it in.

use std::sync::Arc;

use super::insertions::{Readers, draft_of, feeding};
use super::moves::{Move, Site};
use crate::graph::{Edge, Edit, Edits, Source};
use crate::value::SelectionStep;

/// Takes a node out, if all who read from it can do without.
pub(super) fn remove(site: &Site<'_>) -> Option<Move> {
    let Readers { edges, outputs } = Readers::of(site);
    let mut edits = Vec::new();
    for (name, from) in outputs {
        edits.push(Edit::SetOutput { name, from: instead(site, &from)? });
    }
    edits.push(Edit::RemoveNode { name: site.name.clone() });
    for Edge { from, to } in edges {
        // A plan that nobody makes is left out; what else there is would be no plan.
        if !is_optional(site, &to.node, &to.field) {
            edits.push(Edit::Connect(Edge { from: instead(site, &from)?, to }));
        }
    }
    Some(Move { what: format!("without `{}`", site.name), edits: Edits(edits) })
}

/// What stands for an output of a node once the node is gone: its draft, or the first input of its
/// type.
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
