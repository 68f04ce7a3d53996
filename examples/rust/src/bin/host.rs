//! The server with the handbook in it: `cargo run -p dsrs-examples --bin host -- serve`. Then a
//! graph may say `{"nodes": {"ask": {"strategy": "handbook"}}}`, beside any other strategy, and its
//! two predictors are tuned like those of posted nodes.

use std::process::ExitCode;

// Linked for the strategy that it registers.
use dsrs_examples as _;

fn main() -> ExitCode {
    dsrs_server::cli::run()
}
