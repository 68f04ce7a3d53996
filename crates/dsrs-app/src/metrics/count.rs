//! Counts that every run adds to: threads have cells of their own, so that processors do not contend for one cache
//! line. Knows no names.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const CELLS: usize = 8;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) % CELLS);
}

/// A cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CountCell(AtomicU64);

/// A sum. One thread may subtract what another has added.
#[derive(Debug, Default)]
pub(super) struct Count([CountCell; CELLS]);

impl Count {
    pub(super) fn add(&self, number: u64) {
        if let Some(CountCell(own)) = self.0.get(OWN.get()) {
            own.fetch_add(number, Ordering::Relaxed);
        }
    }

    pub(super) fn subtract(&self, number: u64) {
        self.add(number.wrapping_neg());
    }

    /// The sum of a count that is also subtracted from. While cells are read, one may have a subtraction whose
    /// addition was read too early: never below zero.
    pub(super) fn level(&self) -> i64 {
        self.sum().cast_signed().max(0)
    }

    pub(super) fn sum(&self) -> u64 {
        let cells = self.0.iter().map(|CountCell(cell)| cell.load(Ordering::Relaxed));
        cells.fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_add_and_subtract_is_one_sum() {
        let count = Count::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..1000).for_each(|_| count.add(3)));
            }
        });
        count.subtract(1);
        assert_eq!((count.sum(), count.level()), (59_999, 59_999));
        count.subtract(60_000);
        assert_eq!(count.level(), 0, "not 2 to the power of 64");
    }
}
