//! Results of calls that a run may reuse instead of making them again. Does not know where they are recorded.

use futures_util::future::BoxFuture;

use crate::value::Payload;

/// What identifies a call in every run: a hash of its tool and its arguments.
pub type RecordedCallKey = [u8; 32];

/// The results of calls that earlier runs recorded. It is a help and never a condition: what cannot be read is called, and what
/// cannot be recorded is called again.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use dsrs::BoxFuture;
/// use dsrs::predict::{CallRecord, RecordedCallKey};
/// use dsrs::value::Payload;
///
/// /// Results in memory.
/// #[derive(Default)]
/// struct Memory(Mutex<HashMap<RecordedCallKey, Payload>>);
///
/// impl CallRecord for Memory {
///     fn find(&self, key: RecordedCallKey) -> BoxFuture<'_, Option<Payload>> {
///         Box::pin(async move { self.0.lock().ok()?.get(&key).cloned() })
///     }
///
///     fn record<'a>(&'a self, key: RecordedCallKey, result: &'a Payload) -> BoxFuture<'a, ()> {
///         Box::pin(async move {
///             if let Ok(mut results) = self.0.lock() {
///                 results.insert(key, result.clone());
///             }
///         })
///     }
/// }
/// ```
pub trait CallRecord: Send + Sync {
    /// The recorded result of a call.
    fn find(&self, key: RecordedCallKey) -> BoxFuture<'_, Option<Payload>>;

    /// Records the result of a call, unless there is one.
    fn record<'a>(&'a self, key: RecordedCallKey, result: &'a Payload) -> BoxFuture<'a, ()>;
}
