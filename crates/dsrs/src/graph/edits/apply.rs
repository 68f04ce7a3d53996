//! Applying edits to a resolved document. Records which edit touched which part, so that problems of the
//! result can be reported at the responsible edit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Edge, Edit, Source, Target, target};
use crate::graph::edge::INPUT;
use crate::graph::program_graph::check_node_name;
use crate::problem::{At, Code, Problems};
use crate::read::nearest;
use crate::value::{Map, Payload, SelectionStep};

/// The parts of a document that edits change, and what they did to them.
#[derive(Default)]
pub(super) struct EditedDocument {
    /// The other members: name, description, expose.
    head: Map,
    types: Map,
    inputs: Map,
    nodes: Map,
    pub(super) edges: Vec<Edge>,
    outputs: Map,
    /// Names that nodes had and have.
    pub(super) renamed: Vec<(Arc<str>, Arc<str>)>,
    /// The edit that last touched each part.
    pub(super) touched: HashMap<DocumentPart, usize>,
    /// Edges of an `insert_between`, by the member of the edit that defines them.
    pub(super) inserted: HashMap<Edge, &'static str>,
    /// Edits that could not be applied, by the names they would have made.
    lost: HashSet<Arc<str>>,
}

/// A part of a document that an edit may touch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum DocumentPart {
    /// A node.
    Node(Arc<str>),
    /// An edge into this node was taken away.
    Fed(Arc<str>),
    /// An edge.
    Edge(Edge),
    /// An input of the graph.
    Input(Arc<str>),
    /// An output of the graph.
    Output(Arc<str>),
    /// A definition.
    Type(Arc<str>),
    /// How the graph is exposed.
    Exposure,
}

/// Applies all edits. An edit that cannot be applied is reported; edits that depend on its result
/// are skipped without a report.
pub(super) fn apply(document: &Payload, edits: &[Edit], problems: &mut Problems) -> EditedDocument {
    let mut applied = EditedDocument::of(document);
    let root = At::Root;
    let place = root.key("edits");
    for (number, edit) in edits.iter().enumerate() {
        let at = place.index(number);
        if names(edit).any(|name| applied.lost.contains(name)) {
            applied.lost.extend(created_names(edit).cloned());
            continue;
        }
        let before = problems.len();
        applied.one(number, edit, &at, problems);
        if problems.len() > before {
            applied.lost.extend(created_names(edit).cloned());
        }
    }
    applied
}

/// The nodes that an edit names.
fn names(edit: &Edit) -> impl Iterator<Item = &Arc<str>> {
    let names: Vec<&Arc<str>> = match edit {
        Edit::AddNode { name, .. }
        | Edit::RemoveNode { name }
        | Edit::ReplaceNode { name, .. }
        | Edit::RenameNode { name, .. } => vec![name],
        Edit::Connect(edge) | Edit::Disconnect(edge) => vec![&edge.from.node, &edge.to.node],
        Edit::InsertBetween { edge, name, .. } => vec![&edge.from.node, &edge.to.node, name],
        Edit::SetOutput { from, .. } => vec![&from.node],
        _ => Vec::new(),
    };
    names.into_iter()
}

/// The nodes that an edit makes.
fn created_names(edit: &Edit) -> impl Iterator<Item = &Arc<str>> {
    let made = match edit {
        Edit::AddNode { name, .. } | Edit::InsertBetween { name, .. } => Some(name),
        Edit::RenameNode { to, .. } => Some(to),
        _ => None,
    };
    made.into_iter()
}

impl EditedDocument {
    fn of(document: &Payload) -> Self {
        let mut applied = Self::default();
        for (name, member) in document.as_map().into_iter().flatten() {
            let members = || member.as_map().cloned().unwrap_or_default();
            match name.as_ref() {
                "types" => applied.types = members(),
                "inputs" => applied.inputs = members(),
                "nodes" => applied.nodes = members(),
                "outputs" => applied.outputs = members(),
                "edges" => {
                    let edges = member.as_list().unwrap_or_default().iter();
                    applied.edges.extend(edges.filter_map(edge_of));
                }
                _ => drop(applied.head.insert(name.clone(), member.clone())),
            }
        }
        applied
    }

    /// The current document.
    pub(super) fn document(&self) -> Payload {
        let mut document = self.head.clone();
        let edges = self.edges.iter().map(edge_to_payload).collect();
        for (name, member) in [
            ("types", Payload::map(self.types.clone())),
            ("inputs", Payload::map(self.inputs.clone())),
            ("nodes", Payload::map(self.nodes.clone())),
            ("edges", Payload::list(edges)),
            ("outputs", Payload::map(self.outputs.clone())),
        ] {
            document.insert(Arc::from(name), member);
        }
        Payload::map(document)
    }

    fn one(&mut self, number: usize, edit: &Edit, at: &At<'_>, problems: &mut Problems) {
        match edit {
            Edit::AddNode { name, node } => self.add_node(number, name, node, at, problems),
            Edit::RemoveNode { name } => self.remove_node(number, name, at, problems),
            Edit::ReplaceNode { name, node } => {
                if self.knows(name, at, problems) {
                    self.nodes.insert(name.clone(), node.clone());
                    self.touched.insert(DocumentPart::Node(name.clone()), number);
                }
            }
            Edit::RenameNode { name, to } => self.rename_node(number, name, to, at, problems),
            Edit::Connect(edge) => self.connect(number, edge.clone()),
            Edit::Disconnect(edge) => drop(self.disconnect(number, edge, at, problems)),
            Edit::InsertBetween { edge, name, node, input, output } => {
                if self.disconnect(number, edge, &at.key("edge"), problems) {
                    self.add_node(number, name, node, at, problems);
                    let before = Edge { from: edge.from.clone(), to: target(name, input) };
                    let from = Source::field_of(name.clone(), output.clone());
                    let behind = Edge { from, to: edge.to.clone() };
                    for (edge, member) in [(before, "/input"), (behind, "/output")] {
                        self.inserted.insert(edge.clone(), member);
                        self.connect(number, edge);
                    }
                }
            }
            Edit::SetOutput { name, from } => {
                self.outputs.insert(name.clone(), from.to_string().into());
                self.touched.insert(DocumentPart::Output(name.clone()), number);
            }
            Edit::RemoveOutput { name } => {
                remove(&mut self.outputs, name, "output", at, problems);
            }
            Edit::SetInput { name, ty } => {
                self.inputs.insert(name.clone(), ty.clone());
                self.touched.insert(DocumentPart::Input(name.clone()), number);
            }
            Edit::RemoveInput { name } => {
                remove(&mut self.inputs, name, "input", at, problems);
                self.touched.insert(DocumentPart::Input(name.clone()), number);
            }
            Edit::SetType { name, ty } => {
                self.types.insert(name.clone(), ty.clone());
                self.touched.insert(DocumentPart::Type(name.clone()), number);
            }
            Edit::SetExpose { expose } => {
                self.head.insert(Arc::from("expose"), expose.clone());
                self.touched.insert(DocumentPart::Exposure, number);
            }
            Edit::RemoveType { name } => {
                remove(&mut self.types, name, "type", at, problems);
                self.touched.insert(DocumentPart::Type(name.clone()), number);
            }
        }
    }

    fn add_node(
        &mut self,
        number: usize,
        name: &Arc<str>,
        node: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        if self.is_free(name, &at.key("name"), problems) {
            self.nodes.insert(name.clone(), node.clone());
            self.touched.insert(DocumentPart::Node(name.clone()), number);
        }
    }

    fn remove_node(
        &mut self,
        number: usize,
        name: &Arc<str>,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        if !self.knows(name, at, problems) {
            return;
        }
        let used = self.outputs.iter().find(|(_, from)| node_of(from) == Some(name.as_ref()));
        if let Some((output, _)) = used {
            let detail = format!(
                "the output `{output}` comes from `{name}`; set or remove that output first"
            );
            problems.add(&at.key("name"), Code::InvalidValue, detail);
            return;
        }
        self.nodes.shift_remove(name);
        let goes = |edge: &Edge| edge.from.node == *name || edge.to.node == *name;
        for edge in self.edges.iter().filter(|edge| goes(edge)) {
            self.touched.insert(DocumentPart::Fed(edge.to.node.clone()), number);
        }
        self.edges.retain(|edge| !goes(edge));
    }

    fn rename_node(
        &mut self,
        number: usize,
        name: &Arc<str>,
        to: &Arc<str>,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        let known = self.knows(name, at, problems);
        if name == to || !self.is_free(to, &at.key("to"), problems) || !known {
            return;
        }
        let renamed = |node: &Arc<str>| if node == name { to.clone() } else { node.clone() };
        let nodes = std::mem::take(&mut self.nodes);
        self.nodes = nodes.into_iter().map(|(node, found)| (renamed(&node), found)).collect();
        for edge in &mut self.edges {
            edge.from.node = renamed(&edge.from.node);
            edge.to.node = renamed(&edge.to.node);
        }
        for from in self.outputs.values_mut() {
            let rest = from.as_str().and_then(|from| from.strip_prefix(name.as_ref()));
            if let Some(rest) = rest.filter(|rest| rest.starts_with('.')) {
                *from = format!("{to}{rest}").into();
            }
        }
        self.touched.insert(DocumentPart::Node(to.clone()), number);
        self.renamed.push((name.clone(), to.clone()));
    }

    fn connect(&mut self, number: usize, edge: Edge) {
        self.touched.insert(DocumentPart::Edge(edge.clone()), number);
        self.edges.push(edge);
    }

    fn disconnect(
        &mut self,
        number: usize,
        edge: &Edge,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> bool {
        let Some(position) = self.edges.iter().position(|known| known == edge) else {
            let detail = format!("there is no edge from `{}` to `{}`", edge.from, edge.to);
            problems.add(at, Code::UnknownField, detail);
            return false;
        };
        self.edges.remove(position);
        self.touched.insert(DocumentPart::Fed(edge.to.node.clone()), number);
        true
    }

    fn knows(&self, name: &Arc<str>, at: &At<'_>, problems: &mut Problems) -> bool {
        let known = self.nodes.contains_key(name);
        if !known {
            let hint = nearest(name, self.nodes.keys().map(AsRef::as_ref))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let detail = format!("there is no node `{name}`{hint}");
            problems.add(&at.key("name"), Code::UnknownNode, detail);
        }
        known
    }

    fn is_free(&self, name: &Arc<str>, at: &At<'_>, problems: &mut Problems) -> bool {
        if self.nodes.contains_key(name) {
            let detail = format!("there is a node `{name}` already");
            problems.add(at, Code::DuplicateName, detail);
            return false;
        }
        check_node_name(name, at, problems)
    }
}

fn remove(members: &mut Map, name: &Arc<str>, what: &str, at: &At<'_>, problems: &mut Problems) {
    if members.shift_remove(name).is_none() {
        let hint = nearest(name, members.keys().map(AsRef::as_ref))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let detail = format!("the graph has no {what} `{name}`{hint}");
        problems.add(&at.key("name"), Code::UnknownField, detail);
    }
}

/// The node of a source in a resolved document.
fn node_of(source: &Payload) -> Option<&str> {
    source.as_str()?.split('.').next()
}

/// An edge of a resolved document, which is well formed.
fn edge_of(edge: &Payload) -> Option<Edge> {
    let members = edge.as_map()?;
    let mut ignored = Problems::new();
    let from = Source::read(members.get("from")?, &At::Root, &mut ignored)?;
    let to = Target::read(members.get("to")?, &At::Root, &mut ignored)?;
    Some(Edge { from, to })
}

fn edge_to_payload(edge: &Edge) -> Payload {
    let members = [("from", edge.from.to_string()), ("to", edge.to.to_string())];
    let members = members.map(|(name, end)| (Arc::from(name), end.into()));
    Payload::map(members.into_iter().collect())
}

/// Whether a source is the whole of a graph's input.
pub(super) fn graph_input(source: &Source) -> Option<&Arc<str>> {
    match (source.node.as_ref(), source.selection.steps().first()) {
        (INPUT, Some(SelectionStep::Field(name))) => Some(name),
        _ => None,
    }
}
