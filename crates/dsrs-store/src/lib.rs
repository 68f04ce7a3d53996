//! All SQL: the connection pool, the migrations, and one file for each noun.
//!
//! May not know HTTP, checked graphs, or the clock. Ids and times come from the caller; documents are JSON
//! text, stored byte for byte. Every function has the [`Scope`] of the caller as its first parameter, or
//! the lease of a job, and its connection sees only that workspace (`pool`, `isolation`). The functions that
//! see all workspaces are exceptions: they claim jobs, renew leases, record runs, remove old rows and change partitions, find
//! the key of a caller (`key`), and administer workspaces.

pub mod audit;
pub mod background_run;
pub mod batch;
pub mod batch_share;
pub mod batch_upload;
pub mod batch_work;
pub mod cancellation;
pub mod changes;
pub mod dataset;
pub mod dataset_edit;
pub mod dataset_example;
pub mod engine_run;
pub mod error;
pub mod evaluation;
pub mod evaluation_work;
pub mod exposed_graph;
pub mod feedback;
pub mod feedback_filter;
pub mod feedback_summary;
mod former_migrations;
pub mod graph;
pub mod graph_activity;
pub mod graph_edit;
pub mod graph_profile;
mod graph_ref;
pub mod graph_version;
pub mod group_writer;
mod heartbeat;
pub mod id_time;
pub mod idempotency;
mod installation;
mod isolation;
pub mod job;
pub mod key;
pub mod key_count;
pub mod key_scope;
pub mod key_spending;
pub mod listen;
pub mod migration;
pub mod model_demand;
mod model_usage;
pub mod online_evaluation;
pub mod online_sample;
pub mod optimization;
pub mod optimization_candidate;
pub mod optimization_offer;
pub mod optimization_part;
pub mod optimization_record;
pub mod optimization_work;
pub mod page;
pub mod partition;
mod persist;
pub mod pool;
mod replica;
pub mod retention;
pub mod run;
pub mod run_archive;
pub mod run_batch;
pub mod run_event;
pub mod run_label;
mod run_label_index;
pub mod run_progress;
pub mod run_recorder;
pub mod schedule;
pub mod schedule_firing;
pub mod scope;
pub mod search;
pub mod state;
pub mod state_activation;
pub mod usage;
mod usage_feedback;
mod usage_judging;
pub mod waiting_run;
pub mod webhook;
pub mod webhook_delivery;
pub mod webhook_event;
pub mod workspace;

pub use error::StoreError;
pub use page::{Cursor, ListQuery, Page};
pub use persist::{Attempts, SILENT, persist};
pub use pool::{Db, PoolSettings, ReplicaSettings};
pub use scope::Scope;
