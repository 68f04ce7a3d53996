//! Values: what plain things become, what comes back of them, and what they depend on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod kinds;
mod laws;
mod parameters;
mod selecting;
