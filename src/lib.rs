//! The server around the `dsrs` engine: settings, database, HTTP. Rooms use only rooms before
//! them: config, pg, store, app, http.

pub mod config;
pub mod pg;
pub mod store;

pub mod app;

pub mod http;
