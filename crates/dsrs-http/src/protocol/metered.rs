//! Bounded reading of a spooled body: a reader reads no further than it is allowed to, so that input
//! without an end is never collected in memory. Knows nothing of formats.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};

use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;

/// How much may still be read, and whether the file could not be read.
pub(crate) struct ReadLimit {
    left: Cell<usize>,
    failed: Cell<bool>,
}

impl ReadLimit {
    /// Allows this many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: Cell::new(bytes), failed: Cell::new(false) }
    }

    /// Allows this many bytes from here on.
    pub(crate) fn allow(&self, bytes: usize) {
        self.left.set(bytes);
    }

    /// Whether all allowed bytes have been read.
    pub(crate) fn is_used_up(&self) -> bool {
        self.left.get() == 0
    }

    /// Whether the file could not be read.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }
}

/// A reader with a limit.
pub(crate) struct Metered<'a, R> {
    pub(crate) reader: R,
    pub(crate) limit: &'a ReadLimit,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.limit.is_used_up() {
            return Err(io::Error::other("longer than allowed"));
        }
        let most = buffer.len().min(self.limit.left.get());
        let read = self.reader.read(buffer.get_mut(..most).unwrap_or_default());
        let read = read.inspect_err(|_| self.limit.failed.set(true))?;
        self.limit.left.update(|left| left - read);
        Ok(read)
    }
}

/// The problem of a spooled body that cannot be read.
pub(crate) fn unreadable(error: &dyn fmt::Display) -> ApiProblem {
    tracing::error!(%error, "a spooled body cannot be read");
    ApiProblem::new(ProblemCode::Internal, "an internal error occurred; the log has details")
}
