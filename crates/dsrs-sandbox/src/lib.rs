//! Python that a language model wrote, run where it can do no harm: by an interpreter that has no
//! way out (Pydantic's `monty`), in a child process that the system confines, one for each program or
//! session.
//!
//! [`ChildSandbox`] is the side that asks, [`child_main`] the side that runs. They are the same
//! program or two; what passes between them is one JSON document each way, and in a session a line for each program,
//! for each of its calls and for each answer.
//!
//! It knows the engine's payloads and its trait [`dsrs::sandbox::Sandbox`], and nothing of
//! strategies, graphs or HTTP. `docs/sandbox.md` says what is confined and how.

#[cfg(not(feature = "interpreter"))]
mod absent;
mod child;
#[cfg(feature = "interpreter")]
mod child_session;
mod confine;
#[cfg(feature = "interpreter")]
mod exception;
#[cfg(feature = "interpreter")]
mod failure;
#[cfg(feature = "interpreter")]
mod interpret;
#[cfg(feature = "interpreter")]
mod interpret_session;
mod parent;
#[cfg(feature = "interpreter")]
mod printed;
mod report;
mod session;
mod session_wire;
#[cfg(feature = "interpreter")]
mod values;
mod walls;
mod wire;

pub use child::child_main;
pub use parent::ChildSandbox;
pub use walls::{SANDBOX_USER, Wall, Walls};
