//! The `dsrs-server` program. Everything is in the library.

use std::process::ExitCode;

/// A run is many small, short-lived allocations, on several threads; what was compared is in
/// docs/performance.md.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    dsrs_server::cli::run()
}
