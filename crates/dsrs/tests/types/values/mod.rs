//! Values: conversions from and to payloads, and dependencies.

mod kinds;
mod laws;
mod parameters;
mod selecting;
