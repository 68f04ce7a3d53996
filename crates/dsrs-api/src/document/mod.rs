//! A document of the API by the shape of its type: read, changed, described.

mod change;
mod members;
mod read;
mod schema;
mod word;

pub use change::Change;
pub use members::longest;
pub use schema::{DocumentForm, SchemaDefinitions, schema_name, schema_of};
pub use word::{described_words, word_of};
