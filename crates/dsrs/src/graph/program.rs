//! `Program`: a complete, checked, immutable graph with its plan, its canonical text and its hash.
//! Shared by all runs; another state is another build over the same schemas.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use sha2::{Digest, Sha256};

use super::GraphState;
use super::edge::Target;
use super::node::{Node, check_model};
use super::plan::ExecutionPlan;
use super::predictor_path;
use super::program_graph::ProgramGraph;
use crate::lm::Message;
use crate::predict::{DynPredictor, PredictState};
use crate::problem::{At, Code, Problems};
use crate::read::{listed, nearest};
use crate::signature::{admit_fitting, admit_inputs};
use crate::strategy::{BuildEnv, LoadingEnv};
use crate::value::{Fields, Payload};

/// A graph that is complete and ready to run.
pub struct Program {
    graph: ProgramGraph,
    pub(super) plan: ExecutionPlan,
    document: Payload,
    text: Arc<str>,
    hash: Arc<str>,
    computes_little: bool,
}

/// The longest definition whose runs may compute little, in bytes.
const LITTLE: usize = 64 << 10;

impl ProgramGraph {
    /// Completes the graph: every input must have a source, a default, or accept null.
    ///
    /// # Errors
    /// `unconnected_input` for each that has none.
    pub fn compile(self) -> Result<Program, Problems> {
        let claimed: HashSet<Target> = self.edges.iter().map(|edge| edge.to.clone()).collect();
        self.unconnected(|target| claimed.contains(target)).or(())?;
        let plan = ExecutionPlan::of(&self)?;
        let document = self.to_document();
        let text: Arc<str> = Arc::from(document.to_json());
        let hash = Arc::from(sha256_hex(text.as_bytes()));
        let computes_little = computes_little(&self, &text);
        Ok(Program { graph: self, plan, document, text, hash, computes_little })
    }
}

impl Program {
    /// Reads, resolves, checks and compiles a graph document.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the document's root.
    pub fn from_document(document: &Payload, env: &dyn BuildEnv) -> Result<Self, Problems> {
        ProgramGraph::from_document(document, env)?.compile()
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &ProgramGraph {
        &self.graph
    }

    /// The resolved document: `name, description, types, inputs, nodes, edges, outputs`.
    #[must_use]
    pub fn document(&self) -> &Payload {
        &self.document
    }

    /// The document as canonical JSON text, as it is stored.
    #[must_use]
    pub fn canonical_text(&self) -> &Arc<str> {
        &self.text
    }

    /// SHA-256 of the canonical text, in lower-case hex.
    #[must_use]
    pub fn content_hash(&self) -> &Arc<str> {
        &self.hash
    }

    /// Whether a run computes little between its requests to models: a small definition of modules
    /// that only ask, without constraints. Any thread may do that.
    #[must_use]
    pub const fn computes_little(&self) -> bool {
        self.computes_little
    }

    /// All predictors by path, in order of nodes.
    #[must_use]
    pub fn predictors(&self) -> Vec<(String, &dyn DynPredictor)> {
        self.graph.predictors()
    }

    /// The predictors to change, in the same order; those of nodes that are shared with another
    /// program are left out.
    pub(super) fn predictors_mut(&mut self) -> impl Iterator<Item = &mut dyn DynPredictor> {
        let nodes = self.graph.nodes.values_mut().filter_map(Arc::get_mut);
        nodes.flat_map(|node| node.module.predictors_mut()).map(|(_, predictor)| predictor)
    }

    /// The same program with another predictor state. Paths that the state leaves out are at their
    /// defaults. Nodes without overrides are shared, not built again.
    ///
    /// # Errors
    /// Every path, field and value that does not fit, with pointers below `at`, the place of the
    /// state's `predictors`.
    pub fn with_state(
        &self,
        env: &dyn BuildEnv,
        state: &GraphState,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        // A stored state may tune a graph that no longer exists.
        if !env.is_stored() {
            self.check_paths(state, at, &mut problems);
        }
        let mut graph = self.graph.clone();
        for (name, node) in &mut graph.nodes {
            let tuned = |found: &dyn DynPredictor| !found.state().is_default();
            let is_tuned = node.predictors(name).any(|(_, predictor)| tuned(predictor));
            let wanted = node.predictors(name).any(|(path, _)| state.0.contains_key(path.as_str()));
            if !is_tuned && !wanted {
                continue;
            }
            match tune(name, node, env, state, at) {
                Ok(tuned) => *node = Arc::new(tuned),
                Err(found) => problems.append(found),
            }
        }
        problems.or(())?;
        let plan = ExecutionPlan::of(&graph)?;
        let (document, text, hash) = (self.document.clone(), self.text.clone(), self.hash.clone());
        let computes_little = computes_little(&graph, &text);
        Ok(Self { graph, plan, document, text, hash, computes_little })
    }

    pub(super) fn check_paths(&self, state: &GraphState, at: &At<'_>, problems: &mut Problems) {
        let known: IndexSet<String> = self.predictors().into_iter().map(|(path, _)| path).collect();
        for path in state.0.keys().filter(|path| !known.contains(path.as_ref())) {
            let hint = nearest(path, known.iter().map(String::as_str))
                .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            let known = listed(known.iter().map(String::as_str));
            let detail = format!("there is no predictor `{path}`; {hint}known ones: {known}");
            problems.add(&at.key(path), Code::UnknownField, detail);
        }
    }

    /// Checks and completes the inputs of a run: exact types, defaults filled in, in order. The asserts
    /// of the inputs must hold, and those of the nodes that receive them as they are.
    pub fn admit_inputs(
        &self,
        inputs: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Fields> {
        let before = problems.len();
        let fields = self.graph.inputs.values();
        let admitted = admit_fitting(fields, &self.graph.defs, inputs, at, problems);
        self.plan.passed_inputs.report_broken(&self.graph, &admitted, at, problems);
        (problems.len() == before).then_some(admitted)
    }

    /// The exact messages that each predictor of a node would send for these inputs of the node.
    /// Predictors that need more than the node's own inputs (the inner steps of a strategy) are
    /// left out.
    pub fn render(
        &self,
        node_name: &str,
        inputs: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<IndexMap<String, Vec<Message>>> {
        let Some(node) = self.graph.node(node_name) else {
            problems.push(self.graph.unknown_node(node_name, &at.key("node")));
            return None;
        };
        let schema = node.schema();
        let place = at.key("inputs");
        let fields = admit_inputs(schema.inputs.iter(), &schema.defs, inputs, &place, problems)?;
        let ready = |predictor: &dyn DynPredictor| {
            predictor.schema().inputs.iter().all(|field| fields.contains_key(&field.name))
        };
        let predictors = node.predictors(node_name).filter(|(_, predictor)| ready(*predictor));
        Some(predictors.map(|(path, predictor)| (path, predictor.render(&fields))).collect())
    }
}

fn computes_little(graph: &ProgramGraph, text: &str) -> bool {
    // A text that only mentions constraints counts as one that has some.
    text.len() <= LITTLE
        && !text.contains("constraints")
        && graph.nodes.values().all(|node| node.module.computes_little())
}

/// A fresh module for a node, with the state of each of its predictors.
fn tune(
    name: &str,
    node: &Node,
    env: &dyn BuildEnv,
    state: &GraphState,
    at: &At<'_>,
) -> Result<Node, Problems> {
    let mut tuned = node.fresh(&LoadingEnv(env), &At::Root)?;
    let mut problems = Problems::new();
    for (within, predictor) in tuned.module.predictors_mut() {
        let path = predictor_path(name, within);
        let Some(wanted) = state.0.get(path.as_str()) else { continue };
        let at = at.key(&path);
        check_model(env, &wanted.lm, &at.key("lm"), &mut problems);
        check_embedder(env, wanted, &at.key("nearest"), &mut problems);
        problems.append(predictor.load_state(wanted.clone(), &at).err().unwrap_or_default());
    }
    problems.or(tuned)
}

/// Checks that demos are selected with an embedding model.
fn check_embedder(env: &dyn BuildEnv, state: &PredictState, at: &At<'_>, problems: &mut Problems) {
    let alias = state.nearest.as_ref().map(|nearest| &nearest.model);
    let Some(alias) = alias.filter(|alias| !env.knows_embedder(alias)) else { return };
    let why =
        if env.knows_model(alias) { "is not an embedding model" } else { "is not configured" };
    let detail = format!(
        "the model alias `{alias}` {why}; GET /v1/models lists those that can, with the capability \
         `embeddings`"
    );
    problems.add(&at.key("model"), Code::UnknownModel, detail);
}

fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
