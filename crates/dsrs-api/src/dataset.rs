//! Datasets: runs that become examples.

use dsrs::document::TextFormat;
use dsrs::problem::Code;
use dsrs::value::Map;
use facet::Facet;
use indexmap::IndexMap;
use uuid::Uuid;

const LONGEST_SPLIT: usize = 64;

/// The name of a split.
pub static SPLIT: TextFormat = TextFormat {
    code: Code::InvalidName,
    expected: "the name of a split: 1 to 64 letters, digits, `_` or `-`",
    format: None,
    pattern: Some("^[A-Za-z0-9_-]{1,64}$"),
    length: None,
    accepts: is_split,
};

/// The id of a run.
static RUN_ID: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "the id of a run, a UUID",
    format: Some("uuid"),
    pattern: None,
    length: None,
    accepts: |text| Uuid::try_parse(text).is_ok(),
};

/// Whether a text may be the name of a split.
#[must_use]
pub fn is_split(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=LONGEST_SPLIT).contains(&name.len()) && name.bytes().all(fits)
}

/// Runs to make examples from.
#[derive(Clone, Debug, Default, PartialEq, Facet)]
#[facet(dsrs::schema("FromRunsBody"))]
pub struct FromRunsRequest {
    /// Ids of succeeded runs of one graph.
    #[facet(dsrs::each(&RUN_ID), dsrs::distinct("run"))]
    pub runs: Vec<String>,
    /// `outputs`: the outputs of a run are its expected outputs; `corrected`: with the newest corrected outputs of
    /// its feedback; `none`: nothing is expected. Default: `outputs`.
    #[facet(default)]
    pub expected: ExpectedOutputs,
    /// Corrected outputs, by run id and field.
    #[facet(default)]
    pub corrections: IndexMap<String, Map>,
    /// The split of the examples.
    #[facet(dsrs::text(&SPLIT))]
    pub split: Option<String>,
    /// A description of the version. Default: the description of the previous version.
    pub description: Option<String>,
}

/// The source of the expected outputs of an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Facet)]
#[facet(rename_all = "lowercase")]
#[repr(u8)]
pub enum ExpectedOutputs {
    /// The outputs of the run.
    #[default]
    Outputs,
    /// The same with the newest corrected outputs of its feedback, which it must have.
    Corrected,
    /// Nothing.
    None,
}
