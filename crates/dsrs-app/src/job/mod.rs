//! Background work in general: the trait of a kind of job, the driver of an attempt, cancellation, and
//! the work on many items. May not know any particular kind: those are rooms above this one, listed in
//! `job_registry`.

pub(crate) mod active;
pub(crate) mod attempt;
pub(crate) mod await_check;
pub(crate) mod cancel;
pub(crate) mod conclusion;
pub(crate) mod driver;
pub(crate) mod item_ranges;
pub(crate) mod item_work;
pub(crate) mod kind;
pub(crate) mod queue_places;
pub(crate) mod request;
