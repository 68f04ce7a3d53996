//! What the tests of the service share: their own Postgres, models and collectors that answer as a test says, callers,
//! and the server as a process. Knows nothing of the crates above the store.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answer;
mod cluster;
mod collector;
mod cut_wire;
mod database;
mod database_error;
mod database_proxy;
mod dice;
mod documented;
mod engine;
mod fake_lm;
mod graph;
pub mod hostile;
mod hostile_values;
mod mcp_example;
mod patience;
mod ports;
mod program;
mod query_wire;
mod raw;
mod receiver;
mod remote;
mod run_age;
mod server;
pub mod source;
mod tls;
mod wire;

use std::path::PathBuf;

pub use answer::Answer;
pub use cluster::{TestCluster, cluster, pg_options, scratch_dir};
pub use collector::{Collector, CollectorAnswer, SeenSpan};
pub use cut_wire::{Cut, CutWire};
pub use database::{drop_database, empty_database, test_database};
pub use database_error::database_error;
pub use database_proxy::DatabaseProxy;
pub use dice::Dice;
pub use documented::check as check_documented;
pub use engine::{engine_settings, restate_node, restate_settings};
pub use fake_lm::{Asked, Does, FakeLm, Gate, sections};
pub use graph::{one_node, support_reply};
pub use mcp_example::mcp_example;
pub use patience::{PATIENCE, found, found_blocking, holds, within};
pub use ports::fixed_port;
pub use program::{program, repository, target};
pub use query_wire::QueryWire;
pub use raw::raw_request;
pub use receiver::{Received, Receiver, Receives};
pub use remote::{Event, Remote};
pub use run_age::{age_run, divide_runs};
pub use server::{Refused, Server, ServerSetup};
pub use tls::{AUTHORITY, behind_tls};
pub use wire::{After, End, Wire};

/// A directory of a test's own, under the build's.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("test-").tempdir_in(scratch_dir()).unwrap()
}

/// A client for talking to a server of ours. The engine builds reqwest without a cryptography of
/// its own, so that one has to be named even though nothing here is encrypted.
pub fn http_client() -> reqwest::Client {
    // A second test finds it named already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Tests reach servers of this machine without TLS: the certificates of the machine are not read.
    // A test that asks for compression reads it itself.
    reqwest::Client::builder().no_gzip().tls_certs_only([]).build().unwrap()
}

/// Whether a process of this id runs; one that has ended but was not waited for does not.
pub fn is_running(pid: u32) -> bool {
    let mut ps = std::process::Command::new("ps");
    let state = ps.args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap().stdout;
    !state.is_empty() && !state.starts_with(b"Z")
}

/// The process id that the private Postgres in a server's data directory wrote down.
pub fn postgres_pid(data_dir: PathBuf) -> Option<u32> {
    let text = std::fs::read_to_string(data_dir.join("postgres/data/postmaster.pid")).ok()?;
    text.lines().next()?.parse().ok()
}
