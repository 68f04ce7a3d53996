//! Python that a language model wrote, run where it can do no harm: by an interpreter that has no
//! way out (Pydantic's `monty`), in a child process that the system confines, one for each program.
//!
//! [`ChildSandbox`] is the side that asks, [`child_main`] the side that runs. They are the same
//! program or two; what passes between them is one JSON document each way.
//!
//! It knows the engine's payloads and its trait [`dsrs::sandbox::Sandbox`], and nothing of
//! strategies, graphs or HTTP. `docs/sandbox.md` says what is confined and how.

#[cfg(not(feature = "interpreter"))]
mod absent;
mod child;
mod confine;
#[cfg(feature = "interpreter")]
mod exception;
#[cfg(feature = "interpreter")]
mod interpret;
mod parent;
mod report;
#[cfg(feature = "interpreter")]
mod values;
mod walls;
mod wire;

pub use child::child_main;
pub use parent::ChildSandbox;
pub use walls::{SANDBOX_USER, Wall, Walls};
