//! Datasets and their examples, as the OpenAPI document tells them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Json;

/// A dataset to be made.
#[derive(ToSchema)]
pub struct DatasetBody {
    /// `[a-z][a-z0-9_-]{0,62}`. With PUT it may be left out.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The members of flat rows that are inputs; left out where examples have members of their own.
    pub inputs: Option<Vec<String>>,
    /// The members of flat rows that are expected; all others but `id` and `split` if not given.
    pub expected: Option<Vec<String>>,
    /// The examples, or flat rows.
    #[schema(value_type = Vec<Object>)]
    pub examples: Vec<Json>,
}

/// Runs to be made examples.
#[derive(ToSchema)]
pub struct FromRunsBody {
    /// Runs of one graph that succeeded.
    pub runs: Vec<Uuid>,
    /// `outputs` (if not given): what a run gave is what is expected; `none`: nothing is.
    pub expected: Option<String>,
    /// What should have come out, by run and field, where it is not what the run gave.
    #[schema(value_type = Option<Object>)]
    pub corrections: Option<Json>,
    /// The split that the examples name.
    pub split: Option<String>,
    /// What the version is for; that of the version before if not given.
    pub description: Option<String>,
}

/// A version of a dataset.
#[derive(ToSchema)]
pub struct Dataset {
    /// The dataset's id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The version.
    pub version: i32,
    /// How many examples it has.
    pub count: u32,
    /// The length of their texts.
    pub bytes: u64,
    /// How many of them name which split.
    pub splits: BTreeMap<String, u32>,
    /// The SHA-256 of the examples as lines, as they are read out.
    pub content_hash: String,
    /// When the dataset was made.
    pub created_at: DateTime<Utc>,
    /// When this version was made.
    pub updated_at: DateTime<Utc>,
    /// Who made this version.
    pub created_by: String,
}

/// The newest version of a dataset, and what a request brought to it.
#[derive(ToSchema)]
pub struct ChangedDataset {
    /// The version.
    #[serde(flatten)]
    pub dataset: Dataset,
    /// Examples that the request brought; 0 where the newest version says the same already.
    pub added: u32,
    /// Examples that were there already, and are not there twice.
    pub duplicates: u32,
}

/// A page of datasets.
#[derive(ToSchema)]
pub struct DatasetPage {
    /// Newest first, each at its newest version.
    pub items: Vec<Dataset>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// One line of a dataset's history.
#[derive(ToSchema)]
pub struct DatasetVersion {
    /// The version.
    pub version: i32,
    /// What it is for.
    pub description: Option<String>,
    /// How many examples it has.
    pub count: u32,
    /// The length of their texts.
    pub bytes: u64,
    /// How many of them name which split.
    pub splits: BTreeMap<String, u32>,
    /// The SHA-256 of the examples as lines, as they are read out.
    pub content_hash: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

/// A page of versions.
#[derive(ToSchema)]
pub struct DatasetVersionPage {
    /// Newest first.
    pub items: Vec<DatasetVersion>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// An example.
#[derive(ToSchema)]
pub struct DatasetExample {
    /// Where it stands in the version, counted from 0.
    pub position: u32,
    /// The same for the same example in any version.
    pub id: String,
    /// The inputs of a graph.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// What is expected: outputs of a graph, and what metrics look at besides.
    #[schema(value_type = Object)]
    pub expected: Json,
    /// The split that it names.
    pub split: Option<String>,
    /// Whether its values are texts of table cells, read as what a graph takes when it is used.
    pub cells: bool,
}

/// A page of examples.
#[derive(ToSchema)]
pub struct DatasetExamplePage {
    /// In their order.
    pub items: Vec<DatasetExample>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Which graph a dataset is to fit, and what of the dataset.
#[derive(ToSchema)]
pub struct DatasetCheckBody {
    /// The graph's name, or id.
    pub graph: String,
    /// A version of the graph other than the newest.
    pub graph_version: Option<i32>,
    /// A version of the dataset other than the newest.
    pub version: Option<i32>,
    /// The split whose examples are meant; all if not given.
    pub split: Option<String>,
    /// With `fractions`: what decides, with its id, where an example falls; 0 if not given.
    pub seed: Option<u64>,
    /// Splits, and how much of the examples that name none falls into each; together 1.
    pub fractions: Option<BTreeMap<String, f64>>,
    /// The first so many of them.
    pub limit: Option<u32>,
}

/// Examples that fit a graph.
#[derive(ToSchema)]
pub struct FittingDataset {
    /// `true`.
    pub valid: bool,
    /// Which examples were looked at.
    pub dataset: PickedDataset,
    /// Names of what is expected that is no output of the graph: for metrics to look at, or a slip.
    pub beside: Vec<String>,
}

/// Some examples of a version.
#[derive(ToSchema)]
pub struct PickedDataset {
    /// The dataset's id.
    pub id: Uuid,
    /// Its name.
    pub dataset: String,
    /// The version.
    pub version: i32,
    /// The version's hash.
    pub content_hash: String,
    /// The split.
    pub split: Option<String>,
    /// The seed.
    pub seed: Option<u64>,
    /// The fractions.
    pub fractions: Option<BTreeMap<String, f64>>,
    /// The most that were wanted.
    pub limit: Option<u32>,
    /// How many examples that is.
    pub count: u32,
    /// The position of the last of them.
    pub last: u32,
}
