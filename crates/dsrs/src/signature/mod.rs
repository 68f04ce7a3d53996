//! Signatures: the typed contract of one prompt, as data. Every notation and every Rust type becomes
//! the same `SignatureSchema`. Knows types, but no prompts or LMs.

mod admit;
mod default_value;
mod field;
mod field_names;
mod read;
mod reflection;
mod schema;
#[doc(hidden)]
pub mod static_names;
mod text;
mod typed;
mod write;

pub(crate) use admit::admit_fitting;
pub use admit::admit_inputs;
#[doc(hidden)]
pub use default_value::{check_default, read_default};
pub use field::read_field;
pub use read::{SignatureDraft, read_signature};
pub use reflection::added_outputs;
pub(crate) use reflection::{fields_of, from_types};
pub use schema::{FieldFormat, FieldPath, FieldSchema, SignatureSchema};
pub use typed::{Augmentation, Augmented, Data, Signature};
pub use write::{field_to_payload, signature_to_payload, signature_to_schemas};
