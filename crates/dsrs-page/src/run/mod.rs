//! Runs: the table, one run as a waterfall, two side by side, and what a person does with a run.

pub(super) mod actions;
pub(super) mod compare;
mod feedback;
mod filter;
pub(super) mod give_feedback;
mod labels;
pub(super) mod list;
mod provenance;
mod signal;
mod signal_form;
mod span;
mod trace;
pub(super) mod view;
mod waterfall;
