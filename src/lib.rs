//! The server around the `dsrs` engine: settings, database, HTTP. Rooms use only rooms before
//! them: config, tool, pg, store, app, http; then `serve` puts them together for `cli`. `shutdown`
//! stands below them all.

pub mod cli;
pub mod config;
pub mod pg;
pub mod serve;
pub mod shutdown;
pub mod store;
pub mod tool;

pub mod app;

pub mod http;
