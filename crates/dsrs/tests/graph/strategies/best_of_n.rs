//! `best_of_n`: different attempts, scored by an expression, an LM or a stored graph.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{GraphModule, GraphState, Program};
use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::predict::{PredictErrorKind, PredictState, Span, SpanKind, SpanStatus};
use dsrs::problem::{At, Problems};
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, StoredEnv, StoredGraphRef};
use dsrs::value::Payload;
use tokio::time::Instant;

use super::support::{
    Env, answer, asked, assert_demos_are_seen, called, create_in, ctx, fields, module, outputs,
    paths, refused, run, run_on, signature_text,
};

/// Requires a short answer.
const SHORT: &str = r#"{"module": {"strategy": "chain_of_thought"}, "n": 3, "threshold": 1,
    "reward": {"expression": "1 / outputs.answer|length"}}"#;

/// A graph of one node `a` that answers a question.
fn graph(strategy: &str, config: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"a": {{"strategy": "{strategy}", "config": {config},
            "signature": "question -> answer", "retries": 0, "parse_retries": 0}}}}}}"#
    )
}

fn thought(text: &str) -> ScriptedAnswer {
    answer(&[("reasoning", "hm"), ("answer", text)]).into()
}

/// Number, status and reward of each attempt.
fn attempts(spans: &[Span]) -> Vec<String> {
    let attempts = spans.iter().filter(|span| span.kind == SpanKind::Attempt);
    let lines = attempts.map(|span| {
        let reward = span.reward.map_or_else(|| "none".to_owned(), |reward| reward.to_string());
        format!("{} {:?} {reward}", span.attempt.unwrap(), span.status)
    });
    lines.collect()
}

#[test]
fn best_of_n_has_the_signature_and_predictors_of_its_strategy() {
    let mut best = module("best_of_n", "question -> answer", SHORT);
    assert_eq!(signature_text(&*best), "question: str -> reasoning: str, answer: str");
    assert_eq!(paths(&*best), ["module.predict"]);
    assert_demos_are_seen(&mut *best);

    let config = r#"{"module": {"strategy": "predict"}, "reward": {"judge":
        {"signature": "answer -> score: float", "score": "score", "strategy": "chain_of_thought"}}}"#;
    let mut judged = module("best_of_n", "question -> answer", config);
    assert_eq!(paths(&*judged), ["module", "judge.predict"]);
    assert_demos_are_seen(&mut *judged);
}

#[tokio::test]
async fn the_search_stops_at_the_threshold_and_traces_each_attempt() {
    let lm = Arc::new(ScriptedLm::answering([thought("four"), thought("4"), thought("4!")]));
    let outcome = run(&graph("best_of_n", SHORT), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4"}"#);
    assert_eq!(attempts(&outcome.spans), ["1 Succeeded 0.25", "2 Succeeded 1"]);
    assert_eq!(called(&outcome.spans), ["module.predict", "module.predict"]);
    assert_eq!(outcome.usage.lm_calls, 2);
    let predictor = outcome.spans.iter().find(|span| span.kind == SpanKind::Predictor).unwrap();
    let parent = &outcome.spans[predictor.parent.unwrap().0 as usize - 1];
    assert_eq!((parent.kind, parent.attempt), (SpanKind::Attempt, Some(1)));
}

#[tokio::test]
async fn the_first_attempt_is_unchanged_and_the_others_differ() {
    let nested = r#"{"module": {"strategy": "best_of_n", "config": {"module": {"strategy": "predict"},
        "n": 2, "reward": {"expression": "0"}}}, "n": 2, "reward": {"expression": "0"}}"#;
    let best = module("best_of_n", "question -> answer", nested);
    assert_eq!(paths(&*best), ["module.module"]);
    let lm = Arc::new(ScriptedLm::always(answer(&[("answer", "4")])));
    best.forward(&ctx(&lm), fields(r#"{"question": "2 + 2?"}"#)).await.unwrap();
    let sent = |request: &LmRequest| (request.params.temperature, request.params.seed);
    let sent: Vec<_> = lm.requests().iter().map(sent).collect();
    let hot = Some(1.0);
    assert_eq!(sent, [(None, None), (hot, Some(1009)), (hot, Some(1)), (hot, Some(1010))]);
}

#[tokio::test]
async fn attempts_differ_despite_seed_and_temperature_of_the_state() {
    let config = r#"{"module": {"strategy": "predict"}, "n": 3, "reward": {"expression": "0"}}"#;
    let mut best = module("best_of_n", "question -> answer", config);
    let mut state = PredictState::default();
    (state.lm.params.temperature, state.lm.params.seed) = (Some(0.3), Some(7));
    for (_, predictor) in best.predictors_mut() {
        predictor.load_state(state.clone(), &At::Root).unwrap();
    }
    let lm = Arc::new(ScriptedLm::always(answer(&[("answer", "4")])));
    best.forward(&ctx(&lm), fields(r#"{"question": "2 + 2?"}"#)).await.unwrap();
    let sent = |request: &LmRequest| (request.params.temperature, request.params.seed);
    let sent: Vec<_> = lm.requests().iter().map(sent).collect();
    assert_eq!(sent, [(Some(0.3), Some(7)), (Some(0.3), Some(8)), (Some(0.3), Some(9))]);
}

#[tokio::test]
async fn the_earliest_best_attempt_wins_below_the_threshold() {
    let words = ["four", "4?", "4!"].map(thought);
    let lm = Arc::new(ScriptedLm::answering(words));
    let outcome = run(&graph("best_of_n", SHORT), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4?"}"#);
}

#[tokio::test(start_paused = true)]
async fn parallel_attempts_are_cancelled_once_one_is_good_enough() {
    let config = SHORT.replace("\"n\": 3", "\"n\": 3, \"parallel\": true");
    let answers = [
        ScriptedAnswer::hang(),
        thought("4").after(Duration::from_secs(2)),
        ScriptedAnswer::hang(),
    ];
    let lm = Arc::new(ScriptedLm::answering(answers));
    let started = Instant::now();
    let outcome = run(&graph("best_of_n", &config), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4"}"#);
    assert_eq!(started.elapsed().as_secs(), 2);
    assert_eq!(attempts(&outcome.spans), ["1 Cancelled none", "2 Succeeded 1", "3 Cancelled none"]);
    let stopped = outcome.spans.iter().filter(|span| span.status == SpanStatus::Cancelled);
    assert_eq!(stopped.count(), 6, "two attempts with a predictor and a request each");
}

#[tokio::test]
async fn failed_attempts_are_tolerated_up_to_fail_count() {
    let broken = || ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404);
    let lm = Arc::new(ScriptedLm::answering([broken(), thought("4")]));
    let outcome = run(&graph("best_of_n", SHORT), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4"}"#);
    assert_eq!(attempts(&outcome.spans), ["1 Failed none", "2 Succeeded 1"]);

    let strict = SHORT.replace("\"n\": 3", "\"n\": 3, \"fail_count\": 0");
    let lm = Arc::new(ScriptedLm::answering([broken(), thought("4")]));
    let outcome = run(&graph("best_of_n", &strict), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Lm);
    assert_eq!(lm.requests().len(), 1);

    let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::from("what?")));
    let outcome = run(&graph("best_of_n", SHORT), &lm, r#"{"question": "2 + 2?"}"#).await;
    let error = outcome.outputs.unwrap_err().error;
    assert!(matches!(error.kind, PredictErrorKind::Parse { .. }), "{error}");
    assert_eq!(error.predictor.as_deref(), Some("module.predict"));
    assert_eq!(lm.requests().len(), 3);
}

#[tokio::test]
async fn an_attempt_that_cannot_be_scored_fails_with_a_reason_in_the_trace() {
    let config = r#"{"module": {"strategy": "chain_of_thought"}, "n": 2, "threshold": 1,
        "reward": {"expression": "outputs.answer if outputs.answer == 'x' else 1"}}"#;
    let lm = Arc::new(ScriptedLm::answering([thought("x"), thought("4")]));
    let outcome = run(&graph("best_of_n", config), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4"}"#);
    let attempt = outcome.spans.iter().find(|span| span.kind == SpanKind::Attempt).unwrap();
    let error = attempt.error.as_deref().unwrap();
    assert!(error.contains("the result `x` is neither a number nor a boolean"), "{error}");

    let lm = Arc::new(ScriptedLm::always(thought("x")));
    let outcome = run(&graph("best_of_n", config), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Reward);
}

#[tokio::test]
async fn a_judge_sees_inputs_and_outputs_by_name_and_its_calls_are_counted() {
    let config = r#"{"module": {"strategy": "predict"}, "n": 2, "threshold": 0.9, "reward": {"judge":
        {"signature": "question, answer -> why, score: float", "score": "score"}}}"#;
    let judged = |score| answer(&[("why", "so"), ("score", score)]);
    let lm =
        [answer(&[("answer", "five")]), judged("0.1"), answer(&[("answer", "four")]), judged("1")];
    let lm = Arc::new(ScriptedLm::answering(lm));
    let outcome = run(&graph("best_of_n", config), &lm, r#"{"question": "2 + 2?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"four"}"#);
    assert_eq!(called(&outcome.spans), ["module", "judge", "module", "judge"]);
    assert_eq!(attempts(&outcome.spans), ["1 Succeeded 0.1", "2 Succeeded 1"]);
    assert_eq!(outcome.usage.lm_calls, 4);
    let requests = lm.requests();
    assert!(asked(&requests[3]).contains("2 + 2?") && asked(&requests[3]).contains("four"));
    assert_eq!(requests[3].params.seed, None, "a judge is the same for every attempt");
}

fn stored(document: &str) -> Result<Box<dyn DynModule>, GraphUnavailable> {
    let document = Payload::from_json(document).unwrap();
    Ok(Box::new(GraphModule::new(&document, &GraphState::default(), &Env).unwrap()))
}

/// A server with stored graphs; `grade` returns a bool.
pub(crate) struct Graphs;

impl BuildEnv for Graphs {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        Ok(StoredGraphRef { version: Some(3), ..graph.clone() })
    }

    fn graph(&self, pin: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        match &*pin.graph {
            "grade" => Ok(module("predict", "answer, hint: str? -> good: bool", "{}")),
            "draft" => stored(&graph("chain_of_thought", "{}")),
            "search" => stored(&graph("best_of_n", &SHORT.replace("\"n\": 3", "\"n\": 50"))),
            "hasty" => stored(
                r#"{"name": "h", "nodes": {"a": {"strategy": "predict", "timeout_ms": 100,
                    "signature": "question -> answer"}}}"#,
            ),
            "two" => stored(
                r#"{"name": "t", "nodes": {
                    "a": {"strategy": "predict", "timeout_ms": 100, "signature": "question -> answer"},
                    "b": {"strategy": "predict", "signature": "question -> note"}}}"#,
            ),
            "translate" => Ok(module("predict", "answer, tongue -> text", "{}")),
            other => Err(GraphUnavailable::new(format!("there is no stored graph `{other}`"))),
        }
    }
}

#[tokio::test]
async fn the_only_number_or_bool_of_a_stored_graph_is_its_reward() {
    let config = r#"{"module": {"strategy": "predict"}, "n": 2, "threshold": 1,
        "reward": {"graph": "grade"}}"#;
    let best = create_in(&Graphs, "best_of_n", "question -> answer", config).unwrap();
    assert_eq!(paths(&*best), ["module"]);
    let lm = ["five", "four"].map(|text| answer(&[("answer", text)]));
    let [five, four] = lm;
    let good = |flag| answer(&[("good", flag)]);
    let lm = Arc::new(ScriptedLm::answering([five, good("no"), four, good("yes")]));
    let outputs = best.forward(&ctx(&lm), fields(r#"{"question": "2 + 2?"}"#)).await.unwrap();
    assert_eq!(Payload::map(outputs).to_json(), r#"{"answer":"four"}"#);

    let refused = |graph: &str| {
        let config = config.replace("grade", graph);
        let found = create_in(&Graphs, "best_of_n", "question -> answer", &config);
        found.err().unwrap().to_string()
    };
    assert!(refused("translate").contains("`text` of `translate` is `str`"));
    assert!(refused("nothing").starts_with("/config/reward/graph: there is no stored graph"));
}

#[tokio::test]
async fn a_reward_graph_is_pinned_and_fails_in_execution_once_deleted() {
    let config = r#"{"module": {"strategy": "best_of_n", "config": {"module": {"strategy": "predict"},
        "reward": {"graph": "grade"}}}, "reward": {"graph": "grade"}}"#;
    let document = Payload::from_json(&graph("best_of_n", config)).unwrap();
    let program = Program::from_document(&document, &Graphs).unwrap();
    let text = program.canonical_text();
    assert_eq!(text.matches(r#""reward":{"graph":"grade","version":3}"#).count(), 2, "{text}");

    let stored = Program::from_document(program.document(), &StoredEnv).unwrap();
    let lm = Arc::new(ScriptedLm::always(answer(&[("answer", "four")])));
    let outcome = stored.execute(&run_on(&lm), fields(r#"{"question": "2 + 2?"}"#)).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Missing);
}

#[test]
fn all_problems_of_a_search_are_reported_at_their_places() {
    let config = r#"{"module": {"strategy": "predictt"}, "reward": {"expression": "outputs.x +"}}"#;
    assert_eq!(
        refused("best_of_n", "question -> answer", config),
        ["/config/module/strategy unknown_strategy", "/config/reward/expression invalid_config"]
    );
    let of = |reward: &str| {
        let config = format!(r#"{{"module": {{"strategy": "predict"}}, "reward": {reward}}}"#);
        refused("best_of_n", "question -> answer", &config)
    };
    assert_eq!(
        of(r#"{"expression": "inputs.questoin + outputs.answer|length + score"}"#),
        ["/config/reward/expression unknown_field", "/config/reward/expression unknown_field"]
    );
    let method = of(r#"{"expression": "outputs.answer.shout()|length"}"#);
    assert_eq!(method, ["/config/reward/expression invalid_config"], "there is no such method");
    let slice = of(r#"{"expression": "outputs.anser[:1] == 'a'"}"#);
    assert_eq!(slice, ["/config/reward/expression unknown_field"]);
    assert_eq!(of("{}"), ["/config/reward invalid_config"]);
    assert_eq!(of(r#"{"expression": "1", "graph": "g"}"#), ["/config/reward invalid_config"]);
    assert_eq!(of(r#"{"graph": "g"}"#), ["/config/reward/graph invalid_config"]);
    assert_eq!(of(r#"{"expression": "1", "version": 2}"#), ["/config/reward invalid_config"]);
    assert_eq!(
        of(r#"{"judge": {"signature": "answer: int, tone -> score", "score": "points"}}"#),
        [
            "/config/reward/judge/score unknown_field",
            "/config/reward/judge/signature type_mismatch",
            "/config/reward/judge/signature unconnected_input"
        ]
    );
    assert_eq!(
        of(r#"{"judge": {"signature": "answer ->", "score": "score", "strategy": "no"}}"#),
        [
            "/config/reward/judge/signature invalid_signature",
            "/config/reward/judge/strategy unknown_strategy"
        ]
    );
    assert_eq!(refused("best_of_n", "question -> reasoning", SHORT), ["/signature duplicate_name"]);
    let unknown = r#"{"module": {"strategy": "predict", "conf": {}}, "m": 1, "reward": {"x": 1}}"#;
    assert_eq!(
        refused("best_of_n", "question -> answer", unknown),
        [
            "/config/module invalid_config",
            "/config/reward invalid_config",
            "/config invalid_config"
        ]
    );
}

#[test]
fn attempts_within_attempts_are_bounded_together() {
    let inner = r#"{"strategy": "best_of_n", "config": {"module": {"strategy": "predict"},
        "n": 50, "reward": {"expression": "1"}}}"#;
    let of =
        |n: u32| format!(r#"{{"module": {inner}, "n": {n}, "reward": {{"expression": "1"}}}}"#);
    assert_eq!(refused("best_of_n", "x -> y", &of(21)), ["/config/n too_large"]);
    assert_eq!(create_in(&Env, "best_of_n", "x -> y", &of(20)).unwrap().attempts(), 1000);

    let of =
        |n: u32| of(n).replace(inner, r#"{"strategy": "graph", "config": {"graph": "search"}}"#);
    let found = create_in(&Graphs, "best_of_n", "question -> answer", &of(21)).err().unwrap();
    assert!(found.to_string().starts_with("/config/n: 21 attempts"), "{found}");
    let found = create_in(&Graphs, "best_of_n", "question -> answer", &of(20)).unwrap();
    assert_eq!(found.attempts(), 1000, "those of a stored graph count too");
}

#[tokio::test]
async fn a_wrapped_graph_has_its_own_signature_and_state() {
    let config = r#"{"module": {"strategy": "graph", "config": {"graph": "draft"}}, "n": 2,
        "threshold": 1, "reward": {"expression": "1 / outputs.answer|length"}}"#;
    let document = graph("best_of_n", config).replace(r#""signature": "question -> answer", "#, "");
    let program = Program::from_document(&Payload::from_json(&document).unwrap(), &Graphs).unwrap();
    let tuned = |text: &str| {
        let state = format!(r#"{{"a.module.a.predict": {{"instruction": "{text}"}}}}"#);
        let (state, mut problems) = (Payload::from_json(&state).unwrap(), Problems::new());
        GraphState::read(&state, &At::Root, &mut problems).unwrap()
    };
    let once = program.with_state(&Graphs, &tuned("Think twice."), &At::Root).unwrap();
    let twice = once.with_state(&Graphs, &tuned("Think thrice."), &At::Root).unwrap();
    let lm = Arc::new(ScriptedLm::answering([thought("four"), thought("4")]));
    let outcome = twice.execute(&run_on(&lm), fields(r#"{"question": "2 + 2?"}"#)).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":"hm","answer":"4"}"#);
    assert_eq!(called(&outcome.spans), ["module.a.predict", "module.a.predict"]);
    assert!(lm.requests().iter().all(|sent| sent.chat.prefix[0].content.contains("thrice")));
    assert_eq!(lm.requests()[1].params.seed, Some(1));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_run_ends_the_search() {
    for parallel in [false, true] {
        let config = SHORT.replace("\"n\": 3", &format!("\"n\": 3, \"parallel\": {parallel}"));
        let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::hang()));
        let run = run_on(&lm);
        let cancel = run.cancelled.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            cancel.cancel();
        });
        let program = super::support::build(&graph("best_of_n", &config));
        let outcome = program.execute(&run, fields(r#"{"question": "?"}"#)).await;
        assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Cancelled);
        assert_eq!(lm.requests().len(), if parallel { 3 } else { 1 });
        assert!(outcome.spans.iter().all(|span| span.status == SpanStatus::Cancelled));
    }
    let lm = Arc::new(ScriptedLm::always(thought("4")));
    let unknown =
        graph("best_of_n", SHORT).replace(r#""retries": 0"#, r#""lm": {"model": "default"}"#);
    let program = super::support::build(&unknown);
    let models = dsrs::lm::Models::new([], None);
    let late = Instant::now() + Duration::from_secs(600);
    let run = Arc::new(dsrs::predict::RunScope::new(Arc::new(models), late));
    let outcome = program.execute(&run, fields(r#"{"question": "?"}"#)).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::NoModel);
    assert_eq!(attempts(&outcome.spans), ["1 Failed none"]);
    assert!(lm.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_exceeds_its_own_time_limit_has_failed() {
    for strategy in ["best_of_n", "refine", "parallel", "majority"] {
        let rewarded = r#", "reward": {"expression": "1"}"#;
        let reward = if strategy.ends_with('l') { r#", "fail_count": 1"# } else { rewarded };
        let reward = if strategy == "majority" { "" } else { reward };
        let config = format!(
            r#"{{"module": {{"strategy": "graph", "config": {{"graph": "hasty"}}}}, "n": 2{reward}}}"#
        );
        let best = create_in(&Graphs, strategy, "question -> answer", &config).unwrap();
        let lm = Arc::new(ScriptedLm::answering([
            ScriptedAnswer::hang(),
            answer(&[("answer", "4")]).into(),
        ]));
        let ctx = ctx(&lm);
        let found = best.forward(&ctx, fields(r#"{"question": "2 + 2?"}"#)).await.unwrap();
        assert!(Payload::map(found).to_json().contains(r#""4""#), "{strategy}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_span_of_a_failed_graph_stays_open() {
    let config = r#"{"module": {"strategy": "graph", "config": {"graph": "two"}}, "n": 2,
        "reward": {"expression": "1"}}"#;
    let best = create_in(&Graphs, "best_of_n", "question -> answer, note", config).unwrap();
    let said = |field| ScriptedAnswer::from(answer(&[(field, "4")]));
    let late = said("note").after(Duration::from_secs(5));
    let lm = [ScriptedAnswer::hang(), ScriptedAnswer::hang(), said("answer"), late];
    let ctx = ctx(&Arc::new(ScriptedLm::answering(lm)));
    best.forward(&ctx, fields(r#"{"question": "2 + 2?"}"#)).await.unwrap();
    let spans = ctx.trace().take();
    let failed = spans.iter().filter(|span| span.status != SpanStatus::Succeeded);
    let lasted: Vec<_> = failed.map(|span| span.duration.unwrap().as_millis()).collect();
    assert_eq!(lasted.len(), 7, "the attempt, its nodes, their predictors and requests");
    assert!(lasted.iter().all(|lasted| *lasted < 200), "{lasted:?}");
}
