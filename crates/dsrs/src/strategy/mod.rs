//! Strategies: ways of prompting, by name. A factory makes a module from a base signature and a
//! config; the registry finds factories at link time. Knows predictors and nothing of graphs.

mod advice;
mod attempt;
mod r#await;
mod best_of_n;
mod chain_of_thought;
mod config;
mod factory;
mod graph;
mod graph_pin;
mod hosted;
pub(crate) mod judging;
mod majority;
mod module;
mod multi_chain_comparison;
mod normal;
mod op;
mod ops;
mod parallel;
mod pins;
mod predict;
mod program_of_thought;
mod react;
mod refine;
pub mod registry;
mod reward;
mod sampling;
mod search;
mod sources;
mod tools;
mod typed_factory;
mod wrapped;

pub use advice::OfferAdvice;
pub use best_of_n::{BestOfN, RewardFn};
pub use chain_of_thought::{ChainOfThought, Reasoning, WithReasoning};
pub(crate) use factory::AsStored;
pub use factory::{BuildEnv, Stored, StrategyFactory};
pub use graph_pin::{GraphPin, NoGraph};
pub use hosted::HostedModule;
pub use module::{Compute, DynModule};
pub use multi_chain_comparison::{MultiChainComparison, Rationale, WithRationale};
pub use op::{Computed, Given, Op, OpFactory, OpInput, OpStrategy, OpTypes, Tell};
pub use program_of_thought::{CodeGenerate, CodeRegenerate, GenerateOutput, ProgramOfThought};
pub use react::{Action, Extract, FurtherCall, ReAct, ReActBuilder, Trajectory, WithTrajectory};
pub use refine::Refine;
pub use registry::StrategyRegistration;
pub use sources::{Flow, RecordedCall, Sources};
pub use tools::{
    BuiltinTool, HeaderText, HttpCall, HttpMethod, HttpTool, MadeTool, UrlTemplate, builtin_tools,
};
pub use typed_factory::ModuleFactory;
