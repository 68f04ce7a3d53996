//! The memory of request bodies: a bound over all bodies that are in memory at one time. May not know
//! what the bodies contain. Spooled uploads have a bound of their own (`spool`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::app::AppError;

/// The memory of all request bodies.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    limit: usize,
    used: AtomicUsize,
}

/// The right to have a part of a body in memory. Dropping it frees the memory.
#[derive(Debug)]
pub(crate) struct BodyPermit {
    size: usize,
    memory: Arc<BodyMemory>,
}

impl BodyMemory {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// A permit for a body that has not begun. `expected` is its length, if it is known: a body that
    /// does not fit now is refused before it is read. Only the bytes that arrive are counted.
    ///
    /// # Errors
    /// If the body does not fit.
    pub(crate) fn permit(self: &Arc<Self>, expected: usize) -> Result<BodyPermit, AppError> {
        if expected > self.limit.saturating_sub(self.used()) {
            return Err(self.full());
        }
        Ok(BodyPermit { size: 0, memory: self.clone() })
    }

    /// The bytes of all bodies.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> Result<(), AppError> {
        let add = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        let reserved = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        reserved.map(drop).map_err(|_| self.full())
    }

    fn full(&self) -> AppError {
        let limit = self.limit;
        tracing::debug!(limit, "a request is refused: `limits.body_memory` is used up");
        AppError::Unavailable(format!(
            "the bodies of requests in progress use the memory for bodies, {limit} bytes \
             (`limits.body_memory`); try again later"
        ))
    }
}

impl BodyPermit {
    /// Adds bytes that have arrived.
    ///
    /// # Errors
    /// If they do not fit.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), AppError> {
        self.memory.reserve(bytes)?;
        self.size += bytes;
        Ok(())
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.size, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_a_bound_and_free_it_when_they_end() {
        let memory = BodyMemory::new(10);
        let (mut first, mut second) = (memory.permit(7).unwrap(), memory.permit(10).unwrap());
        first.grow(7).unwrap();
        assert!(second.grow(4).unwrap_err().to_string().contains("`limits.body_memory`"));
        second.grow(3).unwrap();
        assert!(memory.permit(1).is_err());
        drop(first);
        assert_eq!(memory.used(), 3);
        memory.permit(7).unwrap();
    }
}
