//! Indexes of passages: what clients create and ask.

use dsrs::document::{TextFormat, word_of};
use dsrs::predict::SearchRanking;
use dsrs::problem::Code;
use facet::Facet;

use crate::plain_name::PLAIN_NAME;

/// The most characters of a query.
pub const LONGEST_QUERY: usize = 8 << 10;

/// The text of a query.
static QUERY: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "a text of 1 to 8192 characters",
    format: None,
    pattern: None,
    length: Some((1, LONGEST_QUERY)),
    accepts: |text| !text.is_empty() && text.chars().nth(LONGEST_QUERY).is_none(),
};

/// An index to create.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("IndexBody"))]
pub struct IndexRequest {
    /// The name of the index: 1 to 64 letters, digits, `-`, `_` and `.`.
    #[facet(dsrs::text(&PLAIN_NAME))]
    pub name: String,
    /// The name of the dataset: each of its examples is a passage.
    pub dataset: String,
    /// The version of the dataset. Default: the newest.
    #[facet(dsrs::minimum(1))]
    pub version: Option<i32>,
    /// The input of the examples that is the passage, a text. Default: the only input.
    pub text: Option<String>,
    /// The language of the passages: its stop words are left out, and the forms of a word count as one word. `simple`:
    /// words as they are. Default: `english`.
    #[facet(default)]
    pub language: SearchLanguage,
    /// The alias of an embedding model, so that passages are also found by their meaning. Default: none.
    pub model: Option<String>,
}

/// Another build of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Facet)]
#[facet(dsrs::schema("IndexBuildBody"))]
pub struct IndexBuildRequest {
    /// The version of the dataset. Default: the newest.
    #[facet(dsrs::minimum(1))]
    pub version: Option<i32>,
}

/// A search in an index.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("SearchBody"))]
pub struct SearchRequest {
    /// What to search for.
    #[facet(dsrs::text(&QUERY))]
    pub query: String,
    /// The number of passages. Default: 5.
    #[facet(default = 5, dsrs::minimum(1), dsrs::maximum(100))]
    pub k: usize,
    /// How passages are ranked. Default: `hybrid` if the index has vectors, else `text`.
    pub ranking: Option<SearchRanking>,
}

/// The language of passages: a text search configuration of Postgres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Facet)]
#[facet(rename_all = "lowercase")]
#[repr(u8)]
pub enum SearchLanguage {
    /// No language: words as they are.
    Simple,
    /// Arabic.
    Arabic,
    /// Armenian.
    Armenian,
    /// Basque.
    Basque,
    /// Catalan.
    Catalan,
    /// Danish.
    Danish,
    /// Dutch.
    Dutch,
    /// English.
    #[default]
    English,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// German.
    German,
    /// Greek.
    Greek,
    /// Hindi.
    Hindi,
    /// Hungarian.
    Hungarian,
    /// Indonesian.
    Indonesian,
    /// Irish.
    Irish,
    /// Italian.
    Italian,
    /// Lithuanian.
    Lithuanian,
    /// Nepali.
    Nepali,
    /// Norwegian.
    Norwegian,
    /// Portuguese.
    Portuguese,
    /// Romanian.
    Romanian,
    /// Russian.
    Russian,
    /// Serbian.
    Serbian,
    /// Spanish.
    Spanish,
    /// Swedish.
    Swedish,
    /// Tamil.
    Tamil,
    /// Turkish.
    Turkish,
    /// Yiddish.
    Yiddish,
}

impl SearchLanguage {
    /// The name of the language in the API, and of its configuration in Postgres.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(&self)
    }
}
