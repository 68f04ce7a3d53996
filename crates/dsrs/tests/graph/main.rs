//! Graphs from the outside: what documents become, what they are refused for, how programs run.

mod edits;
mod execution;
mod refusals;
mod resolution;
mod state;
mod support;
