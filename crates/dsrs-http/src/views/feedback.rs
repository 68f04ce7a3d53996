//! Feedback on runs, and scores in sums.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::SchemaPart;
use super::time::timestamp;
use super::{PageView, RawJson, example};
use dsrs_api::feedback::FeedbackRequest;
use dsrs_store::feedback::FeedbackRow;
use dsrs_store::feedback_summary::{GraphScoreRow, RunScoreRow};

/// Feedback on a run: a score, a comment, corrected outputs, or several of them.
pub type FeedbackBody = SchemaPart<FeedbackRequest>;

/// Feedback on a run.
#[derive(Serialize, ToSchema)]
#[schema(as = Feedback, examples(json!(FeedbackView::example())))]
pub struct FeedbackView<'a> {
    /// The id of the feedback.
    pub id: Uuid,
    /// The id of the run.
    pub run_id: Uuid,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version.
    pub version: i32,
    /// The name of the score.
    pub name: Option<&'a str>,
    /// A score from 0 to 1.
    pub score: Option<f64>,
    /// A score that is a word.
    pub category: Option<&'a str>,
    /// The comment.
    #[schema(value_type = Option<String>)]
    pub comment: Option<RawJson<'a>>,
    /// Corrected outputs.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<RawJson<'a>>,
    /// The source of the feedback; `online` if the server computed it.
    pub source: &'a str,
    /// The person who gave it.
    pub user_id: Option<&'a str>,
    /// The caller who stored it.
    pub created_by: &'a str,
    /// The time when the feedback was first given.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the feedback was last replaced.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
}

impl<'a> From<&'a FeedbackRow> for FeedbackView<'a> {
    fn from(row: &'a FeedbackRow) -> Self {
        Self {
            id: row.id,
            run_id: row.run_id,
            graph: &row.graph_name,
            version: row.graph_version,
            name: row.name.as_deref(),
            score: row.score,
            category: row.category.as_deref(),
            comment: row.comment.as_ref().map(RawJson::from),
            outputs: row.outputs.as_ref().map(RawJson::from),
            source: &row.source,
            user_id: Some(&*row.user_id).filter(|user| !user.is_empty()),
            created_by: &row.created_by,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

impl FeedbackView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            run_id: example::ID,
            graph: example::GRAPH,
            version: 1,
            name: Some("helpful"),
            score: Some(0.0),
            category: None,
            comment: Some(example::raw(&"It must name the date.")),
            outputs: Some(example::raw(&json!({"answer": "It arrives on Friday."}))),
            source: "user",
            user_id: None,
            created_by: example::CLIENT,
            created_at: example::time(5),
            updated_at: example::time(5),
        }
    }
}

/// A page of the feedback on a run, newest first.
pub type FeedbackPage = PageView<FeedbackView<'static>>;

/// The scores of a run under one name.
#[derive(Serialize, ToSchema)]
#[schema(as = RunScore)]
pub struct RunScoreView<'a> {
    /// The name.
    pub name: &'a str,
    /// The mean of the numbers; null if there are none.
    pub score: Option<f64>,
    /// The newest category; null if there is none.
    pub category: Option<&'a str>,
    /// The number of scores.
    pub count: i64,
}

impl<'a> RunScoreView<'a> {
    /// The scores among what the feedback on a run says.
    pub(crate) fn all(rows: &'a [RunScoreRow]) -> Vec<Self> {
        let view = |row: &'a RunScoreRow| {
            let name = row.name.as_deref()?;
            let category = row.category.as_deref();
            Some(Self { name, score: row.score, category, count: row.count })
        };
        rows.iter().filter_map(view).collect()
    }

    /// An example.
    pub(super) fn example() -> Self {
        Self { name: "helpful", score: Some(1.0), category: None, count: 1 }
    }
}

/// The summary of the feedback on a run.
#[derive(Serialize, ToSchema)]
#[schema(as = RunFeedback)]
pub struct RunFeedbackView<'a> {
    /// The number of pieces of feedback.
    pub count: i64,
    /// The number of pieces of feedback with a comment.
    pub comments: i64,
    /// The number of pieces of feedback with corrected outputs.
    pub corrections: i64,
    /// The scores by name.
    pub scores: Vec<RunScoreView<'a>>,
}

impl<'a> From<&'a [RunScoreRow]> for RunFeedbackView<'a> {
    fn from(rows: &'a [RunScoreRow]) -> Self {
        let sum = |of: fn(&RunScoreRow) -> i64| rows.iter().map(of).sum();
        Self {
            count: sum(|row| row.count),
            comments: sum(|row| row.comments),
            corrections: sum(|row| row.corrections),
            scores: RunScoreView::all(rows),
        }
    }
}

impl RunFeedbackView<'static> {
    /// An example.
    pub(super) fn example() -> Self {
        Self { count: 2, comments: 1, corrections: 1, scores: vec![RunScoreView::example()] }
    }
}

/// The scores of a name and source in a graph version.
#[derive(Serialize, ToSchema)]
#[schema(as = GraphScore)]
pub struct GraphScoreView<'a> {
    /// The graph version.
    pub version: i32,
    /// The name of the scores.
    pub name: &'a str,
    /// The source of the scores.
    pub source: &'a str,
    /// The category; null for numbers.
    pub category: Option<&'a str>,
    /// The mean of the numbers; null for a category.
    pub mean: Option<f64>,
    /// The number of scores.
    pub count: i64,
}

impl<'a> From<&'a GraphScoreRow> for GraphScoreView<'a> {
    fn from(row: &'a GraphScoreRow) -> Self {
        Self {
            version: row.graph_version,
            name: &row.name,
            source: &row.source,
            category: row.category.as_deref(),
            mean: row.score,
            count: row.count,
        }
    }
}

/// The mean scores of a graph.
#[derive(Serialize, ToSchema)]
#[schema(as = GraphScores, examples(json!(GraphScoresView::example())))]
pub struct GraphScoresView<'a> {
    /// The scores, the newest graph version first.
    pub items: Vec<GraphScoreView<'a>>,
}

impl GraphScoresView<'static> {
    fn example() -> Self {
        let score = GraphScoreView {
            version: 1,
            name: "helpful",
            source: "user",
            category: None,
            mean: Some(0.8),
            count: 25,
        };
        Self { items: vec![score] }
    }
}
