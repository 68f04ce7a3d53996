//! Graphs: the list, one graph, its editor.

pub(super) mod drawing;
pub(super) mod editor;
pub(super) mod list;
