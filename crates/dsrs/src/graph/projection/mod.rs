//! A typed module as a graph: its predictors become nodes with their state beside them, and edges are
//! inferred from runs on an LM that answers unique values. Ambiguous connections are reported and left
//! open, never guessed.

mod connect;
mod load_state;
mod observe;
mod sentinel;

use std::sync::Arc;

use facet::Facet;

use self::observe::observe;
use crate::graph::GraphState;
use crate::graph::edge::{Edge, INPUT, Source};
use crate::graph::node::{Node, NodeSettings};
use crate::graph::program_graph::ProgramGraph;
use crate::module::{Module, named_predictors_mut};
use crate::predict::DynPredictor;
use crate::problem::{At, Problems};
use crate::reflect::ReflectError;
use crate::signature::{FieldSchema, SignatureSchema, from_types};
use crate::strategy::StoredEnv;
use crate::types::TypeDefs;
use crate::value::{Map, Payload};

pub use load_state::load_module_state;

/// A graph derived from a module.
pub struct Projection {
    /// The graph. Inputs that are open are fed by nothing, and it does not compile before they are.
    pub graph: ProgramGraph,
    /// The state of the module's predictors, by the names of their nodes: instructions, demos and LM
    /// settings. [`Program::with_state`](super::Program::with_state) tunes the graph by it, and a
    /// server stores it as the state of the graph.
    pub state: GraphState,
    /// The nodes with the paths of their predictors.
    pub nodes: Vec<(Arc<str>, String)>,
    /// What could not be seen.
    pub open: Vec<OpenConnection>,
}

/// An input of a node, or an output of the graph, whose source was not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenConnection {
    /// `node.field`, or `output.field`.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// A module that has no graph.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It cannot be searched for predictors, or its types cannot be determined.
    #[error(transparent)]
    Reflect(#[from] ReflectError),
    /// A traced run failed.
    #[error("the traced run on example {example} failed: {reason}")]
    Run {
        /// The number of the example, from 0.
        example: usize,
        /// Why.
        reason: String,
    },
    /// Predictors offer tools, which are functions of the program.
    #[error(
        "{}: a node of a graph cannot call functions of this program. Host the module with \
         `register_module!`, or give the tools to a `react` node of the graph",
        with_tools(.0)
    )]
    Tools(Vec<ToolsOfPredictor>),
    /// The graph is invalid.
    #[error("{0}")]
    Graph(Problems),
}

/// A predictor that offers tools to the LM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolsOfPredictor {
    /// Its path in the module.
    pub predictor: String,
    /// The names of the tools.
    pub tools: Vec<Arc<str>>,
}

fn with_tools(found: &[ToolsOfPredictor]) -> String {
    let each = found.iter().map(|one| {
        let tools = one.tools.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let noun = if tools.len() == 1 { "tool" } else { "tools" };
        let path = match one.predictor.as_str() {
            "" => String::new(),
            path => format!(" `{path}`"),
        };
        format!("the predictor{path} offers the {noun} {}", tools.join(", "))
    });
    each.collect::<Vec<_>>().join("; ")
}

impl From<Problems> for ProjectError {
    fn from(problems: Problems) -> Self {
        Self::Graph(problems)
    }
}

impl ProgramGraph {
    /// Derives a graph from a module: runs it once on every example with an LM that answers unique
    /// values. An edge is inferred if, in every run, an input field of a predictor equals exactly
    /// one output of an earlier predictor, one input of the module, or one part of them, such as
    /// `input.customer.mood`. More examples, and more varied ones, leave less open.
    ///
    /// Every node uses the strategy `predict` on the predictor's own schema, so fields that a typed
    /// strategy adds, such as `reasoning`, are among its outputs. If two Rust types have one name,
    /// the second is named `Item_2` in the graph. [`load_module_state`](super::load_module_state)
    /// loads a tuned state back into the module.
    ///
    /// # Errors
    /// When the module cannot be searched, a run fails, a predictor has tools, or two parts of it do
    /// not fit together.
    pub async fn from_module<M>(
        name: &str,
        module: &mut M,
        examples: &[M::Input],
    ) -> Result<Projection, ProjectError>
    where
        M: Module + Facet<'static>,
    {
        let mut projection = Self::nodes_of(name, module)?;
        let boundary = projection.adopt_boundary::<M>()?;
        let runs = observe(module, examples).await?;
        projection.connect_observed(&boundary, &runs);
        Ok(projection)
    }

    /// Derives a graph from a module with the given edges, for modules whose edges cannot be
    /// observed in runs. `outputs` names the graph's outputs; its inputs are those of the module.
    ///
    /// # Errors
    /// When the module cannot be searched, a predictor has tools, or an edge or output does not fit.
    pub fn from_module_with<M>(
        name: &str,
        module: &mut M,
        edges: impl IntoIterator<Item = Edge>,
        outputs: impl IntoIterator<Item = (Arc<str>, Source)>,
    ) -> Result<Projection, ProjectError>
    where
        M: Module + Facet<'static>,
    {
        let mut projection = Self::nodes_of(name, module)?;
        projection.adopt_boundary::<M>()?;
        for edge in edges {
            projection.graph.connect(edge.from, edge.to)?;
        }
        for (name, source) in outputs {
            projection.graph.set_output(&name, source)?;
        }
        Ok(projection)
    }

    /// The predictors as nodes that nothing connects yet, and their state.
    fn nodes_of<M: Module + Facet<'static>>(
        name: &str,
        module: &mut M,
    ) -> Result<Projection, ProjectError> {
        let mut graph = Self::new(name, Arc::new(TypeDefs::default()))?;
        let (mut state, mut nodes) = (GraphState::default(), Vec::new());
        let found = named_predictors_mut(module).map_err(|e| ReflectError::new(e.to_string()))?;
        refuse_tools(&found)?;
        for (path, predictor) in found {
            let node_name = free_name(&path, &nodes);
            predictor.set_path(path.as_str().into());
            let config = Payload::map(Map::new());
            let base = predictor.schema().beside(graph.defs());
            let settings = NodeSettings::default();
            let node = Node::create(&StoredEnv, "predict", base, config, settings, &At::Root)?;
            graph.add_node(&node_name, node)?;
            if !predictor.state().is_default() {
                state.0.insert(node_name.clone(), predictor.state().clone());
            }
            nodes.push((node_name, path));
        }
        Ok(Projection { graph, state, nodes, open: Vec::new() })
    }
}

impl Projection {
    /// Declares the inputs of the module as those of the graph, with all types of its inputs and
    /// outputs.
    fn adopt_boundary<M: Module>(&mut self) -> Result<Arc<SignatureSchema>, ProjectError> {
        let boundary = Arc::new(from_types::<M::Input, M::Output>("")?);
        let boundary = boundary.beside(self.graph.defs());
        self.graph.adopt(&boundary.defs);
        for field in &boundary.inputs {
            let input = FieldSchema {
                description: field.description.clone(),
                default: field.default.clone(),
                ..FieldSchema::of(field.name.clone(), field.ty.clone())
            };
            self.graph.set_input(input)?;
        }
        Ok(boundary)
    }
}

fn refuse_tools(found: &[(String, &mut dyn DynPredictor)]) -> Result<(), ProjectError> {
    let with_tools = found.iter().filter(|(_, predictor)| !predictor.tools().is_empty());
    let with_tools: Vec<_> = with_tools
        .map(|(path, predictor)| ToolsOfPredictor {
            predictor: path.clone(),
            tools: predictor.tools().to_vec(),
        })
        .collect();
    if with_tools.is_empty() { Ok(()) } else { Err(ProjectError::Tools(with_tools)) }
}

/// A path as a node's name.
fn free_name(path: &str, taken: &[(Arc<str>, String)]) -> Arc<str> {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let safe = match joined.as_str() {
        "" => "predictor".to_owned(),
        INPUT => format!("{INPUT}_1"),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        name => name.chars().take(58).collect(),
    };
    let numbered = (2..).map(|number| format!("{safe}_{number}"));
    let is_free = |name: &String| !taken.iter().any(|(known, _)| **known == **name);
    std::iter::once(safe.clone()).chain(numbered).find(is_free).unwrap_or(safe).into()
}
