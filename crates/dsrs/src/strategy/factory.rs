//! `StrategyFactory`: how a strategy is described and built, and what a build may ask of its
//! surroundings.

use std::sync::Arc;

use super::{DynModule, GraphPin, HttpTool, NoGraph, OpFactory};
use crate::predict::Tool;
use crate::problem::{At, Problems};
use crate::sandbox::Sandbox;
use crate::signature::SignatureSchema;
use crate::value::{Map, Payload};

/// What building a module may ask of the server it is built in. Declared here, implemented above.
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

    /// Whether a model alias is configured that makes vectors of texts. Where nobody says more, any
    /// that is configured may.
    fn knows_embedder(&self, alias: &str) -> bool {
        self.knows_model(alias)
    }

    /// Whether what is built was checked when it was written: it always loads then, and what is gone
    /// since fails in execution.
    fn is_stored(&self) -> bool {
        false
    }

    /// Which version of a stored graph, and which state, a reference means now.
    ///
    /// # Errors
    /// Why there is none, in a sentence that names the way out.
    fn pin_graph(&self, graph: &GraphPin) -> Result<GraphPin, NoGraph> {
        let graph = &graph.graph;
        Err(NoGraph::new(format!("there is no graph `{graph}` here: this program stores none")))
    }

    /// What a stored graph takes and gives.
    ///
    /// # Errors
    /// As [`Self::pin_graph`].
    fn graph_schema(&self, graph: &GraphPin) -> Result<Arc<SignatureSchema>, NoGraph> {
        self.graph(graph).map(|module| module.schema().clone())
    }

    /// A stored graph as a module, tuned by its state.
    ///
    /// # Errors
    /// As [`Self::pin_graph`].
    fn graph(&self, graph: &GraphPin) -> Result<Box<dyn DynModule>, NoGraph> {
        self.pin_graph(graph)?;
        Err(NoGraph::new(format!("the graph `{}` cannot be used here", graph.graph)))
    }

    /// Where programs of a model may run, if anywhere.
    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        None
    }

    /// An HTTP request as a tool: sends what [`HttpTool::call`] makes of the arguments and gives the
    /// answer back.
    ///
    /// # Errors
    /// Why it cannot be had: a host that is not allowed, a secret that is not there.
    fn http_tool(&self, tool: &HttpTool) -> Result<Arc<dyn Tool>, String> {
        Err(format!(
            "the tool `{}` cannot be had: this program makes no HTTP calls",
            tool.spec.name
        ))
    }

    /// The tools of an MCP server, by its name in the configuration.
    ///
    /// # Errors
    /// Why there are none.
    fn mcp_tools(&self, server: &str) -> Result<Vec<Arc<dyn Tool>>, String> {
        Err(format!("there is no MCP server `{server}` here: this program knows none"))
    }
}

/// The server of definitions that were checked when they were written: they always load, and what
/// is gone since fails in execution.
#[derive(Clone, Copy, Debug)]
pub struct Stored;

impl BuildEnv for Stored {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        true
    }
}

/// The surroundings of a definition that was checked when it was written.
#[derive(Clone, Copy)]
pub(crate) struct AsStored<'e>(pub(crate) &'e dyn BuildEnv);

impl BuildEnv for AsStored<'_> {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        true
    }

    fn pin_graph(&self, graph: &GraphPin) -> Result<GraphPin, NoGraph> {
        self.0.pin_graph(graph)
    }

    fn graph_schema(&self, graph: &GraphPin) -> Result<Arc<SignatureSchema>, NoGraph> {
        self.0.graph_schema(graph)
    }

    fn graph(&self, graph: &GraphPin) -> Result<Box<dyn DynModule>, NoGraph> {
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
}

/// A strategy of the registry. One that is a typed module needs none of its own:
/// [`register_module!`](crate::register_module) makes it.
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
    /// The name under which graphs use it.
    fn name(&self) -> &'static str;

    /// What it does and when to use it, in a sentence or two.
    fn description(&self) -> &'static str;

    /// The JSON Schema of its config. Unknown members are refused by it.
    fn config_schema(&self) -> Payload;

    /// Whether running it calls an LM.
    fn calls_lm(&self) -> bool {
        true
    }

    /// The paths of the predictors that it makes with a default config.
    fn predictors(&self) -> &[&'static str];

    /// What it is as an op: a strategy without a posted signature, whose types follow from its config
    /// and from what is connected.
    fn op(&self) -> Option<&'static dyn OpFactory> {
        None
    }

    /// The signature of a strategy that brings its own with this config, in the spelling of JSON
    /// Schemas, or why it has none that can be told; a node of it names none. `at` is the place of
    /// the node.
    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        let _ = (env, config, at);
        None
    }

    /// The config with everything in it that is not said filled in, such as the versions of the
    /// stored graphs that it names; `None` when it is complete. This is what is written down.
    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        let _ = (env, config);
        None
    }

    /// Makes a module for a base signature. `config` is an object that the config schema accepts;
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

/// The config schema of a strategy that has nothing to set.
pub(super) fn no_config() -> Payload {
    let members = [
        ("type", Payload::from("object")),
        ("properties", Payload::map(Map::new())),
        ("additionalProperties", Payload::Bool(false)),
    ];
    Payload::map(members.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
}
