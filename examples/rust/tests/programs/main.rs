//! The programs of the examples, in process and on a server: what they print is what their readers are
//! promised.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod desk;
mod handbook;
mod host;
mod stand_in;
