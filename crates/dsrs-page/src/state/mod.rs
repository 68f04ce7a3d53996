//! The state of a graph: its history, differences, activation and import, and the editor of one predictor.

pub(super) mod activate;
pub(super) mod diff;
mod draft;
mod draft_form;
mod heading;
pub(super) mod history;
pub(super) mod import;
pub(super) mod predictor;
mod rendered;
mod selected;
mod timeline;
