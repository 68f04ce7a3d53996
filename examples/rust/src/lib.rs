//! Typed programs with `dsrs`. [`handbook`] answers questions from a small handbook; the programs
//! beside it ask it, host it in a server, and tune it. Every one runs against an OpenAI-compatible
//! endpoint (`OPENAI_BASE_URL`, `OPENAI_API_KEY`, `DSRS_MODEL`), and on a script without one. See docs/rust.md.

pub mod handbook;
pub mod model;
pub mod tune;
