//! Strategies as modules of the registry and as nodes of graphs, with a scripted LM.

mod best_of_n;
mod call;
mod chain_of_thought;
mod decide;
mod majority;
mod multi_chain_comparison;
mod program_of_thought;
mod react;
mod react_caller;
mod react_turns;
mod refine;
mod refine_within;
mod rlm;
mod search;
mod streaming;
pub(crate) mod support;
