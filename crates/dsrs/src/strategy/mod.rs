//! Strategies: ways to prompt for the outputs of a signature, by name. A factory builds a module from a
//! base signature and a config; the registry collects factories at link time. Knows predictors and
//! nothing of graphs.

mod advice;
mod attempt;
mod r#await;
mod best_of_n;
mod call;
mod chain_of_thought;
mod code_act;
mod config;
mod config_ref;
mod decide;
mod factory;
mod graph;
mod graph_ref;
mod hosted;
mod inner_module;
pub(crate) mod judging;
mod majority;
mod module;
mod multi_chain_comparison;
mod normalize;
mod op;
mod ops;
mod parallel;
mod predict;
mod program_of_thought;
mod programs;
mod react;
mod references;
mod refine;
pub mod registry;
mod reward;
mod rlm;
mod sampling;
mod search;
mod sources;
mod steps;
mod submission;
mod tools;
mod typed_factory;
mod wrapper;

pub use advice::OfferAdvice;
pub use best_of_n::BestOfN;
pub use chain_of_thought::{ChainOfThought, Reasoning, WithReasoning};
pub use config_ref::{ConfigRef, Reference};
pub(crate) use factory::LoadingEnv;
pub use factory::{BuildEnv, StoredEnv, StrategyFactory};
pub(crate) use graph_ref::GraphPin;
pub use graph_ref::{GraphUnavailable, StoredGraphRef};
pub use hosted::HostedModule;
pub use module::{Compute, DynModule, InnerAsserts};
pub use multi_chain_comparison::{MultiChainComparison, Rationale, WithRationale};
pub use op::{ComputeModule, FlowFn, InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
pub use ops::case_path;
pub use program_of_thought::{CodeGenerate, CodeRegenerate, GenerateOutput, ProgramOfThought};
pub use react::{Action, Extract, FurtherCall, ReAct, ReActBuilder, Trajectory, WithTrajectory};
pub use references::{pinned, stored_graphs};
pub use refine::Refine;
pub use registry::StrategyRegistration;
pub use sources::{Flow, RecordedCall, Sources};
pub use tools::{
    BuiltinTool, BuiltinToolResult, HeaderText, HttpCall, HttpMethod, HttpTool, UrlTemplate,
    builtin_tools,
};
pub use typed_factory::ModuleFactory;
