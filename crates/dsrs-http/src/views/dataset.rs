//! Datasets and their examples.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use dsrs::optimize::Split;
use indexmap::IndexMap;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::SchemaPart;
use super::time::timestamp;
use super::{PageView, RawJson, example};
use dsrs_api::dataset::FromRunsRequest;
use dsrs_app::{DatasetFit, DatasetPick, DatasetPut};
use dsrs_store::dataset::{DatasetRow, DatasetVersionRow};
use dsrs_store::dataset_example::ExampleRow;

/// Runs to make examples from.
pub type FromRunsBody = SchemaPart<FromRunsRequest>;

/// A version of a dataset.
#[derive(Serialize, ToSchema)]
#[schema(as = Dataset, examples(json!(DatasetView::example())))]
pub struct DatasetView<'a> {
    /// The id of the dataset.
    pub id: Uuid,
    /// The name of the dataset.
    pub name: &'a str,
    /// The description of the version.
    #[schema(value_type = Option<String>)]
    pub description: Option<RawJson<'a>>,
    /// The number of the version.
    pub version: i32,
    /// The number of examples.
    #[schema(minimum = 0)]
    pub count: i32,
    /// The total length of the examples as text.
    #[schema(minimum = 0)]
    pub bytes: i64,
    /// The number of examples that name each split.
    #[schema(value_type = BTreeMap<String, u32>)]
    pub splits: RawJson<'a>,
    /// The SHA-256 of the examples as JSON lines, as a download returns them.
    pub content_hash: &'a str,
    /// The time when the dataset was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when this version was created.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
    /// The client that created this version.
    pub created_by: &'a str,
}

impl<'a> From<&'a DatasetRow> for DatasetView<'a> {
    fn from(row: &'a DatasetRow) -> Self {
        let version = &row.version;
        Self {
            id: row.id,
            name: &row.name,
            description: version.description.as_ref().map(RawJson::from),
            version: version.version,
            count: version.count,
            bytes: version.bytes,
            splits: (&version.splits).into(),
            content_hash: &version.content_hash,
            created_at: row.made_at,
            updated_at: version.created_at,
            created_by: &version.created_by,
        }
    }
}

impl DatasetView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            name: "tickets",
            description: Some(DESCRIPTION.into()),
            version: 1,
            count: 4,
            bytes: 431,
            splits: SPLITS.into(),
            content_hash: HASH,
            created_at: example::time(0),
            updated_at: example::time(0),
            created_by: "anonymous",
        }
    }
}

const DESCRIPTION: &str = r#""Tickets of last week, labeled by hand""#;

const SPLITS: &str = r#"{"train":1}"#;

const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// The newest version of a dataset after a change.
#[derive(Serialize, ToSchema)]
#[schema(as = ChangedDataset, examples(json!(ChangedDatasetView::example())))]
pub struct ChangedDatasetView<'a> {
    /// The version.
    #[serde(flatten)]
    pub dataset: DatasetView<'a>,
    /// Examples that the request added; 0 if the newest version has the same content already.
    #[schema(value_type = u32)]
    pub added: usize,
    /// Examples that were present already and are not added again.
    #[schema(value_type = u32)]
    pub duplicates: usize,
}

impl<'a> From<&'a DatasetPut> for ChangedDatasetView<'a> {
    fn from(put: &'a DatasetPut) -> Self {
        Self { dataset: (&put.row).into(), added: put.added, duplicates: put.duplicates }
    }
}

impl ChangedDatasetView<'static> {
    fn example() -> Self {
        Self { dataset: DatasetView::example(), added: 4, duplicates: 0 }
    }
}

/// A version in the history of a dataset.
#[derive(Serialize, ToSchema)]
#[schema(as = DatasetVersion, examples(json!(DatasetVersionView::example())))]
pub struct DatasetVersionView<'a> {
    /// The description of the version.
    #[schema(value_type = Option<String>)]
    pub description: Option<RawJson<'a>>,
    /// The number of the version.
    pub version: i32,
    /// The number of examples.
    #[schema(minimum = 0)]
    pub count: i32,
    /// The total length of the examples as text.
    #[schema(minimum = 0)]
    pub bytes: i64,
    /// The number of examples that name each split.
    #[schema(value_type = BTreeMap<String, u32>)]
    pub splits: RawJson<'a>,
    /// The SHA-256 of the examples as JSON lines, as a download returns them.
    pub content_hash: &'a str,
    /// The time when the version was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The client that created it.
    pub created_by: &'a str,
}

impl<'a> From<&'a DatasetVersionRow> for DatasetVersionView<'a> {
    fn from(row: &'a DatasetVersionRow) -> Self {
        Self {
            description: row.description.as_ref().map(RawJson::from),
            version: row.version,
            count: row.count,
            bytes: row.bytes,
            splits: (&row.splits).into(),
            content_hash: &row.content_hash,
            created_at: row.created_at,
            created_by: &row.created_by,
        }
    }
}

impl DatasetVersionView<'static> {
    fn example() -> Self {
        Self {
            description: Some(DESCRIPTION.into()),
            version: 1,
            count: 4,
            bytes: 431,
            splits: SPLITS.into(),
            content_hash: HASH,
            created_at: example::time(0),
            created_by: "anonymous",
        }
    }
}

/// An example.
#[derive(Serialize, ToSchema)]
#[schema(as = DatasetExample, examples(json!(DatasetExampleView::example())))]
pub struct DatasetExampleView<'a> {
    /// The position in the version, counted from 0.
    #[schema(minimum = 0)]
    pub position: i32,
    /// The id; an example has the same id in every version.
    pub id: &'a str,
    /// The inputs of a graph.
    #[schema(value_type = Object)]
    pub inputs: RawJson<'a>,
    /// The expected values: outputs of a graph, and values that only metrics use.
    #[schema(value_type = Object)]
    pub expected: RawJson<'a>,
    /// The split that the example names.
    pub split: Option<&'a str>,
    /// Whether the values are the texts of table cells. They are converted to the types of a graph
    /// when they are used.
    pub cells: bool,
}

impl<'a> From<&'a ExampleRow> for DatasetExampleView<'a> {
    fn from(row: &'a ExampleRow) -> Self {
        Self {
            position: row.position,
            id: &row.id,
            inputs: (&row.inputs).into(),
            expected: (&row.expected).into(),
            split: row.split.as_deref(),
            cells: row.cells,
        }
    }
}

impl DatasetExampleView<'static> {
    fn example() -> Self {
        Self {
            position: 0,
            id: "5e884898da280471",
            inputs: r#"{"ticket":"My parcel has not arrived."}"#.into(),
            expected: r#"{"mood":"calm"}"#.into(),
            split: Some("train"),
            cells: false,
        }
    }
}

/// The graph that a dataset must match, and which examples to check.
#[derive(ToSchema)]
pub struct DatasetCheckBody {
    /// The name or id of the graph.
    pub graph: String,
    /// A version of the graph. Default: the newest.
    pub graph_version: Option<i32>,
    /// A version of the dataset. Default: the newest.
    pub version: Option<i32>,
    /// Check only the examples of this split.
    pub split: Option<String>,
    /// The seed of `fractions`. Together with its id it determines the split of an example.
    /// Default: 0.
    pub seed: Option<u64>,
    /// The share of each split among the examples that name none; the shares add up to 1.
    pub fractions: Option<BTreeMap<String, f64>>,
    /// Check only this many examples, from the beginning.
    pub limit: Option<u32>,
}

/// Examples that match a graph.
#[derive(Serialize, ToSchema)]
#[schema(as = FittingDataset, examples(json!(FittingDatasetView::example())))]
pub struct FittingDatasetView<'a> {
    /// `true`.
    pub valid: bool,
    /// The examples that were checked.
    pub dataset: PickedDatasetView<'a>,
    /// Names of expected values that are not outputs of the graph: values for metrics, or typing
    /// errors.
    pub beside: Vec<&'a str>,
}

impl<'a> FittingDatasetView<'a> {
    pub(crate) fn new(pick: &'a DatasetPick, fitting: &'a DatasetFit) -> Self {
        let beside = fitting.beside.iter().map(AsRef::as_ref).collect();
        Self { valid: true, dataset: pick.into(), beside }
    }
}

impl FittingDatasetView<'static> {
    fn example() -> Self {
        Self { valid: true, dataset: PickedDatasetView::example(), beside: Vec::new() }
    }
}

/// A part of a version of a dataset.
#[derive(Serialize, ToSchema)]
#[schema(as = PickedDataset)]
pub struct PickedDatasetView<'a> {
    /// The id of the dataset.
    pub id: Uuid,
    /// The name of the dataset.
    pub dataset: &'a str,
    /// The number of the version.
    pub version: i32,
    /// The hash of the version.
    pub content_hash: &'a str,
    /// Only examples of this split.
    pub split: Option<&'a str>,
    /// The seed of `fractions`.
    pub seed: Option<u64>,
    /// The share of each split among the examples that name none.
    #[schema(value_type = Option<BTreeMap<String, f64>>)]
    pub fractions: Option<IndexMap<&'a str, f64>>,
    /// The greatest number of examples.
    #[schema(value_type = Option<u32>)]
    pub limit: Option<usize>,
    /// The number of examples.
    #[schema(value_type = u32)]
    pub count: usize,
    /// The position of the last example.
    #[schema(minimum = 0)]
    pub last: i32,
}

impl<'a> From<&'a DatasetPick> for PickedDatasetView<'a> {
    fn from(pick: &'a DatasetPick) -> Self {
        let by_seed = pick.part.by_seed.as_ref();
        Self {
            id: pick.id,
            dataset: &pick.name,
            version: pick.version,
            content_hash: &pick.content_hash,
            split: pick.part.split.as_deref(),
            seed: by_seed.map(Split::seed),
            fractions: by_seed.map(|split| split.parts().collect()),
            limit: pick.part.limit,
            count: pick.count,
            last: pick.last,
        }
    }
}

impl PickedDatasetView<'static> {
    pub(crate) fn example() -> Self {
        Self {
            id: example::ID,
            dataset: "tickets",
            version: 1,
            content_hash: HASH,
            split: Some("train"),
            seed: Some(0),
            fractions: Some([("train", 0.8), ("val", 0.2)].into_iter().collect()),
            limit: None,
            count: 3,
            last: 3,
        }
    }
}

/// A page of datasets.
pub type DatasetPage = PageView<DatasetView<'static>>;

/// A page of versions.
pub type DatasetVersionPage = PageView<DatasetVersionView<'static>>;

/// A page of examples.
pub type DatasetExamplePage = PageView<DatasetExampleView<'static>>;
