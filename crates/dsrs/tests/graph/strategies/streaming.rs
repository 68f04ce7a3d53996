//! Streaming: fields are sent as they arrive, whatever the strategy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::lm::{
    DeltaSink, Lm, LmErrorKind, LmReply, LmRequest, Model, Models, ScriptedAnswer, ScriptedLm,
    ToolCall,
};
use dsrs::predict::{Ctx, NodeScope, RunEvent, RunListener, RunScope, Span, SpanKind, SpanStatus};
use dsrs::value::{Fields, Payload};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::best_of_n::Graphs;
use super::program_of_thought::{SUM, With};
use super::support::{Env, answer, build, create_in, fields, outputs, run_on};

/// Records the events that it receives, and the texts of each span.
#[derive(Default)]
struct RecordingListener {
    lines: Mutex<Vec<String>>,
    texts: Mutex<BTreeMap<(u32, String), String>>,
}

impl RunListener for RecordingListener {
    fn receive(&self, event: RunEvent<'_>) {
        let line = match event {
            RunEvent::NodeStarted { node } => format!("{node} started"),
            RunEvent::NodeDelta { call, field, text } => {
                let key = (call.span.0, field.to_string());
                self.texts.lock().unwrap().entry(key).or_default().push_str(text);
                format!("{} {} {field} {text:?}", call.node, call.predictor)
            }
            RunEvent::NodeRetry { call, attempt, reason } => {
                self.texts.lock().unwrap().retain(|(span, _), _| *span != call.span.0);
                format!("{} {} again, {attempt}: {reason}", call.node, call.predictor)
            }
            RunEvent::NodeCompleted { node, outputs, usage, .. } => {
                let outputs = Payload::map(outputs.clone()).to_json();
                format!("{node} completed {outputs} with {} calls", usage.lm_calls)
            }
            RunEvent::NodeFailed { node, error, .. } => format!("{node} failed: {error}"),
        };
        self.lines.lock().unwrap().push(line);
    }
}

impl RecordingListener {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The text that was sent for a field in a span.
    fn text(&self, span: usize, field: &str) -> Option<String> {
        let span = u32::try_from(span + 1).unwrap();
        self.texts.lock().unwrap().get(&(span, field.to_owned())).cloned()
    }
}

/// A run over one model with a listener.
fn streamed_run(lm: &Arc<ScriptedLm>) -> (Arc<RunScope>, Arc<RecordingListener>) {
    let (run, listener) = (run_on(lm), Arc::new(RecordingListener::default()));
    let mut run = Arc::into_inner(run).unwrap();
    run.listener = Some(listener.clone());
    (Arc::new(run), listener)
}

const TWO: &str = r#"{"name": "g", "nodes": {
    "draft": {"strategy": "chain_of_thought", "signature": "topic -> text"},
    "title": {"strategy": "predict", "signature": "text -> title, words: int"}},
    "edges": [{"from": "draft.text", "to": "title.text"}]}"#;

#[tokio::test]
async fn nodes_and_fields_are_streamed_as_they_arrive() {
    let lm = Arc::new(ScriptedLm::answering([
        answer(&[("reasoning", "Rain is wet."), ("text", "It rains.")]),
        answer(&[("title", "Rain"), ("words", "2")]),
    ]));
    let (run, listener) = streamed_run(&lm);
    let outcome = build(TWO).execute(&run, fields(r#"{"topic": "rain"}"#)).await;
    assert_eq!(outputs(&outcome), r#"{"title":"Rain","words":2}"#);
    assert_eq!(
        listener.lines(),
        [
            r#"draft started"#,
            r#"draft predict reasoning "Rai""#,
            r#"draft predict reasoning "n is""#,
            r#"draft predict reasoning " wet.""#,
            r#"draft predict text "It""#,
            r#"draft predict text " rain""#,
            r#"draft predict text "s.""#,
            r#"draft completed {"reasoning":"Rain is wet.","text":"It rains."} with 1 calls"#,
            r#"title started"#,
            r#"title  title "Ra""#,
            r#"title  title "in""#,
            r#"title  words "2""#,
            r#"title completed {"title":"Rain","words":2} with 1 calls"#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn deltas_of_a_broken_or_invalid_answer_are_retracted() {
    let lm = Arc::new(ScriptedLm::answering([
        ScriptedAnswer::broken(
            "[[ ## title ## ]]\nA ti",
            LmErrorKind::Connection,
            "the line is dead",
        ),
        answer(&[("title", "A title"), ("words", "many")]).into(),
        answer(&[("title", "A better title"), ("words", "3")]).into(),
    ]));
    let (run, listener) = streamed_run(&lm);
    let one = r#"{"name": "g", "nodes": {"title":
        {"strategy": "predict", "signature": "text -> title, words: int"}}}"#;
    let outcome = build(one).execute(&run, fields(r#"{"text": "t"}"#)).await;
    assert!(outcome.outputs.is_ok());
    let again: Vec<_> =
        listener.lines().into_iter().filter(|line| line.contains("again")).collect();
    assert_eq!(again.len(), 2, "{again:?}");
    assert_eq!(again[0], "title  again, 2: the line is dead");
    assert!(again[1].starts_with("title  again, 3: "), "{again:?}");
    assert!(again[1].contains("words"), "{again:?}");
    assert_eq!(listener.text(1, "title").as_deref(), Some("A better title"));
}

#[tokio::test]
async fn a_failed_node_is_streamed_with_its_error() {
    let lm =
        Arc::new(ScriptedLm::always(ScriptedAnswer::fail(LmErrorKind::Refused, "no such model")));
    let (run, listener) = streamed_run(&lm);
    let outcome = build(TWO).execute(&run, fields(r#"{"topic": "rain"}"#)).await;
    assert!(outcome.outputs.is_err());
    assert_eq!(listener.lines(), ["draft started", "draft failed: no such model"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_cancelled_during_an_answer_stops_at_once() {
    let slow = answer(&[("reasoning", "a long story"), ("text", "t")]);
    let lm =
        Arc::new(ScriptedLm::always(ScriptedAnswer::from(slow).pausing(Duration::from_secs(1))));
    let (run, listener) = streamed_run(&lm);
    let cancel = run.cancelled.clone();
    let program = build(TWO);
    let stop = async {
        tokio::time::sleep(Duration::from_millis(7500)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(program.execute(&run, fields(r#"{"topic": "r"}"#)), stop);
    assert!(outcome.outputs.unwrap_err().error.to_string().contains("cancelled"));
    let lines = listener.lines();
    assert_eq!(lines.last().unwrap(), r#"draft predict reasoning "tory""#, "{lines:?}");
}

/// An LM that answers every section of any prompt.
fn talkative() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::sections([
        ("reasoning", "because it is so"),
        ("next_thought", "that is enough"),
        ("next_tool_name", "finish"),
        ("next_tool_args", "{}"),
        ("rationale", "they agree"),
        ("discussion", "it was too short"),
        ("advice", "{\"module\": \"say more\"}"),
        ("answer", "an answer of some words"),
        ("score", "0.5"),
    ]))
}

/// Every predictor that succeeded has streamed its texts.
fn assert_texts_were_streamed(strategy: &str, spans: &[Span], listener: &RecordingListener) {
    let mut count = 0;
    for (index, span) in spans.iter().enumerate() {
        if span.kind != SpanKind::Predictor || span.status != SpanStatus::Succeeded {
            continue;
        }
        for (name, value) in span.outputs.iter().flatten() {
            let Payload::Str(value) = value else { continue };
            let path = span.predictor.as_deref().unwrap_or_default();
            let streamed = listener.text(index, name).unwrap_or_default();
            assert_eq!(streamed, **value, "{strategy} {path} {name}");
            count += 1;
        }
    }
    assert!(count > 0, "{strategy} streamed nothing");
}

#[tokio::test]
async fn every_strategy_streams_the_fields_of_its_predictors() {
    let judged =
        r#""reward": {"judge": {"signature": "answer -> score: float", "score": "score"}}"#;
    let cases = [
        ("predict", "{}".to_owned()),
        ("chain_of_thought", "{}".to_owned()),
        ("react", r#"{"tools": ["calculator"]}"#.to_owned()),
        ("majority", r#"{"module": {"strategy": "chain_of_thought"}, "n": 3}"#.to_owned()),
        ("parallel", r#"{"module": {"strategy": "predict"}, "n": 2}"#.to_owned()),
        ("multi_chain_comparison", r#"{"m": 2}"#.to_owned()),
        (
            "best_of_n",
            format!(
                r#"{{"module": {{"strategy": "predict"}}, "n": 2, "parallel": true, {judged}}}"#
            ),
        ),
        (
            "refine",
            format!(r#"{{"module": {{"strategy": "predict"}}, "n": 2, "threshold": 1, {judged}}}"#),
        ),
        ("graph", r#"{"graph": "draft"}"#.to_owned()),
    ];
    for (strategy, config) in cases {
        let module = create_in(&Graphs, strategy, "question -> answer", &config)
            .unwrap_or_else(|problems| panic!("{strategy}: {problems}"));
        let (run, listener) = streamed_run(&talkative());
        let ctx = in_node(run);
        module.forward(&ctx, fields(r#"{"question": "why?"}"#)).await.unwrap();
        assert_texts_were_streamed(strategy, &ctx.trace().take(), &listener);
    }
}

#[tokio::test]
async fn a_program_and_the_outputs_after_it_are_streamed() {
    let lm = Arc::new(ScriptedLm::sections([
        ("reasoning", "one line will do"),
        ("generated_code", "sum(numbers)"),
        ("sum", "3"),
    ]));
    let env = With { sandbox: true, stored: false };
    let module = create_in(&env, "program_of_thought", SUM, "{}").unwrap();
    let (run, listener) = streamed_run(&lm);
    let ctx = in_node(run);
    module.forward(&ctx, fields(r#"{"numbers": [1, 1, 1]}"#)).await.unwrap();
    assert_texts_were_streamed("program_of_thought", &ctx.trace().take(), &listener);
}

fn in_node(run: Arc<RunScope>) -> Ctx {
    let node = NodeScope {
        node: "a".into(),
        lm: Default::default(),
        retries: 0,
        parse_retries: 0,
        deadline: Instant::now() + Duration::from_secs(600),
    };
    Ctx::of(run, Arc::new(node), None)
}

const SCORED: &str = "question -> answer, score: int";

/// Predicts with an LM, and checks that the output fields were streamed.
async fn predict_streamed(lm: Arc<dyn Lm>, case: &str) {
    let models = Models::new([Model::of("default", lm)], Some("default".into()));
    let mut run = RunScope::new(Arc::new(models), Instant::now() + Duration::from_secs(600));
    let listener = Arc::new(RecordingListener::default());
    run.listener = Some(listener.clone());
    let ctx = in_node(Arc::new(run));
    let module = create_in(&Env, "predict", SCORED, "{}").unwrap();
    module.forward(&ctx, fields(r#"{"question": "why?"}"#)).await.unwrap();
    assert_texts_were_streamed(case, &ctx.trace().take(), &listener);
    assert_eq!(listener.text(0, "score").as_deref(), Some("7"), "{case}");
}

#[tokio::test]
async fn an_answer_in_any_layout_is_streamed_as_its_fields() {
    for said in [
        "{\"answer\": \"so \\\"it\\\" is\\n\", \"score\": 7}",
        "```json\n{\"score\": 7, \"answer\": \"so it is\"}\n```",
        "<answer>so it is</answer>\n<score>7</score>",
        "answer: so it is\nscore: 7",
        "so it is\n[[ ## score ## ]]\n7\n[[ ## completed ##\n",
        "[[ ## score ## ]]\n7\n[[ ## answer ## ]]\nso it is",
    ] {
        predict_streamed(Arc::new(ScriptedLm::always(LmReply::of(said, "m"))), said).await;
    }
}

/// Answers without streaming.
struct SilentLm(String);

impl Lm for SilentLm {
    fn complete<'a>(
        &'a self,
        _: &'a LmRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, dsrs::lm::LmError>> {
        Box::pin(async { Ok(LmReply::of(self.0.as_str(), "m")) })
    }
}

#[tokio::test]
async fn an_answer_that_was_not_streamed_is_sent_at_the_end() {
    let said = answer(&[("answer", "so it is"), ("score", "7")]);
    predict_streamed(Arc::new(SilentLm(said)), "silent").await;
}

#[tokio::test]
async fn native_tool_calls_are_streamed_as_fields() {
    let call = ToolCall {
        id: "1".into(),
        name: "calculator".into(),
        arguments: r#"{"expression": "6 * 7"}"#.into(),
    };
    let asks = LmReply { tool_calls: vec![call], ..LmReply::of("I shall calculate.", "m") };
    let ends = ToolCall { id: "2".into(), name: "finish".into(), arguments: "{}".into() };
    let ends = LmReply { tool_calls: vec![ends], ..LmReply::of("", "m") };
    let last = answer(&[("reasoning", "as it was"), ("answer", "42")]);
    let lm = ScriptedLm::answering([ScriptedAnswer::from(asks), ends.into(), last.into()]);
    let model = Model { tools: true, ..Model::of("default", Arc::new(lm)) };
    let models = Arc::new(Models::new([model], Some("default".into())));
    let mut run = RunScope::new(models, Instant::now() + Duration::from_secs(600));
    let listener = Arc::new(RecordingListener::default());
    run.listener = Some(listener.clone());
    let agent = create_in(&Env, "react", "question -> answer", r#"{"tools": ["calculator"]}"#);
    let ctx = in_node(Arc::new(run));
    let given = agent.unwrap().forward(&ctx, fields(r#"{"question": "6 * 7?"}"#)).await.unwrap();
    assert_eq!(given, Fields::from_iter([("answer".into(), Payload::str("42"))]));
    let lines = listener.lines().join("\n");
    assert!(lines.contains(r#"a extract.predict answer "42""#), "{lines}");
    assert!(lines.contains(r#"next_tool_name "calculator""#), "{lines}");
    assert_texts_were_streamed("react", &ctx.trace().take(), &listener);
}
