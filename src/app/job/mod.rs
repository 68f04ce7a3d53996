//! Background work in general: what is active in this process, and jobs that consist of many items.
//! May not know what any job works on.

pub(crate) mod active;
pub(crate) mod item_job;
pub(crate) mod item_work;
