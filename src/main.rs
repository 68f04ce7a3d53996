//! The `dsrs-server` program. Everything is in the library.

use std::process::ExitCode;

/// A run is many small, short-lived allocations: this allocator takes a sixth off its CPU time
/// (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    dsrs_server::cli::run()
}
