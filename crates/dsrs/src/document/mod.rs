//! A document by the shape of its type: read, changed, described. `rule` has what a type alone does not say. Knows no
//! document.

mod change;
mod config;
mod members;
mod read;
mod rule;
mod schema;
mod text_format;
mod word;

pub use change::{Change, read_document};
pub use config::{config_schema, read_config};
pub use members::longest;
pub use rule::Rule;
pub use schema::{DocumentForm, SchemaDefinitions, schema_name, schema_of};
pub use text_format::TextFormat;
pub use word::{described_words, parse_word, word_of};
