//! Signatures: the typed contract of one prompt, as data. Every spelling, and later every Rust
//! type, becomes the same `SignatureSchema`. Knows types and nothing of prompts or LMs.

mod schema;

pub use schema::{FieldFormat, FieldPath, FieldSchema, SignatureSchema};
