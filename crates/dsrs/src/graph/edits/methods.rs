//! Methods that build and edit a graph: each call is checked, and a refused call leaves the graph
//! unchanged.

use std::sync::Arc;

use super::{Edit, Edits};
use crate::graph::edge::{Edge, INPUT, Source, Target};
use crate::graph::node::Node;
use crate::graph::program_graph::{GraphOutput, ProgramGraph, check_node_name};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::FieldSchema;
use crate::strategy::BuildEnv;
use crate::types::{CompareBudget, TypeDefs};
use crate::value::Payload;

impl ProgramGraph {
    /// Adds a node under a free name.
    ///
    /// # Errors `invalid_name`, `reserved_name`, `duplicate_name`, and `invalid_type` when the
    /// node's signature uses a type name that is another type here.
    pub fn add_node(&mut self, name: &str, node: Node) -> Result<(), Problems> {
        let at = At::Root.key("name");
        let mut problems = Problems::new();
        check_node_name(name, &at, &mut problems);
        if self.nodes.contains_key(name) {
            let detail = format!("there is a node `{name}` already");
            problems.add(&at, Code::DuplicateName, detail);
        }
        let defs = self.merged_defs(&node, &mut problems);
        problems.or(())?;
        self.defs = defs;
        self.nodes.insert(Arc::from(name), Arc::new(node));
        Ok(())
    }

    /// Removes a node and its edges.
    ///
    /// # Errors `unknown_node`; `invalid_value` if an output of the graph reads from it.
    pub fn remove_node(&mut self, name: &str) -> Result<(), Problems> {
        let at = At::Root.key("name");
        if !self.nodes.contains_key(name) {
            return Err(self.unknown_node(name, &at).into());
        }
        let used = self.outputs.iter().find(|(_, output)| output.source.node.as_ref() == name);
        if let Some((output, _)) = used {
            let detail =
                format!("the output `{output}` comes from `{name}`; set or remove that first");
            return Err(problem(&at, Code::InvalidValue, detail));
        }
        self.nodes.shift_remove(name);
        self.edges.retain(|edge| edge.from.node.as_ref() != name && edge.to.node.as_ref() != name);
        Ok(())
    }

    /// Replaces a node; its edges and outputs stay and are checked again.
    ///
    /// # Errors `unknown_node`, and edges and outputs that no longer fit, at their places.
    pub fn replace_node(&mut self, name: &str, node: Node) -> Result<(), Problems> {
        if !self.nodes.contains_key(name) {
            return Err(self.unknown_node(name, &At::Root.key("name")).into());
        }
        let mut problems = Problems::new();
        let mut edited = self.clone();
        edited.defs = self.merged_defs(&node, &mut problems);
        edited.nodes.insert(Arc::from(name), Arc::new(node));
        edited.recheck(name, &mut problems);
        problems.or(())?;
        *self = edited;
        Ok(())
    }

    /// Connects a source to an input: THE place where types are checked.
    ///
    /// # Errors
    /// `unknown_node`, `unknown_field`, `duplicate_edge`, `input_already_connected`,
    /// `type_mismatch`, `cycle`.
    pub fn connect(&mut self, from: Source, to: Target) -> Result<(), Problems> {
        let at = At::Root;
        let edge = Edge { from, to };
        self.check_edge(&edge, &mut CompareBudget::for_document(), &at)?;
        Self::check_free(&edge, &self.edges_by_target(), &at)?;
        self.edges.push(edge);
        if let Some((_, detail)) = self.find_cycles(&self.edges).pop() {
            self.edges.pop();
            return Err(problem(&at, Code::Cycle, detail));
        }
        Ok(())
    }

    /// Removes an edge.
    ///
    /// # Errors
    /// `unknown_field` when there is no such edge.
    pub fn disconnect(&mut self, from: &Source, to: &Target) -> Result<(), Problems> {
        match self.edges.iter().position(|edge| edge.from == *from && edge.to == *to) {
            Some(position) => {
                self.edges.remove(position);
                Ok(())
            }
            None => {
                let detail = format!("there is no edge from `{from}` to `{to}`");
                Err(problem(&At::Root, Code::UnknownField, detail))
            }
        }
    }

    /// Puts a new node into an edge: `edge.from` feeds its `input`, its `output` feeds `edge.to`.
    ///
    /// # Errors
    /// As [`Self::disconnect`], [`Self::add_node`] and [`Self::connect`]; nothing changes then.
    pub fn insert_between(
        &mut self,
        edge: &Edge,
        name: &str,
        node: Node,
        input: &str,
        output: Source,
    ) -> Result<(), Problems> {
        let mut edited = self.clone();
        edited.disconnect(&edge.from, &edge.to)?;
        edited.add_node(name, node)?;
        let into = Target { node: Arc::from(name), field: Arc::from(input) };
        edited.connect(edge.from.clone(), into)?;
        edited.connect(output, edge.to.clone())?;
        *self = edited;
        Ok(())
    }

    /// Declares an input, or replaces the one of its name; edges from it are checked again.
    ///
    /// # Errors
    /// `type_mismatch` for every edge that the new type no longer serves.
    pub fn set_input(&mut self, field: FieldSchema) -> Result<(), Problems> {
        let mut edited = self.clone();
        edited.inputs.insert(field.name.clone(), field);
        let mut problems = Problems::new();
        edited.recheck(INPUT, &mut problems);
        problems.or(())?;
        *self = edited;
        Ok(())
    }

    /// Names an output, or moves the one of its name to another source.
    ///
    /// # Errors
    /// `unknown_node` or `unknown_field`.
    pub fn set_output(&mut self, name: &str, source: Source) -> Result<(), Problems> {
        let ty = self.type_of(&source, &At::Root.key("from"))?;
        self.outputs.insert(Arc::from(name), GraphOutput { source, ty });
        Ok(())
    }

    /// Removes an output.
    ///
    /// # Errors
    /// `unknown_field`.
    pub fn remove_output(&mut self, name: &str) -> Result<(), Problems> {
        match self.outputs.shift_remove(name) {
            Some(_) => Ok(()),
            None => {
                let detail = format!("the graph has no output `{name}`");
                Err(problem(&At::Root.key("name"), Code::UnknownField, detail))
            }
        }
    }

    /// Removes an input that no edge and no output reads.
    ///
    /// # Errors `unknown_field`; `invalid_value` if it is still read.
    pub fn remove_input(&mut self, name: &str) -> Result<(), Problems> {
        let at = At::Root.key("name");
        if !self.inputs.contains_key(name) {
            let detail = format!("the graph has no input `{name}`");
            return Err(problem(&at, Code::UnknownField, detail));
        }
        let reads = |source: &Source| source.node.as_ref() == INPUT && source.field() == name;
        let edge = self.edges.iter().find(|edge| reads(&edge.from)).map(|edge| edge.to.to_string());
        let output = self.outputs.iter().find(|(_, output)| reads(&output.source));
        if let Some(reader) = edge.or_else(|| output.map(|(output, _)| output.to_string())) {
            let detail = format!("`{reader}` reads the input `{name}`; disconnect that first");
            return Err(problem(&at, Code::InvalidValue, detail));
        }
        self.inputs.shift_remove(name);
        Ok(())
    }

    /// Renames a node, also in edges and outputs.
    ///
    /// # Errors
    /// `unknown_node`, and as [`Self::add_node`] for the new name.
    pub fn rename_node(
        &mut self,
        name: &str,
        to: &str,
        env: &dyn BuildEnv,
    ) -> Result<(), Problems> {
        self.edit_one(Edit::RenameNode { name: name.into(), to: to.into() }, env)
    }

    /// Defines or redefines a type; every node whose signature names it is created again.
    ///
    /// # Errors Problems of the new definition, and everything that no longer fits.
    pub fn set_type(
        &mut self,
        name: &str,
        definition: &Payload,
        env: &dyn BuildEnv,
    ) -> Result<(), Problems> {
        self.edit_one(Edit::SetType { name: name.into(), ty: definition.clone() }, env)
    }

    /// Removes an unused definition.
    ///
    /// # Errors `unknown_field`, and `invalid_type` if it is still used.
    pub fn remove_type(&mut self, name: &str, env: &dyn BuildEnv) -> Result<(), Problems> {
        self.edit_one(Edit::RemoveType { name: name.into() }, env)
    }

    fn edit_one(&mut self, edit: Edit, env: &dyn BuildEnv) -> Result<(), Problems> {
        *self = self.apply_edits(&Edits(vec![edit]), env)?.graph;
        Ok(())
    }

    /// Checks again all edges and outputs that touch a node.
    fn recheck(&mut self, name: &str, problems: &mut Problems) {
        let root = At::Root;
        let edges = root.key("edges");
        let touches =
            |edge: &Edge| edge.from.node.as_ref() == name || edge.to.node.as_ref() == name;
        let mut budget = CompareBudget::for_document();
        for (position, edge) in self.edges.iter().enumerate().filter(|(_, e)| touches(e)) {
            let checked = self.check_edge(edge, &mut budget, &edges.index(position));
            problems.append(checked.err().unwrap_or_default());
            if budget.is_exhausted() {
                break;
            }
        }
        let outputs = root.key("outputs");
        let mut retyped = Vec::new();
        for (output, found) in self.outputs.iter().filter(|(_, o)| o.source.node.as_ref() == name) {
            match self.type_of(&found.source, &outputs.key(output)) {
                Ok(ty) => retyped.push((output.clone(), ty)),
                Err(problem) => problems.push(problem),
            }
        }
        for (output, ty) in retyped {
            if let Some(found) = self.outputs.get_mut(&output) {
                found.ty = ty;
            }
        }
    }

    /// The graph's definitions with those of a new node.
    fn merged_defs(&self, node: &Node, problems: &mut Problems) -> Arc<TypeDefs> {
        let theirs = &node.schema().defs;
        if Arc::ptr_eq(theirs, &self.defs) || theirs.0.is_empty() {
            return self.defs.clone();
        }
        let mut merged = (*self.defs).clone();
        for (name, def) in &theirs.0 {
            match merged.0.get(name) {
                Some(ours) if ours != def => {
                    let detail = format!("`{name}` is another type in this graph");
                    problems.add(&At::Root.key("node"), Code::InvalidType, detail);
                }
                Some(_) => {}
                None => {
                    merged.0.insert(name.clone(), def.clone());
                }
            }
        }
        Arc::new(merged)
    }
}

fn problem(at: &At<'_>, code: Code, detail: String) -> Problems {
    Problem { pointer: at.pointer(), code, detail }.into()
}
