//! The example `mcp_server`, a server of the official SDK that tests start as a process.

use std::path::PathBuf;
use std::process::Command;

/// The built example. A run of all tests has built it already; it is built here for a run of one binary alone.
pub async fn mcp_example() -> PathBuf {
    tokio::task::spawn_blocking(built).await.unwrap()
}

fn built() -> PathBuf {
    let binary = std::env::current_exe().unwrap();
    // `TARGET/debug/deps/tools-…`
    let target = binary.ancestors().nth(3).unwrap();
    let example = target.join("debug/examples/mcp_server");
    if example.exists() {
        return example;
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--example", "mcp_server"]);
    build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().unwrap().success(), "the example does not build");
    example
}
