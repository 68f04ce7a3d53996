//! Typed programs and posted graphs mean the same: states, defaults, types and prompts.

mod demos;
mod hosted;
mod laws;
mod projected_state;
mod projection;
mod support;
