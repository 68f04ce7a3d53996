//! Graphs: the list, one graph, its editor.

pub(super) mod list;
