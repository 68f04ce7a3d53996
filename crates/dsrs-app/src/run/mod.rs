//! Runs of graphs: executed while a client waits or in the background, recorded, followed, resumed,
//! signalled. May know `event`, `job` and `program`; may not know the jobs that consist of many runs.

pub(crate) mod attempt;
pub(crate) mod background;
pub(crate) mod documents;
pub(crate) mod driver;
pub(crate) mod ending;
pub(crate) mod event_json;
pub(crate) mod execute;
pub(crate) mod failure;
mod follow;
pub mod labels;
pub(crate) mod merged_record;
pub(crate) mod pause;
pub(crate) mod provenance;
pub(crate) mod record;
pub mod request;
pub(crate) mod resume;
pub(crate) mod signal;
pub(crate) mod times;
pub(crate) mod upkeep;
