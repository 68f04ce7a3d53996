//! The `dsrs-server` program. Everything is in the library.

use std::process::ExitCode;

/// A run is many small, short-lived allocations; what is known of the gain is in
/// docs/performance.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    dsrs_server::cli::run()
}
