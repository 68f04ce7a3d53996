//! A document by the shape of its type: read, changed, described. `rule` has what a type alone does not say. Knows no
//! document.

mod change;
mod config;
mod keywords;
mod members;
mod read;
mod rule;
mod schema;
mod text_format;
mod word;

pub use change::{Change, read_document};
pub use config::{config_of, config_schema, default_settings, read_config, read_settings};
pub use members::longest;
pub use rule::Rule;
pub use schema::{DocumentForm, SchemaDefinitions, schema_name, schema_of};
pub use text_format::TextFormat;
pub use word::{described_words, description_of, parse_word, word_of};
