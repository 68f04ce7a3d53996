//! Runs of graphs: executed while a client waits or in the background, recorded, followed as
//! events, resumed, signalled. May know `program` and `job`; knows nothing of batches and the other
//! jobs that consist of many runs.

pub(crate) mod attempt;
pub(crate) mod background;
pub(crate) mod documents;
pub(crate) mod event;
pub(crate) mod event_buffer;
pub(crate) mod event_reader;
pub(crate) mod event_writer;
pub(crate) mod execute;
pub(crate) mod failure;
pub(crate) mod merged_record;
pub(crate) mod provenance;
pub(crate) mod record;
pub(crate) mod resume;
pub(crate) mod signal;
