//! Optimizations: the list, the form that starts one, one optimization with its candidates, one candidate.

pub(super) mod activate;
pub(super) mod candidate;
mod changes;
mod charts;
pub(super) mod list;
mod outline;
pub(super) mod request;
pub(super) mod start;
pub(super) mod view;
