//! `StrategyFactory`: how a strategy is described and built; `BuildEnv`: what a build may use. Knows no
//! strategy by name.

use std::sync::Arc;

use super::config_ref::{self, ConfigRef, Reference};
use super::{DynModule, GraphUnavailable, HttpTool, OpFactory, StoredGraphRef};
use crate::predict::{SearchRanking, Tool};
use crate::problem::{At, Problems};
use crate::sandbox::Sandbox;
use crate::signature::SignatureSchema;
use crate::value::Payload;

/// What a build of a module may use: models, stored graphs, tools, a sandbox. The program that hosts
/// the engine implements it.
///
/// ```
/// use dsrs::strategy::BuildEnv;
///
/// /// A server with one model.
/// struct Small;
///
/// impl BuildEnv for Small {
///     fn knows_model(&self, alias: &str) -> bool {
///         alias == "default"
///     }
/// }
/// ```
pub trait BuildEnv: Send + Sync {
    /// Whether a model alias is configured.
    fn knows_model(&self, alias: &str) -> bool;

    /// Whether the model of an alias computes embeddings. By default any configured alias may.
    fn knows_embedder(&self, alias: &str) -> bool {
        self.knows_model(alias)
    }

    /// Whether the definition was checked when it was written. It always loads then: what it refers to
    /// and no longer exists fails in execution.
    fn is_stored(&self) -> bool {
        false
    }

    /// The version and the state that a reference to a stored graph means now.
    ///
    /// # Errors
    /// Why there is none, in a sentence that says what to do.
    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        let graph = &graph.graph;
        Err(GraphUnavailable::new(format!("there is no graph `{graph}`: this program stores none")))
    }

    /// The inputs and outputs of a stored graph.
    ///
    /// # Errors
    /// As [`Self::pin_graph`].
    fn graph_schema(
        &self,
        graph: &StoredGraphRef,
    ) -> Result<Arc<SignatureSchema>, GraphUnavailable> {
        self.graph(graph).map(|module| module.schema().clone())
    }

    /// A stored graph as a module, tuned by its state.
    ///
    /// # Errors
    /// As [`Self::pin_graph`].
    fn graph(&self, graph: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        self.pin_graph(graph)?;
        Err(GraphUnavailable::new(format!("the graph `{}` cannot be used here", graph.graph)))
    }

    /// The sandbox that runs programs written by a model, if there is one.
    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        None
    }

    /// An HTTP request as a tool: it sends what [`HttpTool::call`] makes of the arguments and returns
    /// the answer.
    ///
    /// # Errors
    /// Why it is not available: a host that is not allowed, a secret that does not exist.
    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        Err(format!(
            "the tool `{}` is not available: this program makes no HTTP requests",
            tool.spec.name
        ))
    }

    /// The tools of an MCP server, by its name in the configuration.
    ///
    /// # Errors
    /// Why there are none.
    fn mcp_tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        Err(format!("there is no MCP server `{server}`: this program has none"))
    }

    /// Whether there is an index of passages with this name, which can rank them so.
    ///
    /// # Errors
    /// Why there is none.
    fn check_index(&self, name: &str, _ranking: Option<SearchRanking>) -> Result<(), String> {
        Err(format!("there is no index `{name}`: this program has none"))
    }
}

/// An environment without graphs, tools or a sandbox, for definitions that were checked when they were
/// written: they always load, and what is missing fails in execution.
#[derive(Clone, Copy, Debug)]
pub struct StoredEnv;

impl BuildEnv for StoredEnv {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        true
    }
}

/// Another environment, for a definition that was checked when it was written.
#[derive(Clone, Copy)]
pub(crate) struct LoadingEnv<'e>(pub(crate) &'e dyn BuildEnv);

impl BuildEnv for LoadingEnv<'_> {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        true
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        self.0.pin_graph(graph)
    }

    fn graph_schema(
        &self,
        graph: &StoredGraphRef,
    ) -> Result<Arc<SignatureSchema>, GraphUnavailable> {
        self.0.graph_schema(graph)
    }

    fn graph(&self, graph: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        self.0.graph(graph)
    }

    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.0.sandbox()
    }

    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        self.0.http_tool(tool)
    }

    fn mcp_tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.0.mcp_tools(server)
    }

    fn check_index(&self, name: &str, ranking: Option<SearchRanking>) -> Result<(), String> {
        self.0.check_index(name, ranking)
    }
}

/// A strategy of the registry. For a typed module, [`register_module!`](crate::register_module) makes
/// the factory.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::problem::{At, Problems};
/// use dsrs::signature::SignatureSchema;
/// use dsrs::strategy::{BuildEnv, DynModule, StrategyFactory, StrategyRegistration, registry};
/// use dsrs::value::Payload;
///
/// /// `chain_of_thought` under a shorter name.
/// struct Think;
///
/// impl StrategyFactory for Think {
///     fn name(&self) -> &'static str {
///         "think"
///     }
///
///     fn description(&self) -> &'static str {
///         "Reasons before it answers."
///     }
///
///     fn config_schema(&self) -> Payload {
///         Payload::from_json(r#"{"type": "object", "additionalProperties": false}"#).unwrap()
///     }
///
///     fn predictors(&self) -> &[&'static str] {
///         &["predict"]
///     }
///
///     fn create(
///         &self,
///         env: &dyn BuildEnv,
///         base: &Arc<SignatureSchema>,
///         _config: &Payload,
///         at: &At<'_>,
///     ) -> Result<Box<dyn DynModule>, Problems> {
///         registry::create(env, "chain_of_thought", base, None, at)
///     }
/// }
///
/// dsrs::inventory::submit! { StrategyRegistration(&Think) }
///
/// assert_eq!(registry::get("think").unwrap().name(), "think");
/// ```
pub trait StrategyFactory: Send + Sync {
    /// The name that graphs use.
    fn name(&self) -> &'static str;

    /// What it does and when to use it, in a sentence or two.
    fn description(&self) -> &'static str;

    /// The JSON Schema of its config. Unknown members are refused by it.
    fn config_schema(&self) -> Payload;

    /// Whether running it calls an LM.
    fn calls_lm(&self) -> bool {
        true
    }

    /// The paths of its predictors with a default config.
    fn predictors(&self) -> &[&'static str];

    /// The op, for a strategy without a posted signature: its types follow from its config and from
    /// what is connected.
    fn op(&self) -> Option<&'static dyn OpFactory> {
        None
    }

    /// The signature of a strategy that brings its own with this config, written with JSON Schemas, or
    /// why it cannot be determined. Its nodes name no signature. `at` is the place of the node.
    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        let _ = (env, config, at);
        None
    }

    /// The places of its config that refer to stored graphs and to other strategies. A build can
    /// only use what is named there: it is loaded before anything is built, and pinned to versions
    /// when a definition is written.
    fn config_refs(&self) -> &'static [ConfigRef] {
        &[]
    }

    /// What a config refers to, without what the strategies within it refer to
    /// ([`stored_graphs`](super::stored_graphs) follows those). The config may not have been checked.
    fn references<'c>(&self, config: &'c Payload) -> Vec<Reference<'c>> {
        config_ref::references(self.config_refs(), config)
    }

    /// Builds a module for a base signature. `config` is an object that the config schema accepts;
    /// `at` is the place of the node, so that a problem may point at its `config` or `signature`.
    ///
    /// # Errors
    /// Everything that does not fit.
    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems>;
}
