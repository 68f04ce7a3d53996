//! Indexes of passages, their builds, and what searches find.

use chrono::{DateTime, Utc};
use dsrs::predict::Passage;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::SchemaPart;
use super::time::{timestamp, timestamp_or_null};
use super::{PageView, example};
use crate::protocol::problem_view::ProblemView;
use dsrs_api::index::{IndexBuildRequest, IndexRequest, SearchRequest};
use dsrs_app::IndexWithBuilds;
use dsrs_store::index_build::IndexBuildRow;

/// An index to create.
pub type IndexBody = SchemaPart<IndexRequest>;

/// Another build of an index.
pub type IndexBuildBody = SchemaPart<IndexBuildRequest>;

/// A search in an index.
pub type SearchBody = SchemaPart<SearchRequest>;

/// An index of passages.
#[derive(Serialize, ToSchema)]
#[schema(as = Index, examples(json!(IndexView::example())))]
pub struct IndexView<'a> {
    /// The name of the index.
    pub name: &'a str,
    /// The name of the dataset.
    pub dataset: &'a str,
    /// The input of the examples that is the passage; null: the only one.
    pub text: Option<&'a str>,
    /// The language of the passages.
    pub language: &'a str,
    /// The alias of the embedding model; null: passages have no vectors.
    pub model: Option<&'a str>,
    /// The version of the dataset that searches find; null before the first build has succeeded.
    pub version: Option<i32>,
    /// The number of passages that searches find.
    #[schema(minimum = 0)]
    pub passages: i32,
    /// The newest build.
    pub build: Option<IndexBuildView<'a>>,
    /// The time when the index was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: &'a str,
}

impl<'a> From<&'a IndexWithBuilds> for IndexView<'a> {
    fn from(index: &'a IndexWithBuilds) -> Self {
        let IndexWithBuilds { row, newest, answering } = index;
        Self {
            name: &row.name,
            dataset: &row.dataset,
            text: row.field.as_deref(),
            language: &row.language,
            model: row.model.as_deref(),
            version: answering.as_ref().map(|build| build.dataset_version),
            passages: answering.as_ref().map_or(0, |build| build.done),
            build: newest.as_ref().map(IndexBuildView::from),
            created_at: row.created_at,
            created_by: &row.created_by,
        }
    }
}

impl IndexView<'static> {
    fn example() -> Self {
        Self {
            name: "handbook",
            dataset: "handbook-pages",
            text: Some("text"),
            language: "english",
            model: Some("small-embeddings"),
            version: Some(1),
            passages: 240,
            build: Some(IndexBuildView::example()),
            created_at: example::time(0),
            created_by: "ann",
        }
    }
}

/// A build of an index.
#[derive(Serialize, ToSchema)]
#[schema(as = IndexBuild)]
pub struct IndexBuildView<'a> {
    /// The id of the build.
    pub id: Uuid,
    /// The version of the dataset.
    pub version: i32,
    /// `queued`, `running`, `succeeded`, `failed` or `cancelled`.
    pub status: &'a str,
    /// All passages.
    #[schema(minimum = 0)]
    pub total: i32,
    /// Passages that are indexed.
    #[schema(minimum = 0)]
    pub done: i32,
    /// Of these, passages that an earlier build has indexed.
    #[schema(minimum = 0)]
    pub reused: i32,
    /// Requests to the embedding model.
    #[schema(minimum = 0)]
    pub requests: i64,
    /// The tokens of these requests.
    #[schema(minimum = 0)]
    pub tokens: i64,
    /// Their cost, in the currency of the configured prices; null without prices.
    pub cost: Option<f64>,
    /// Why the build failed.
    pub error: Option<ProblemView<'a>>,
    /// The time when the build was requested.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the build started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// The time when the build ended.
    #[serde(serialize_with = "timestamp_or_null")]
    pub finished_at: Option<DateTime<Utc>>,
}

impl<'a> From<&'a IndexBuildRow> for IndexBuildView<'a> {
    fn from(row: &'a IndexBuildRow) -> Self {
        Self {
            id: row.id,
            version: row.dataset_version,
            status: row.status.as_str(),
            total: row.total,
            done: row.done,
            reused: row.reused,
            requests: row.requests,
            tokens: row.tokens,
            cost: row.cost,
            error: row.error.as_deref().map(ProblemView::recorded),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
        }
    }
}

impl IndexBuildView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            version: 1,
            status: "succeeded",
            total: 240,
            done: 240,
            reused: 0,
            requests: 1,
            tokens: 31_200,
            cost: None,
            error: None,
            created_at: example::time(0),
            started_at: Some(example::time(1)),
            finished_at: Some(example::time(4)),
        }
    }
}

/// A page of indexes.
pub type IndexPage = PageView<IndexView<'static>>;

/// What a search finds.
#[derive(Serialize, ToSchema)]
#[schema(as = FoundPassages, examples(json!(FoundPassagesView::example())))]
pub struct FoundPassagesView<'a> {
    /// The passages, the best first.
    pub passages: Vec<PassageView<'a>>,
}

impl<'a> From<&'a [Passage]> for FoundPassagesView<'a> {
    fn from(passages: &'a [Passage]) -> Self {
        Self { passages: passages.iter().map(PassageView::from).collect() }
    }
}

impl FoundPassagesView<'static> {
    fn example() -> Self {
        let text = "You can cancel a run at any time.";
        Self { passages: vec![PassageView { id: "cancel", text, score: 2.174_506 }] }
    }
}

/// A passage that a search finds.
#[derive(Serialize, ToSchema)]
#[schema(as = Passage)]
pub struct PassageView<'a> {
    /// The id of the example of the dataset.
    pub id: &'a str,
    /// The text.
    pub text: &'a str,
    /// How well the passage fits the query; more is better. Scores of one search are comparable.
    pub score: f64,
}

impl<'a> From<&'a Passage> for PassageView<'a> {
    fn from(passage: &'a Passage) -> Self {
        Self { id: &passage.id, text: &passage.text, score: passage.score }
    }
}
