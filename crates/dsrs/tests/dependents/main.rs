//! Crates that depend on `dsrs` alone: the examples of the documentation compile in one, mistakes in
//! derives are reported at their place, the packages have what a registry shows, and features add what they say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod alone;
mod derives;
mod documentation;
mod features;
