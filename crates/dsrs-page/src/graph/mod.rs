//! Graphs: the list, one graph and its versions, its editor.

pub(crate) mod answers;
mod definition;
pub(super) mod drawing;
pub(super) mod editor;
pub(super) mod judgement;
pub(super) mod judgement_form;
mod judgement_members;
pub(super) mod list;
mod nested;
mod node;
mod prompt;
mod selection;
pub(crate) mod tabs;
pub(super) mod versions;
pub(super) mod view;
