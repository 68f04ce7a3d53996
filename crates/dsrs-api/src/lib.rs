//! The documents of the API, each described once by its Rust type. `document` makes of a type the reader that reports all
//! problems with their places, and the schema of the OpenAPI document; `rule` has what a type alone does not say. Knows
//! no HTTP, no SQL and no operation.

#![warn(missing_docs)]

// The attribute `#[facet(dsrs_api::…)]` refers to the crate by its name, also inside it.
extern crate self as dsrs_api;

pub mod document;
pub mod plain_name;
pub mod rule;
pub mod webhook;
