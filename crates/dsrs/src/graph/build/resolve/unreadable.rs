//! What edges and inputs that are wrong may have meant: what could follow from them is not reported
//! as a second problem.

use std::collections::HashSet;
use std::sync::Arc;

use crate::graph::edge::Target;

/// What edges and inputs that are wrong may have meant to feed, or to read.
#[derive(Default)]
pub(super) struct Unreadable {
    /// Any input at all.
    pub(super) inputs: bool,
    /// Some input of these nodes.
    pub(super) nodes: HashSet<Arc<str>>,
    /// An input of such a name.
    pub(super) fields: HashSet<Arc<str>>,
    /// The outputs of any node.
    pub(super) outputs: bool,
}

impl Unreadable {
    /// Whether something unreadable may have meant to feed this input.
    pub(super) fn may_feed(&self, target: &Target) -> bool {
        self.inputs || self.nodes.contains(&target.node) || self.fields.contains(&target.field)
    }
}
