//! Everything that is SQL: the pool, the migrations and one file a noun.
//!
//! It may not know HTTP, graphs as checked things, or the clock: ids and times come from the
//! caller, documents come and go as JSON text, byte for byte. Every function takes the caller's
//! [`Scope`] first and sees only that workspace, but for workers, who take whatever job is next.

pub mod background_run;
pub mod batch;
pub mod batch_share;
pub mod batch_upload;
pub mod batch_work;
pub mod changes;
pub mod dataset;
pub mod dataset_edit;
pub mod dataset_example;
pub mod error;
pub mod evaluation;
pub mod evaluation_work;
pub mod graph;
pub mod graph_edit;
pub mod graph_version;
pub mod idempotency;
pub mod job;
pub mod listen;
pub mod optimization;
pub mod optimization_candidate;
pub mod optimization_work;
pub mod page;
pub mod pool;
pub mod queue;
pub mod retention;
pub mod run;
pub mod run_batch;
pub mod run_event;
pub mod run_recorder;
pub mod scope;
pub mod state;
pub mod state_activation;
pub mod waiting_run;
pub mod workspace;

pub use error::StoreError;
pub use page::{Cursor, Page};
pub use pool::{Db, PoolSettings};
pub use scope::Scope;
