//! The data that flows through graphs: payloads (plain, ordered, cheap to clone), selections of
//! their parts, and values, which are payloads with provenance. Knows nothing of types, prompts or
//! nodes.

mod batch;
mod container;
mod failure;
mod json;
mod kind;
mod meta;
mod name;
mod payload;
mod reference;
mod resolve;
mod selection;
mod size_budget;
mod valueify;

pub use batch::{IncompleteBatch, ValueBatch};
pub use container::{Content, PendingValue, Value};
pub use failure::Failure;
pub use json::{DEPTH_LIMIT, JsonError, ParsedJson, parse_json};
pub use kind::ValueKind;
pub use meta::Meta;
pub use name::is_identifier;
pub use payload::{Fields, Map, Payload};
pub use reference::{ValueOrigin, ValueRef};
pub use resolve::{UnresolvedRefs, collect_refs, unwrap};
pub(crate) use selection::key_step;
pub use selection::{Selection, SelectionStep, SelectionSyntaxError};
pub(crate) use size_budget::{SIZE_LIMIT, SizeBudget, SizeExcess};
pub use valueify::{IntoValue, valueify, valueify_as};
