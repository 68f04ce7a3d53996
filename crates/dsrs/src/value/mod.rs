//! Data that flows through graphs: payloads (plain, ordered, cheap to clone) and named sets of
//! them. Knows nothing of types, prompts or nodes.

mod json;
mod payload;

pub use json::{DEPTH_LIMIT, JsonError, ParsedJson, parse_json};
pub use payload::{Fields, Map, Payload};
