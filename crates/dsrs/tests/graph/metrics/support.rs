//! What the tests of metrics share: a program, a stored graph, and metrics that judge JSON texts.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{GraphModule, GraphState, Program};
use dsrs::lm::{Lm, Models, ScriptedLm};
use dsrs::optimize::{Case, Example, Metric, PredictorCall, Score};
use dsrs::predict::{Ctx, PredictError};
use dsrs::problem::{At, Problems};
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, StoredEnv, StoredGraphRef};
use dsrs::value::{Fields, Payload};

/// The program whose outputs are judged.
const PROGRAM: &str = r#"{"name": "qa", "nodes": {"answer": {"strategy": "predict",
    "signature": "question -> answer, count: int, ratio: float, tags: list[str], person: {name: str, age: int?}"}}}"#;

/// The graph that is stored: it grades an answer, in words too.
const GRADER: &str = r#"{"name": "grader", "nodes": {"grade": {"strategy": "predict",
    "signature": "question, answer, expected_answer: str? -> score: float, why: str"}}}"#;

/// A server with one model and the graph `grader`, at version 3 and state 2.
pub(crate) struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, alias: &str) -> bool {
        alias == "default"
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        if &*graph.graph != "grader" {
            return Err(GraphUnavailable::new(format!("there is no graph `{}`", graph.graph)));
        }
        Ok(StoredGraphRef { version: Some(3), state_version: Some(2), ..graph.clone() })
    }

    fn graph(&self, graph: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        self.pin_graph(graph)?;
        let made = GraphModule::new(&json(GRADER), &GraphState::default(), &StoredEnv);
        Ok(Box::new(made.map_err(|problems| GraphUnavailable::new(problems.to_string()))?))
    }
}

pub(crate) fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

pub(crate) fn fields(text: &str) -> Fields {
    json(text).as_map().expect("the test's text is an object").clone()
}

pub(crate) fn program() -> Program {
    Program::from_document(&json(PROGRAM), &StoredEnv)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn read(metric: &str) -> Result<Metric, Problems> {
    Metric::read(&json(metric), &Env, &program(), &At::Root)
}

pub(crate) fn metric(text: &str) -> Metric {
    read(text).unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

/// Why a metric is refused: `pointer: detail (code)`, a line each.
pub(crate) fn refused(text: &str) -> String {
    let problems = read(text).err().unwrap_or_else(|| panic!("{text} is taken"));
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// An LM that is never called.
pub(crate) fn silent() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(Vec::<String>::new()))
}

/// Judges outputs of an example, with one step in its trace.
pub(crate) async fn judged(
    lm: &Arc<ScriptedLm>,
    metric: &Metric,
    expected: &str,
    outputs: &str,
) -> Result<Score, PredictError> {
    let lm: Arc<dyn Lm> = lm.clone();
    let ctx = Ctx::within(Models::only(lm).into(), Duration::from_secs(600));
    let example = Example::of(fields(r#"{"question": "Where?"}"#), fields(expected));
    let outputs = fields(outputs);
    let step = PredictorCall {
        predictor: "answer".into(),
        inputs: example.inputs.clone(),
        outputs: outputs.clone(),
    };
    let case = Case { example: &example, outputs: &outputs, calls: &[step] };
    metric.score(&ctx, case).await
}

/// The result of a metric as text: the score, and the feedback after a bar; or the code and message
/// of the error.
pub(crate) async fn score_text_of(
    lm: &Arc<ScriptedLm>,
    metric: &Metric,
    expected: &str,
    outputs: &str,
) -> String {
    match judged(lm, metric, expected, outputs).await {
        Ok(Score { value, feedback: None }) => round(value),
        Ok(Score { value, feedback: Some(words) }) => format!("{} | {words}", round(value)),
        Err(error) => format!("{}: {}", error.kind.code(), error.message),
    }
}

/// [`score_text_of`] for a metric that is given as JSON.
pub(crate) async fn score_text_by(
    lm: &Arc<ScriptedLm>,
    metric: &str,
    expected: &str,
    outputs: &str,
) -> String {
    score_text_of(lm, &self::metric(metric), expected, outputs).await
}

/// [`score_text_by`] without an LM.
pub(crate) async fn score_text(metric: &str, expected: &str, outputs: &str) -> String {
    score_text_by(&silent(), metric, expected, outputs).await
}

/// A score with two digits.
fn round(score: f64) -> String {
    format!("{}", (score * 100.0).round() / 100.0)
}

/// Compares the score of each `[metric, expected, outputs]` of a table with the expected one.
pub(crate) async fn assert_table(rows: &[(&str, &str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (metric, expected, outputs, wanted) in rows {
        let found = score_text(metric, expected, outputs).await;
        if found != *wanted {
            wrong.push(format!(
                "{metric} {expected} {outputs}\n  wanted {wanted}\n  found  {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As [`assert_table`], for one metric over the values of one output: expected, output, score.
pub(crate) async fn assert_scores(metric: &str, output: &str, rows: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (expected, found, wanted) in rows {
        let side = |value: &str| format!(r#"{{"{output}": {value}}}"#);
        let text = score_text(metric, &side(expected), &side(found)).await;
        let score = text.split(" | ").next().unwrap_or_default();
        if score != *wanted {
            wrong.push(format!("{metric}: {expected} of {found} is {text}, not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
