//! The server around the `dsrs` engine: settings, database, HTTP. Rooms use only rooms before
//! them: config, telemetry, tool, pg, store, restate, app, http, page; then `serve` assembles them for `cli`. `shutdown` is
//! below all of them.

// A build that leaves these features out has code that only they use.
#![cfg_attr(not(all(feature = "mcp", feature = "restate")), allow(dead_code, unused_imports))]

pub mod cli;
mod client;
pub mod config;
pub mod pg;
pub mod restate;
pub mod serve;
pub mod shutdown;
pub mod store;
pub mod telemetry;
pub mod tool;

pub mod app;

pub mod http;

mod page;
