//! What tests stand on: a Postgres of their own.

mod cluster;
mod database;

pub use cluster::{cluster, scratch_dir};
pub use database::test_database;
