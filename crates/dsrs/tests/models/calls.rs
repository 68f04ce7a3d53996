//! The call path with a scripted LM: requests, retries, records and errors.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{
    LmErrorKind, LmReply, Model, Models, Role, ScriptedAnswer, ScriptedLm, ToolCall, ToolSet,
    ToolSpec,
};
use dsrs::predict::{
    Ctx, DynPredictor, PredictError, PredictErrorKind, Span, SpanKind, SpanStatus,
};
use dsrs::problem::At;
use dsrs::value::{Fields, Payload};
use serde_json::value::RawValue;

use crate::story::{ctx, fields, over, predictor, signature, state};

const GOOD: &str = "[[ ## score ## ]]\n7\n\n[[ ## completed ## ]]";
const BAD: &str = "[[ ## score ## ]]\nmany\n\n[[ ## completed ## ]]";
const SCHEMA: &str = r#"{"instructions": "Count.", "inputs": [{"name": "question"}],
    "outputs": [{"name": "score", "type": "int", "constraints": [{"assert": "this < 100", "label": "small"}]}]}"#;

async fn ask(ctx: &Ctx, state: &str) -> Result<Fields, PredictError> {
    let predictor = predictor(&signature("{}", SCHEMA), state);
    predictor.forward(ctx, fields(r#"{"question": "how many?"}"#)).await
}

fn script(answers: impl IntoIterator<Item = impl Into<ScriptedAnswer>>) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(answers))
}

fn shown(spans: &[Span]) -> Vec<(SpanKind, SpanStatus, Option<u32>)> {
    spans.iter().map(|span| (span.kind, span.status, span.attempt)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_valid_answer_is_returned_and_recorded() {
    let lm = script([GOOD]);
    let ctx = ctx(&lm);
    let outputs = ask(&ctx, "{}").await.unwrap();
    assert_eq!(Payload::map(outputs).to_json(), r#"{"score":7}"#);
    let spans = ctx.trace().take();
    let [predictor, lm] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(shown(&spans)[1], (SpanKind::Lm, SpanStatus::Succeeded, Some(1)));
    assert_eq!(
        (predictor.kind, predictor.predictor.as_deref()),
        (SpanKind::Predictor, Some("predictor"))
    );
    assert_eq!(predictor.inputs, Some(fields(r#"{"question": "how many?"}"#)));
    assert_eq!(predictor.outputs, Some(fields(r#"{"score": 7}"#)));
    assert_eq!((lm.raw.as_deref(), &*lm.node), (Some(GOOD), "triage"));
    let usage = lm.usage.unwrap();
    let cost = (usage.input_tokens as f64 + 2.0 * usage.output_tokens as f64) / 1e6;
    assert_eq!(usage.cost, Some(cost));
    let (prefix, turns) = lm.messages.as_ref().unwrap();
    assert_eq!((prefix.len(), turns.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_invalid_answer_is_retried_with_the_reason() {
    let lm = script([BAD, GOOD]);
    let ctx = ctx(&lm);
    assert_eq!(ask(&ctx, "{}").await.unwrap(), fields(r#"{"score": 7}"#));
    let second = &lm.requests()[1].chat.turns;
    assert_eq!(second[1].role, Role::Assistant);
    assert_eq!(&*second[1].content, BAD);
    insta::assert_snapshot!(&*second[2].content, @"
    Your answer does not fit:
    - `score`: expected a whole number, found `many`

    Write the whole answer again. Now write `[[ ## score ## ]]` (int), then `[[ ## completed ## ]]`.
    ");
    let spans = ctx.trace().take();
    assert_eq!(spans[1].error.as_deref(), Some("`score`: expected a whole number, found `many`"));
    assert_eq!((spans[2].attempt, spans[2].error.as_deref()), (Some(2), None));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stays_invalid_is_a_parse_error_with_the_raw_text() {
    let lm = script([GOOD.replace('7', "x"), BAD.into()]);
    let ctx = ctx(&lm);
    let error = ask(&ctx, "{}").await.unwrap_err();
    let PredictErrorKind::Parse { field, failure } = &error.kind else { panic!("{error:?}") };
    assert_eq!((field.as_deref(), &*failure.raw), (Some("score"), BAD));
    assert_eq!(&*failure.reason, "expected a whole number, found `many`");
    assert_eq!(error.predictor.as_deref(), Some("predictor"));
    assert_eq!(ctx.trace().take()[0].status, SpanStatus::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_failed_assert_is_a_constraint_error() {
    let big = GOOD.replace('7', "700");
    let lm = script([big.clone(), big.clone()]);
    let error = ask(&ctx(&lm), "{}").await.unwrap_err();
    let PredictErrorKind::Constraint { field, constraint, failure } = error.kind else {
        panic!("{error:?}")
    };
    assert_eq!((&*field, &*constraint, &*failure.raw), ("score", "small", &*big));
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_retried() {
    let busy = ScriptedAnswer::fail(LmErrorKind::Provider, "overloaded").status(503);
    let lm = script([busy, GOOD.into()]);
    let ctx = ctx(&lm);
    assert!(ask(&ctx, "{}").await.is_ok());
    let expected = [
        (SpanKind::Predictor, SpanStatus::Succeeded, None),
        (SpanKind::Lm, SpanStatus::Failed, Some(1)),
        (SpanKind::Lm, SpanStatus::Succeeded, Some(2)),
    ];
    assert_eq!(shown(&ctx.trace().take()), expected);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_fails_at_once() {
    let wait = Duration::from_secs(601);
    let lm = script([ScriptedAnswer::fail(LmErrorKind::RateLimited, "quota")
        .status(429)
        .retry_after(wait)]);
    let ctx = ctx(&lm);
    let error = ask(&ctx, "{}").await.unwrap_err();
    assert_eq!(error.kind, PredictErrorKind::RateLimited { retry_after: Some(wait) });
    assert_eq!(ctx.trace().elapsed(), Duration::ZERO);
    assert_eq!(error.lm_error().unwrap().status, Some(429));
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_fails_at_the_deadline_of_the_node() {
    let ctx = ctx(&script([ScriptedAnswer::hang()]));
    assert_eq!(ask(&ctx, "{}").await.unwrap_err().kind, PredictErrorKind::Timeout);
    assert!(ctx.trace().elapsed() < Duration::from_secs(601));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_waiting() {
    let ctx = ctx(&script([ScriptedAnswer::hang()]));
    let cancelled = ctx.run.cancelled.clone();
    let cancel = async { cancelled.cancel() };
    let (outcome, ()) = tokio::join!(ask(&ctx, "{}"), cancel);
    assert_eq!(outcome.unwrap_err().kind, PredictErrorKind::Cancelled);
    let statuses: Vec<_> = ctx.trace().take().iter().map(|span| span.status).collect();
    assert_eq!(statuses, [SpanStatus::Cancelled, SpanStatus::Cancelled]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_is_cancelled_in_the_trace() {
    let ctx = ctx(&script([ScriptedAnswer::hang()]));
    let left = tokio::time::timeout(Duration::from_secs(5), ask(&ctx, "{}")).await;
    assert!(left.is_err(), "the caller left");
    let spans = ctx.trace().take();
    let expected = [
        (SpanKind::Predictor, SpanStatus::Cancelled, None),
        (SpanKind::Lm, SpanStatus::Cancelled, Some(1)),
    ];
    assert_eq!(shown(&spans), expected);
    assert_eq!(spans[1].duration, Some(Duration::from_secs(5)));
    assert!(spans[1].messages.is_some() && spans[1].model.as_deref() == Some("tiny-1"));
}

#[tokio::test(start_paused = true)]
async fn an_unsent_request_is_not_in_the_trace() {
    for late in [true, false] {
        let ctx = ctx(&script([GOOD]));
        match late {
            true => tokio::time::advance(Duration::from_secs(601)).await,
            false => ctx.run.cancelled.cancel(),
        }
        assert!(ask(&ctx, "{}").await.is_err());
        let kinds: Vec<_> = ctx.trace().take().iter().map(|span| span.kind).collect();
        assert_eq!(kinds, [SpanKind::Predictor]);
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_and_missing_models_are_different_errors() {
    let error = ask(&ctx(&script([GOOD])), r#"{"lm": {"model": "slow"}}"#).await.unwrap_err();
    assert_eq!(error.kind, PredictErrorKind::UnknownModel { alias: "slow".into() });
    assert_eq!(error.message, "no model `slow` is configured; known: `fast`");
    let error = ask(&over(Models::default()), "{}").await.unwrap_err();
    assert_eq!(error.kind, PredictErrorKind::NoModel);
}

#[tokio::test(start_paused = true)]
async fn the_settings_of_the_state_override_those_of_the_model() {
    let lm = script([GOOD]);
    ask(&ctx(&lm), r#"{"lm": {"temperature": 0, "seed": 3}}"#).await.unwrap();
    let params = &lm.requests()[0].params;
    assert_eq!(
        (params.temperature, params.seed, params.max_tokens),
        (Some(0.0), Some(3), Some(50))
    );
}

#[test]
fn invalid_demos_are_all_reported_and_change_nothing() {
    let mut predictor = predictor(&signature("{}", SCHEMA), "{}");
    let before = predictor.prefix().clone();
    let state = state(
        r#"{"instruction": "new", "demos": [
            {"input": {"question": 3}, "output": {"scor": 1}},
            {"input": {}, "output": {"score": 1}},
            {"input": {"question": "a"}, "output": {}}]}"#,
    );
    let root = At::Root;
    let at = root.key("state");
    let problems = predictor.load_state(state, &at).unwrap_err();
    let found: Vec<_> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    assert_eq!(
        found,
        [
            "/state/demos/0/input/question wrong_type",
            "/state/demos/0/output/scor unknown_field",
            "/state/demos/1/input/question missing_field",
            "/state/demos/2/output missing_field",
        ]
    );
    assert_eq!((predictor.instruction(), predictor.prefix()), ("Count.", &before));
}

#[test]
fn a_state_document_round_trips() {
    let text = r#"{"instruction":"x","demos":[{"input":{"b":1,"a":2.0},"output":{"c":null}}],"lm":{"model":"m","temperature":0.5,"max_tokens":9,"top_p":1.0,"seed":-1,"stop":["a"]}}"#;
    assert_eq!(dsrs::predict::state_to_payload(&state(text)).to_json(), text);
    let empty = dsrs::predict::state_to_payload(&state(r#"{"effective_instruction": "y"}"#));
    assert_eq!(empty.to_json(), r#"{"instruction":null,"demos":[]}"#);
}

#[test]
fn settings_out_of_range_are_all_reported() {
    let mut problems = dsrs::problem::Problems::new();
    let lm = crate::story::json(
        r#"{"model": "m", "temperature": 3, "max_tokens": 0, "top_p": -0.1, "seed": 1.5, "stop": [], "tmp": 1}"#,
    );
    let readable = dsrs::predict::read_lm(&lm, &At::Root, &mut problems).unwrap();
    assert_eq!(readable.model.as_deref(), Some("m"));
    let found: Vec<_> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    assert_eq!(
        found,
        [
            "/temperature invalid_value",
            "/max_tokens invalid_value",
            "/top_p invalid_value",
            "/seed wrong_type",
            "/stop invalid_value",
            "/tmp unknown_field",
        ]
    );
}

/// A reply with one tool call.
fn asks_for(name: &str, arguments: &str) -> LmReply {
    let call = ToolCall { id: "c1".into(), name: name.into(), arguments: arguments.into() };
    LmReply { tool_calls: vec![call], ..LmReply::of("", "m") }
}

fn offered() -> Arc<ToolSet> {
    let parameters = RawValue::from_string(r#"{"type": "object"}"#.into()).unwrap_or_default();
    let (name, description) = ("search".into(), "finds".into());
    ToolSet::of([ToolSpec { name, description, parameters: parameters.into() }])
}

fn as_score(reply: &LmReply) -> Result<Fields, String> {
    let call = &reply.tool_calls[0];
    match &*call.arguments {
        "{}" => Ok(fields(r#"{"score": 7}"#)),
        other => Err(format!("the arguments of `{}` are not to be {other}", call.name)),
    }
}

#[tokio::test]
async fn a_model_with_native_tools_may_answer_with_tool_calls() {
    let lm = Arc::new(ScriptedLm::answering([asks_for("search", "[1]"), asks_for("search", "{}")]));
    let model = Model { tools: true, ..Model::of("default", lm.clone()) };
    let ctx = over(Models::new([model], None));
    let schema = signature("{}", r#""question -> score: int""#);
    let predictor = predictor(&schema, "{}");
    let question = fields(r#"{"question": "how many?"}"#);
    let outputs =
        predictor.forward_with_tools(&ctx, question, &offered(), as_score, |_| None).await.unwrap();
    assert_eq!(outputs, fields(r#"{"score": 7}"#));

    let asked = lm.requests();
    assert!(asked.iter().all(|request| request.tools.as_ref().is_some_and(|set| set.len() == 1)));
    let again: Vec<_> = asked[1].chat.turns.iter().skip(1).map(|said| &*said.content).collect();
    assert_eq!(again[0], "search([1])");
    assert!(again[1].contains("- the arguments of `search` are not to be [1]"), "{}", again[1]);
    let spans = ctx.trace().take();
    let calls: Vec<_> = spans.iter().flat_map(|span| &span.tool_calls).collect();
    assert_eq!((calls.len(), &*calls[1].arguments), (2, "{}"));
}

#[tokio::test]
async fn a_model_without_native_tools_gets_the_same_messages() {
    let lm = Arc::new(ScriptedLm::answering(["[[ ## score ## ]]\n7"]));
    let ctx = over(Models::only(lm.clone()));
    let schema = signature("{}", r#""question -> score: int""#);
    let predictor = predictor(&schema, "{}");
    let question = fields(r#"{"question": "how many?"}"#);
    let outputs =
        predictor.forward_with_tools(&ctx, question.clone(), &offered(), as_score, |_| None).await;
    assert_eq!(outputs.unwrap(), fields(r#"{"score": 7}"#));
    let sent: Vec<_> = lm.requests()[0].chat.messages().cloned().collect();
    assert_eq!(sent, predictor.render(&question));
    assert!(lm.requests()[0].tools.is_none());
}
