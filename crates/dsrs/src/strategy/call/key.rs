//! What identifies a call: its arguments, and in a run also the run and the node. Does not know who compares keys.

use std::fmt::Write;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::predict::{Ctx, RecordedCallKey};
use crate::value::Payload;

/// A hash of arguments, whatever their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallKey([u8; 32]);

/// A hash of a tool, as the config describes it.
pub(super) fn hash_of_tool(tool: &Payload) -> [u8; 32] {
    CallKey::of(tool).0
}

impl CallKey {
    /// The key of arguments.
    pub(super) fn of(args: &Payload) -> Self {
        // A tree of `serde_json` sorts members.
        let tree = serde_json::to_value(args).unwrap_or_default();
        Self(Sha256::digest(tree.to_string()).into())
    }

    /// The key of the call in all runs.
    pub(super) fn of_tool(self, tool: &[u8; 32]) -> RecordedCallKey {
        Sha256::new_with_prefix(tool).chain_update(self.0).finalize().into()
    }

    /// The key of the call in its run: the same when the run continues elsewhere, another one in another attempt, round,
    /// element or part of the definition. `None` if the run has no id.
    pub(super) fn in_run(self, ctx: &Ctx) -> Option<Arc<str>> {
        let mut hash = Sha256::new_with_prefix(ctx.run.id?);
        hash.update(ctx.node.node.as_bytes());
        hash.update(ctx.place.to_bytes());
        hash.update(ctx.seed_offset.to_le_bytes());
        hash.update(self.0);
        let mut text = String::with_capacity(64);
        for byte in hash.finalize() {
            // Writing to a text cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Some(text.into())
    }
}
