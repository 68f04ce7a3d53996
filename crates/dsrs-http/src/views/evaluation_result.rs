//! The results of an evaluation, example by example.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{PageView, RawJson, UsageView, example};
use crate::protocol::problem_view::{LeniencyView, ProblemView};
use dsrs_store::evaluation::EvaluationResultRow;

/// The result of one example.
#[derive(Serialize, ToSchema)]
#[schema(as = EvaluationResult, examples(json!(EvaluationResultView::example())))]
pub struct EvaluationResultView<'a> {
    /// The position of the example in the version of the dataset.
    #[schema(minimum = 0)]
    pub position: i32,
    /// The id of the example in the dataset.
    pub example_id: &'a str,
    /// The score of the outputs, from 0 to 1; 0 if the example failed, null if it is unmeasured.
    pub score: Option<f64>,
    /// Whether the example has no score, because the provider, the time or a budget failed.
    pub unmeasured: bool,
    /// The explanation of the score, if the metric writes one.
    #[schema(value_type = Option<String>)]
    pub feedback: Option<RawJson<'a>>,
    /// The outputs of the graph.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<RawJson<'a>>,
    /// The reason why the example failed.
    pub error: Option<ProblemView<'a>>,
    /// Calls, tokens and cost of the graph.
    #[schema(value_type = UsageView)]
    pub usage: RawJson<'a>,
    /// Calls, tokens and cost of the metric.
    #[schema(value_type = UsageView)]
    pub judging: RawJson<'a>,
    /// The leniencies of the parser, by the path of the predictor; only predictors that needed any.
    #[schema(value_type = BTreeMap<String, Vec<LeniencyView>>)]
    pub parse_reports: RawJson<'a>,
    /// The duration of the graph.
    #[schema(minimum = 0)]
    pub duration_ms: i64,
    /// The run of the example, with its trace; null if it was not recorded.
    pub run_id: Option<Uuid>,
}

impl<'a> From<&'a EvaluationResultRow> for EvaluationResultView<'a> {
    fn from(row: &'a EvaluationResultRow) -> Self {
        Self {
            position: row.position,
            example_id: &row.example_id,
            score: (!row.unmeasured).then_some(row.score),
            unmeasured: row.unmeasured,
            feedback: row.feedback.as_ref().map(RawJson::from),
            outputs: row.outputs.as_ref().map(RawJson::from),
            error: row.error.as_deref().map(ProblemView::recorded),
            usage: (&row.usage).into(),
            judging: (&row.judging).into(),
            parse_reports: (&row.parse_reports).into(),
            duration_ms: row.duration_ms,
            run_id: row.run_id,
        }
    }
}

impl EvaluationResultView<'static> {
    fn example() -> Self {
        Self {
            position: 1,
            example_id: "5e884898da280471",
            score: Some(0.0),
            unmeasured: false,
            feedback: Some(r#""mood: expected \"angry\", found \"calm\"""#.into()),
            outputs: Some(r#"{"answer":"It arrives tomorrow.","mood":"calm"}"#.into()),
            error: None,
            usage: example::raw(&UsageView::example()),
            judging: example::raw(&UsageView::default()),
            parse_reports: "{}".into(),
            duration_ms: 512,
            run_id: None,
        }
    }
}

/// A page of results.
pub type EvaluationResultPage = PageView<EvaluationResultView<'static>>;
