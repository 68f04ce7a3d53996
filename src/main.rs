//! The `dsrs-server` program. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsrs_server::cli::run()
}
