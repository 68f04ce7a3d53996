//! `/usage`: what the workspace has done and spent, over time and by what a person chooses; of one graph also where the
//! time and the money go, node by node.

mod form;
mod nodes;
pub(super) mod view;
