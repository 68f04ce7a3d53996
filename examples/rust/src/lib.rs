//! Typed programs with `dsrs`. [`handbook`] answers questions from a small handbook; the programs
//! beside it ask it, host it in a server, and tune it. [`desk`] is larger: a client, a tool and nested
//! modules, pushed to a server as a graph. Every one runs against an OpenAI-compatible endpoint
//! (`OPENAI_BASE_URL`, `OPENAI_API_KEY`, `DSRS_MODEL`), and on a script without one. See docs/rust.md.

pub mod desk;
pub mod handbook;
pub mod index;
pub mod model;
pub mod push;
pub mod tune;
