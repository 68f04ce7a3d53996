//! Where the text of an answer goes while it arrives. Knows no LM.

use std::fmt;

/// Receives the deltas of an answer, or is closed: then no listener follows the answer, and nothing
/// is streamed.
///
/// ```
/// use dsrs::lm::DeltaSink;
///
/// let mut text = String::new();
/// let mut append = |delta: &str| text.push_str(delta);
/// let mut deltas = DeltaSink::to(&mut append);
/// deltas.send("Par");
/// deltas.send("is");
/// assert!(deltas.is_open() && !DeltaSink::closed().is_open());
/// assert_eq!(text, "Paris");
/// ```
pub struct DeltaSink<'s>(Option<&'s mut (dyn FnMut(&str) + Send)>);

impl<'s> DeltaSink<'s> {
    /// A sink that drops every delta.
    #[must_use]
    pub const fn closed() -> Self {
        Self(None)
    }

    /// A sink that passes every delta on.
    #[must_use]
    pub fn to(listener: &'s mut (dyn FnMut(&str) + Send)) -> Self {
        Self(Some(listener))
    }

    /// Whether deltas are received.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Passes on the next delta.
    pub fn send(&mut self, delta: &str) {
        if let Some(listener) = &mut self.0 {
            listener(delta);
        }
    }
}

impl fmt::Debug for DeltaSink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaSink").field("is_open", &self.is_open()).finish()
    }
}
