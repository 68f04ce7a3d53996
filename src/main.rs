//! The `dsrs-server` program. Everything is in the library.

use std::process::ExitCode;

/// A run makes many small, short-lived allocations on several threads; docs/performance-history.md
/// compares allocators.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    dsrs_server::cli::run()
}
