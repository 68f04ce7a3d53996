//! `ProgramGraph`: named nodes, typed inputs, edges, outputs. Its content is checked. Inputs may
//! still lack a source; only compiling requires one. Knows nothing of documents or execution.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::edge::{Edge, INPUT, Source, Target};
use super::exposure::Exposure;
use super::node::{Node, class_of};
use crate::predict::DynPredictor;
use crate::problem::{At, Code, Problem, Problems};
use crate::read::nearest;
use crate::signature::FieldSchema;
use crate::types::{Type, TypeDefs};
use crate::value::{SelectionStep, is_identifier};

/// An output of a graph.
#[derive(Clone, Debug)]
pub struct GraphOutput {
    /// The source of its value.
    pub source: Source,
    /// Its type.
    pub ty: Type,
}

/// A typed graph of strategies. Nodes are shared, so that a copy to try an edit on is cheap.
#[derive(Clone)]
pub struct ProgramGraph {
    pub(super) name: Arc<str>,
    pub(super) description: Option<Arc<str>>,
    pub(super) exposure: Exposure,
    pub(super) defs: Arc<TypeDefs>,
    pub(super) inputs: IndexMap<Arc<str>, FieldSchema>,
    pub(super) nodes: IndexMap<Arc<str>, Arc<Node>>,
    pub(super) edges: Vec<Edge>,
    pub(super) outputs: IndexMap<Arc<str>, GraphOutput>,
}

impl ProgramGraph {
    /// An empty graph over type definitions.
    ///
    /// # Errors
    /// `invalid_name` or `reserved_name`.
    pub fn new(name: &str, defs: Arc<TypeDefs>) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        check_graph_name(name, &At::Root.key("name"), &mut problems);
        problems.or(Self {
            name: Arc::from(name),
            description: None,
            exposure: Exposure::default(),
            defs,
            inputs: IndexMap::new(),
            nodes: IndexMap::new(),
            edges: Vec::new(),
            outputs: IndexMap::new(),
        })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// How clients of other protocols may reach it.
    #[must_use]
    pub fn exposure(&self) -> &Exposure {
        &self.exposure
    }

    /// The definitions that types in it may name.
    #[must_use]
    pub fn defs(&self) -> &Arc<TypeDefs> {
        &self.defs
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &FieldSchema> {
        self.inputs.values()
    }

    /// The nodes by name, in order.
    pub fn nodes(&self) -> impl Iterator<Item = (&Arc<str>, &Node)> {
        self.nodes.iter().map(|(name, node)| (name, node.as_ref()))
    }

    /// The node of a name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).map(AsRef::as_ref)
    }

    /// The edges, in order.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The outputs by name, in order.
    pub fn outputs(&self) -> impl Iterator<Item = (&Arc<str>, &GraphOutput)> {
        self.outputs.iter()
    }

    /// The output field of a node that is an output of the graph as a whole.
    #[must_use]
    pub fn output_field(&self, name: &str) -> Option<&FieldSchema> {
        let source = &self.outputs.get(name)?.source;
        let (SelectionStep::Field(field), within) = source.selection.split_first()? else {
            return None;
        };
        self.node(&source.node)?.schema().output(field).filter(|_| within.is_empty())
    }

    /// All predictors by path, in order of nodes.
    #[must_use]
    pub fn predictors(&self) -> Vec<(String, &dyn DynPredictor)> {
        self.nodes.iter().flat_map(|(name, node)| node.predictors(name)).collect()
    }

    /// Adds missing definitions; existing names stay unchanged.
    pub(super) fn adopt(&mut self, defs: &TypeDefs) {
        let mut merged = (*self.defs).clone();
        for (name, def) in &defs.0 {
            merged.0.entry(name.clone()).or_insert_with(|| def.clone());
        }
        self.defs = Arc::new(merged);
    }

    /// The input that a source names, as a class with this one field, from which the selection
    /// starts. A class of all inputs would be built again for every edge.
    fn input_class(&self, source: &Source, at: &At<'_>) -> Result<Type, Problem> {
        let name = source.field();
        let field = self.inputs.get(name).ok_or_else(|| {
            let known = self.inputs.keys().map(AsRef::as_ref);
            let hint = nearest(name, known)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let detail = format!("`{source}`: the graph has no input `{name}`{hint}");
            Problem { pointer: at.pointer(), code: Code::UnknownField, detail }
        })?;
        Ok(class_of(std::slice::from_ref(field), &self.defs))
    }

    /// The type of the selection of a source, or its problems at the source's place.
    pub(super) fn type_of(&self, source: &Source, at: &At<'_>) -> Result<Type, Problem> {
        let outputs = if source.node.as_ref() == INPUT {
            self.input_class(source, at)?
        } else {
            let node = self.nodes.get(&source.node);
            node.ok_or_else(|| self.unknown_node(&source.node, at))?.outputs().clone()
        };
        source.selection.type_in(&outputs).map_err(|error| Problem {
            pointer: at.pointer(),
            code: Code::UnknownField,
            detail: format!("`{source}`: {error}"),
        })
    }

    /// Reports an input or output that the exposure names and the graph does not have.
    pub(super) fn check_exposure(&self, problems: &mut Problems) {
        let inputs = self.inputs.keys().map(AsRef::as_ref);
        self.exposure.check(inputs, self.outputs.keys().map(AsRef::as_ref), problems);
    }

    /// The type of the value that a source names; `None` if there is no such value.
    #[must_use]
    pub fn source_type(&self, source: &Source) -> Option<Type> {
        self.type_of(source, &At::Root).ok()
    }

    /// The edge that feeds each connected input.
    pub(super) fn edges_by_target(&self) -> HashMap<Target, &Edge> {
        self.edges.iter().map(|edge| (edge.to.clone(), edge)).collect()
    }

    pub(super) fn unknown_node(&self, name: &str, at: &At<'_>) -> Problem {
        let known = self.nodes.keys().map(AsRef::as_ref).chain([INPUT]);
        let hint = nearest(name, known)
            .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
        Problem {
            pointer: at.pointer(),
            code: Code::UnknownNode,
            detail: format!("there is no node `{name}`{hint}"),
        }
    }
}

/// Checks a graph's name: `[a-z][a-z0-9_-]{0,62}`, and not `validate`.
pub(super) fn check_graph_name(name: &str, at: &At<'_>, problems: &mut Problems) {
    let tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let head = |c: char| c.is_ascii_lowercase();
    if !(name.len() <= 63 && name.starts_with(head) && name.chars().all(tail)) {
        let detail = format!(
            "`{name}` is not a graph name: a lower-case letter, then at most 62 of a-z, 0-9, _ and -"
        );
        problems.add(at, Code::InvalidName, detail);
    } else if name == "validate" {
        problems.add(at, Code::ReservedName, "`validate` is the name of a route; choose another");
    }
}

/// Checks a node's name: an identifier, and not `input`.
pub(super) fn check_node_name(name: &str, at: &At<'_>, problems: &mut Problems) -> bool {
    if !is_identifier(name) {
        let detail = format!(
            "`{name}` is not a node name: a letter or _, then at most 62 letters, digits and _"
        );
        problems.add(at, Code::InvalidName, detail);
        return false;
    }
    if name == INPUT {
        let detail = "`input` names the graph's inputs; choose another name for the node";
        problems.add(at, Code::ReservedName, detail);
        return false;
    }
    true
}
