//! Strategies: ways of prompting, by name. A factory makes a module from a base signature and a
//! config; the registry finds factories at link time. Knows predictors and nothing of graphs.

mod chain_of_thought;
mod factory;
mod module;
mod predict;
pub mod registry;

pub use factory::{BuildEnv, Stored, StrategyFactory};
pub use module::DynModule;
