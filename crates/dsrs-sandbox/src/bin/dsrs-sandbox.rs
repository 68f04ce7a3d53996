//! The child alone: one request on stdin, one answer on stdout.

use std::process::ExitCode;

fn main() -> ExitCode {
    dsrs_sandbox::child_main()
}
