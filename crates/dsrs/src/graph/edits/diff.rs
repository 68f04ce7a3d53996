//! What turns one graph into another: a list of edits, and the same as lines to read. Compares the
//! resolved documents part by part; a renamed node is a removed one and an added one.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Edge, Edit, Edits, Source};
use crate::graph::program_graph::ProgramGraph;
use crate::problem::{At, Problems};
use crate::value::{Map, Payload};

/// The differences.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphDiff {
    /// Edits that make the new graph of the old one.
    pub edits: Edits,
    /// The same in words, a line a change, with `+`, `-` and `~` in front. Empty when nothing is
    /// different.
    pub text: String,
}

/// The edits that turn `old` into `new`. A changed description appears in the text only.
#[must_use]
pub fn graph_diff(old: &ProgramGraph, new: &ProgramGraph) -> GraphDiff {
    let mut change = DiffBuilder::default();
    let (before, after) = (old.to_document(), new.to_document());
    let part = |document: &Payload, name: &str| -> Map {
        let members = document.as_map().and_then(|document| document.get(name)?.as_map().cloned());
        members.unwrap_or_default()
    };
    let parts = |name: &str| (part(&before, name), part(&after, name));
    if old.description != new.description {
        let shown = |text: &Option<Arc<str>>| text.as_deref().unwrap_or("none").to_owned();
        change.write_line(
            '~',
            &format!("description: {} -> {}", shown(&old.description), shown(&new.description)),
        );
    }
    change.types(&parts("types"));
    change.removed_outputs(&parts("outputs"));
    change.removed_edges(&old.edges, &new.edges);
    change.nodes(&parts("nodes"));
    change.inputs(&parts("inputs"));
    change.added_edges(&old.edges, &new.edges);
    change.outputs(&parts("outputs"));
    change.removed_nodes(&parts("nodes"));
    change.removed_types(&parts("types"));
    change.exposure(old, new);
    GraphDiff { edits: Edits(change.edits), text: change.text }
}

#[derive(Default)]
struct DiffBuilder {
    edits: Vec<Edit>,
    text: String,
}

impl DiffBuilder {
    fn write_line(&mut self, sign: char, what: &str) {
        let _ = writeln!(self.text, "{sign} {what}");
    }

    fn exposure(&mut self, old: &ProgramGraph, new: &ProgramGraph) {
        if old.exposure == new.exposure {
            return;
        }
        let expose = new.exposure.to_payload().unwrap_or(Payload::Null);
        self.write_line('~', &format!("expose: {}", expose.to_json()));
        self.edits.push(Edit::SetExpose { expose });
    }

    fn types(&mut self, (before, after): &(Map, Map)) {
        for (name, ty) in after.iter().filter(|(name, ty)| before.get(*name) != Some(ty)) {
            let known = before.contains_key(name);
            self.write_line(
                if known { '~' } else { '+' },
                &format!("type {name}: {}", ty.to_json()),
            );
            self.edits.push(Edit::SetType { name: name.clone(), ty: ty.clone() });
        }
    }

    fn removed_types(&mut self, (before, after): &(Map, Map)) {
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            self.write_line('-', &format!("type {name}"));
            self.edits.push(Edit::RemoveType { name: name.clone() });
        }
    }

    fn removed_outputs(&mut self, (before, after): &(Map, Map)) {
        for (name, from) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
            self.write_line('-', &format!("output {name}: {}", from.as_str().unwrap_or_default()));
            self.edits.push(Edit::RemoveOutput { name: name.clone() });
        }
    }

    fn removed_edges(&mut self, before: &[Edge], after: &[Edge]) {
        for edge in before.iter().filter(|edge| !after.contains(edge)) {
            self.write_line('-', &format!("edge {} -> {}", edge.from, edge.to));
            self.edits.push(Edit::Disconnect(edge.clone()));
        }
    }

    fn added_edges(&mut self, before: &[Edge], after: &[Edge]) {
        for edge in after.iter().filter(|edge| !before.contains(edge)) {
            self.write_line('+', &format!("edge {} -> {}", edge.from, edge.to));
            self.edits.push(Edit::Connect(edge.clone()));
        }
    }

    fn nodes(&mut self, (before, after): &(Map, Map)) {
        for (name, node) in after {
            match before.get(name) {
                Some(known) if known == node => {}
                Some(known) => {
                    self.write_line('~', &format!("node {name}: {}", changed(known, node)));
                    self.edits.push(Edit::ReplaceNode { name: name.clone(), node: node.clone() });
                }
                None => {
                    let strategy = member(node, "strategy").and_then(Payload::as_str);
                    self.write_line('+', &format!("node {name}: {}", strategy.unwrap_or_default()));
                    self.edits.push(Edit::AddNode { name: name.clone(), node: node.clone() });
                }
            }
        }
    }

    /// After all other nodes, because an output may read from a removed node until then.
    fn removed_nodes(&mut self, (before, after): &(Map, Map)) {
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            self.write_line('-', &format!("node {name}"));
            self.edits.push(Edit::RemoveNode { name: name.clone() });
        }
    }

    fn inputs(&mut self, (before, after): &(Map, Map)) {
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            self.write_line('-', &format!("input {name}"));
            self.edits.push(Edit::RemoveInput { name: name.clone() });
        }
        for (name, ty) in after.iter().filter(|(name, ty)| before.get(*name) != Some(ty)) {
            let known = before.contains_key(name);
            let ty_text = ty.as_str().map_or_else(|| ty.to_json(), str::to_owned);
            self.write_line(if known { '~' } else { '+' }, &format!("input {name}: {ty_text}"));
            self.edits.push(Edit::SetInput { name: name.clone(), ty: ty.clone() });
        }
    }

    fn outputs(&mut self, (before, after): &(Map, Map)) {
        for (name, from) in after.iter().filter(|(name, from)| before.get(*name) != Some(from)) {
            let Some(source) = from.as_str() else { continue };
            let sign = if before.contains_key(name) { '~' } else { '+' };
            self.write_line(sign, &format!("output {name}: {source}"));
            let parsed = Source::read(from, &At::Root, &mut Problems::new());
            self.edits.extend(parsed.map(|from| Edit::SetOutput { name: name.clone(), from }));
        }
    }
}

/// The members of a node that are different.
fn changed(before: &Payload, after: &Payload) -> String {
    let members = after.as_map().into_iter().flatten();
    let different = members.filter(|(name, value)| member(before, name) != Some(value));
    let members = different.map(|(name, value)| match (member(before, name), value) {
        (Some(Payload::Map(_)), _) | (_, Payload::Map(_)) | (None, _) => name.to_string(),
        (Some(before), after) => format!("{name} {} -> {}", before.to_json(), after.to_json()),
    });
    members.collect::<Vec<_>>().join(", ")
}

fn member<'p>(payload: &'p Payload, name: &str) -> Option<&'p Payload> {
    payload.as_map()?.get(name)
}
