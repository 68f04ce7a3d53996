//! The calls in progress, by the names that notifications use for them. A call is here as long as its run, so that the
//! limits of runs bound them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::protocol::caller::Caller;

/// The name of a call: only its own client knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallName {
    workspace: Uuid,
    actor: Arc<str>,
    session: Uuid,
    /// The id of the request, as JSON.
    request: String,
}

impl CallName {
    pub(super) fn new(caller: &Caller, session: Uuid, request: String) -> Option<Self> {
        let scope = caller.scope();
        Some(Self { workspace: scope.workspace, actor: scope.actor, session, request })
    }
}

/// The calls in progress.
#[derive(Debug, Default)]
pub(crate) struct McpCalls(Mutex<HashMap<CallName, CancellationToken>>);

/// A call in progress, until dropped.
pub(super) struct CallGuard {
    calls: Arc<McpCalls>,
    name: CallName,
}

impl McpCalls {
    /// Adds a call. `None` if a client uses a name twice: the second call cannot be cancelled by it.
    pub(super) fn begin(
        self: &Arc<Self>,
        name: CallName,
        cancelled: CancellationToken,
    ) -> Option<CallGuard> {
        let mut calls = self.lock();
        if calls.contains_key(&name) {
            return None;
        }
        calls.insert(name.clone(), cancelled);
        Some(CallGuard { calls: self.clone(), name })
    }

    /// Cancels a call, if it is in progress.
    pub(super) fn cancel(&self, name: &CallName) {
        if let Some(cancelled) = self.lock().get(name) {
            cancelled.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallName, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.name);
    }
}
