//! Values: conversions from and to payloads, and dependencies.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod kinds;
mod laws;
mod parameters;
mod selecting;
