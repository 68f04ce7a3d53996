//! Control flow within a graph: `switch`, `loop`, `try`, and subgraphs that run only if they are chosen.

use std::sync::Arc;

use dsrs::graph::{Outcome, Program};
use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use dsrs::predict::{PredictErrorKind, SpanKind};
use dsrs::value::Payload;

use crate::strategies::support::{answer, called, fields, json, run_on};

struct Env;

impl dsrs::strategy::BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

fn read(document: &str) -> Result<Program, String> {
    Program::from_document(&json(document), &Env).map_err(|problems| {
        let texts = problems
            .iter()
            .map(|found| format!("{} {}: {}", found.pointer, found.code, found.detail));
        texts.collect::<Vec<_>>().join("\n")
    })
}

async fn run(document: &str, lm: &Arc<ScriptedLm>, inputs: &str) -> Outcome {
    let program = read(document).unwrap_or_else(|problems| panic!("{problems}"));
    program.execute(&run_on(lm), fields(inputs)).await
}

fn saying(answers: &[&[(&str, &str)]]) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(answers.iter().map(|said| answer(said))))
}

fn outputs(outcome: &Outcome) -> String {
    let outputs = outcome.outputs.as_ref().unwrap_or_else(|error| panic!("{error}"));
    Payload::map(outputs.clone()).to_json()
}

const ROUTER: &str = r#"{
    "name": "router",
    "types": {"Topic": {"enum": {"billing": null, "shipping": null, "other": null}}},
    "nodes": {
        "sort": {"strategy": "predict", "signature": "ticket -> topic: Topic"},
        "reply": {"strategy": "switch", "config": {
            "on": "topic",
            "cases": {
                "billing": {"strategy": "predict", "signature": "ticket -> reply"},
                "shipping": {"strategy": "subgraph", "config": {"nodes": {
                    "find": {"strategy": "predict", "signature": "ticket -> number: int"},
                    "say": {"strategy": "predict", "signature": "ticket, number: int -> reply"}},
                    "edges": [{"from": "find.number", "to": "say.number"}]}}
            },
            "else": {"strategy": "chain_of_thought", "signature": "ticket -> reply"}
        }}
    },
    "edges": [{"from": "sort.topic", "to": "reply.topic"}],
    "outputs": {"reply": "reply.reply"}
}"#;

#[tokio::test]
async fn only_the_strategy_of_the_value_runs() {
    let ticket = r#"{"ticket": "Where is it?"}"#;
    let lm = saying(&[&[("topic", "billing")], &[("reply", "Paid.")]]);
    let found = run(ROUTER, &lm, ticket).await;
    assert_eq!(outputs(&found), r#"{"reply":"Paid."}"#);
    assert_eq!(called(&found.spans), ["", "billing"]);

    let lm = saying(&[&[("topic", "shipping")], &[("number", "7")], &[("reply", "Turku.")]]);
    let found = run(ROUTER, &lm, ticket).await;
    assert_eq!(outputs(&found), r#"{"reply":"Turku."}"#);
    assert_eq!(called(&found.spans), ["", "shipping.find", "shipping.say"]);

    let lm = saying(&[&[("topic", "other")], &[("reasoning", "Hm."), ("reply", "Hello.")]]);
    let found = run(ROUTER, &lm, ticket).await;
    assert_eq!(called(&found.spans), ["", "else.predict"]);
}

#[test]
fn the_predictors_of_all_cases_can_be_tuned() {
    let program = read(ROUTER).unwrap();
    let paths: Vec<String> = program.predictors().into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        [
            "sort",
            "reply.billing",
            "reply.shipping.find",
            "reply.shipping.say",
            "reply.else.predict"
        ]
    );
    let again = read(program.canonical_text()).unwrap();
    assert_eq!(again.canonical_text(), program.canonical_text());
}

#[test]
fn every_value_has_a_case_and_every_case_a_value() {
    let switch = |ty: &str, config: &str| {
        read(&format!(
            r#"{{"name": "g", "inputs": {{"x": {ty}, "a": "str"}}, "nodes": {{"s": {{"strategy": "switch", "config": {{"on": "x", {config}}}}}}},
                "edges": [{{"from": "input.x", "to": "s.x"}}]}}"#
        ))
        .map(|_| ())
    };
    let case = r#"{"strategy": "predict", "signature": "a -> b"}"#;
    let two = format!(r#""cases": {{"true": {case}, "false": {case}}}"#);
    assert_eq!(switch(r#""bool""#, &two), Ok(()));
    let literals = r#""'yes' | 'no' | null""#.replace('\'', "\\\"");
    assert_eq!(
        switch(&literals, &format!(r#""cases": {{"yes": {case}, "nos": {case}}}"#)),
        Err("/nodes/s/config/cases/nos unknown_field: `x` is never `nos`; did you mean `no`?; it is yes, no, null\n\
             /nodes/s/config/cases missing_field: no case for no, null; add it, or an `else`"
            .to_owned())
    );
    assert_eq!(
        switch(r#""str""#, &format!(r#""cases": {{"yes": {case}}}"#)),
        Err("/nodes/s/config/else missing_field: `x` is `str`, which has values without a case"
            .to_owned())
    );
    assert_eq!(
        switch(r#""str""#, &format!(r#""cases": {{"yes": {case}}}, "else": {case}"#)),
        Ok(())
    );
    let other = r#"{"strategy": "predict", "signature": "a: int -> b"}"#;
    let found = switch(r#""bool""#, &format!(r#""cases": {{"true": {case}, "false": {other}}}"#));
    assert_eq!(
        found,
        Err("/nodes/s/config/cases/false type_mismatch: the input `a` is `str` in `true` and `int` here; no value is both"
            .to_owned())
    );
}

const JUDGED: &str = r#"{
    "name": "judged",
    "nodes": {
        "draft": {"strategy": "loop", "config": {
            "max": 3,
            "carry": {"text": "draft"},
            "until": "good and rounds > 1",
            "module": {"strategy": "subgraph", "config": {
                "inputs": {"topic": "str", "text": {"type": "str", "default": ""}},
                "nodes": {
                    "write": {"strategy": "predict", "signature": "topic, text -> better"},
                    "judge": {"strategy": "predict", "signature": "better -> good: bool"}},
                "edges": [{"from": "write.better", "to": "judge.better"}],
                "outputs": {"draft": "write.better", "good": "judge.good"}}}
        }}
    }
}"#;

#[tokio::test]
async fn a_loop_carries_outputs_into_the_next_round_and_ends_early() {
    let lm = saying(&[
        &[("better", "one")],
        &[("good", "true")],
        &[("better", "two")],
        &[("good", "true")],
    ]);
    let found = run(JUDGED, &lm, r#"{"topic": "tea"}"#).await;
    assert_eq!(outputs(&found), r#"{"draft":"two","good":true,"rounds":2}"#);
    let asked: Vec<String> = lm.requests().iter().map(crate::strategies::support::asked).collect();
    assert!(asked[2].contains("one"), "{}", asked[2]);
    let rounds = found.spans.iter().filter(|span| span.kind == SpanKind::Round);
    assert_eq!(rounds.map(|span| span.attempt.unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_loop_without_a_true_condition_returns_its_last_round_or_fails() {
    let rounds = [[("better", "x")], [("good", "false")]];
    let said: Vec<&[(&str, &str)]> = rounds.iter().cycle().take(6).map(|one| &one[..]).collect();
    let found = run(JUDGED, &saying(&said), r#"{"topic": "tea"}"#).await;
    assert_eq!(outputs(&found), r#"{"draft":"x","good":false,"rounds":3}"#);
    let strict = JUDGED.replace(r#""max": 3,"#, r#""max": 3, "at_limit": "fail","#);
    let error = run(&strict, &saying(&said), r#"{"topic": "tea"}"#).await.outputs.unwrap_err();
    assert_eq!(error.error.message, "`until` was not true after 3 rounds");
    assert_eq!(error.error.kind, PredictErrorKind::Op);
}

#[tokio::test]
async fn a_loop_over_an_op_computes() {
    let document = r#"{"name": "g", "inputs": {"left": "int"}, "nodes": {
        "twice": {"strategy": "loop", "config": {"max": 4, "carry": {"left": "sum"}, "module": {"strategy": "subgraph", "config": {
            "inputs": {"left": "int"},
            "nodes": {"sum": {"strategy": "add", "config": {}}},
            "edges": [{"from": "input.left", "to": "sum.left"}, {"from": "input.left", "to": "sum.right"}],
            "outputs": {"sum": "sum.value"}}}}}},
        "edges": [{"from": "input.left", "to": "twice.left"}]}"#;
    let found = run(document, &saying(&[]), r#"{"left": 3}"#).await;
    assert_eq!(outputs(&found), r#"{"sum":48,"rounds":4}"#);
}

#[test]
fn what_a_loop_carries_has_the_type_of_the_next_round() {
    let document = JUDGED.replace("topic, text -> better", "topic, text -> better: int");
    let document = document.replace("better -> good", "better: int -> good");
    assert_eq!(
        read(&document).map(|_| ()),
        Err("/nodes/draft/config/carry/text type_mismatch: the output `draft` is `int`, and the next round needs `text` as `str`"
            .to_owned())
    );
    let document = JUDGED.replace(r#""text": "draft""#, r#""txt": "drafts""#);
    assert_eq!(
        read(&document).map(|_| ()),
        Err("/nodes/draft/config/carry/txt unknown_field: the strategy has no input `txt`; it has topic\n\
             /nodes/draft/config/carry/txt unknown_field: the strategy has no output `drafts`; it has draft, good"
            .to_owned())
    );
    let document = JUDGED.replace("good and rounds", "god and rounds");
    assert_eq!(
        read(&document).map(|_| ()),
        Err("/nodes/draft/config/until unknown_field: there is no god; a round has draft, good, topic, text, rounds"
            .to_owned())
    );
}

fn trying(more: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"t": {{"strategy": "try", "parse_retries": 0, "retries": 0, "config": {{
            "module": {{"strategy": "predict", "signature": "a -> b: int"}}, {more}}}}}}}}}"#
    )
}

#[tokio::test]
async fn a_failure_that_is_caught_becomes_a_value_or_another_strategy() {
    let valued = trying(r#""value": {"b": 0}"#);
    let found = run(&valued, &saying(&[&[("b", "7")]]), r#"{"a": "x"}"#).await;
    assert_eq!(outputs(&found), r#"{"b":7,"caught":null}"#);
    let found = run(&valued, &saying(&[&[("b", "many")]]), r#"{"a": "x"}"#).await;
    assert_eq!(outputs(&found), r#"{"b":0,"caught":"parse_error"}"#);

    let other = trying(
        r#""catch": ["parse_error"], "else": {"strategy": "predict", "signature": "a -> b: int"}"#,
    );
    let found = run(&other, &saying(&[&[("b", "many")], &[("b", "8")]]), r#"{"a": "x"}"#).await;
    assert_eq!(outputs(&found), r#"{"b":8,"caught":"parse_error"}"#);
    assert_eq!(called(&found.spans), ["module", "else"]);

    let refusal = ScriptedAnswer::fail(LmErrorKind::Filtered, "no");
    let lm = Arc::new(ScriptedLm::answering([refusal]));
    let error = run(&other, &lm, r#"{"a": "x"}"#).await.outputs.unwrap_err();
    assert_eq!(error.error.kind, PredictErrorKind::Filtered);
}

#[test]
fn the_value_and_the_codes_of_a_try_are_checked() {
    let refused = |more: &str| read(&trying(more)).map(|_| ()).unwrap_err();
    assert!(
        refused(r#""value": {"b": "x"}"#).starts_with("/nodes/t/config/value/b"),
        "{}",
        refused(r#""value": {"b": "x"}"#)
    );
    assert!(refused(r#""value": {}"#).starts_with("/nodes/t/config/value/b"));
    assert!(
        refused(r#""catch": ["parse_eror"], "value": {"b": 1}"#)
            .contains("did you mean `parse_error`?")
    );
    assert!(
        refused(r#""catch": ["run_cancelled"], "value": {"b": 1}"#)
            .starts_with("/nodes/t/config/catch/0")
    );
    assert_eq!(
        refused(r#""catch": ["timeout"]"#),
        "/nodes/t/config/else invalid_config: name either `else` or `value`"
    );
}

#[test]
fn problems_of_a_subgraph_are_reported_at_their_places() {
    let document = ROUTER.replace("find.number", "find.numbr");
    let problems = read(&document).map(|_| ()).unwrap_err();
    let place = "/nodes/reply/config/cases/shipping/config/edges/0";
    assert!(problems.starts_with(place), "{problems}");
}

#[test]
fn subgraphs_are_bounded_in_number_and_depth() {
    let leaf = r#"{"strategy": "predict", "signature": "a -> b"}"#;
    let mut nested = leaf.to_owned();
    for _ in 0..9 {
        nested = format!(r#"{{"strategy": "subgraph", "config": {{"nodes": {{"n": {nested}}}}}}}"#);
    }
    let graph = |node: &str| format!(r#"{{"name": "g", "nodes": {{"n": {node}}}}}"#);
    let found = read(&graph(&nested)).map(|_| ()).unwrap_err();
    assert_eq!(found, "/nodes too_large: subgraphs are nested 9 deep; at most 8 are");
    let one = format!(r#"{{"strategy": "subgraph", "config": {{"nodes": {{"n": {leaf}}}}}}}"#);
    let many: Vec<String> = (0..101).map(|number| format!(r#""n{number}": {one}"#)).collect();
    let found = read(&format!(r#"{{"name": "g", "nodes": {{{}}}}}"#, many.join(","))).map(|_| ());
    assert_eq!(found.unwrap_err(), "/nodes too_large: 101 subgraphs; at most 100 fit in one graph");
}

#[tokio::test]
async fn a_subgraph_may_have_an_input_and_an_output_of_one_name() {
    let document = r#"{"name": "g", "inputs": {"text": "str"}, "nodes": {"s": {"strategy": "subgraph", "config": {
        "inputs": {"text": "str"}, "nodes": {"a": {"strategy": "strip"}}}}},
        "edges": [{"from": "input.text", "to": "s.text"}]}"#;
    let found = run(document, &saying(&[]), r#"{"text": " a "}"#).await;
    assert_eq!(outputs(&found), r#"{"text":"a"}"#);
}

#[tokio::test]
async fn a_subgraph_without_inputs_runs() {
    let document = r#"{"name": "g", "nodes": {"s": {"strategy": "subgraph", "config": {
        "nodes": {"a": {"strategy": "call", "config": {
            "tool": "calculator", "arguments": {"expression": "6 * 7"}}}}}}}}"#;
    let found = run(document, &saying(&[]), "{}").await;
    assert_eq!(outputs(&found), r#"{"result":42}"#);
}

#[test]
fn a_case_has_the_same_path_whatever_cases_are_beside_it() {
    let paths = |cases: &[&str]| {
        let case = r#"{"strategy": "predict", "signature": "a -> b"}"#;
        let cases: Vec<_> = cases.iter().map(|name| format!(r#""{name}": {case}"#)).collect();
        let document = format!(
            r#"{{"name": "g", "inputs": {{"x": "str", "a": "str"}}, "nodes": {{"s": {{"strategy": "switch",
                "config": {{"on": "x", "cases": {{{}}}, "else": {case}}}}}}},
                "edges": [{{"from": "input.x", "to": "s.x"}}]}}"#,
            cases.join(",")
        );
        let mut found: Vec<_> =
            read(&document).unwrap().predictors().into_iter().map(|(path, _)| path).collect();
        found.sort();
        found
    };
    let one = paths(&["a b", "c d", "case_2", "else"]);
    assert_eq!(one, paths(&["else", "case_2", "c d", "a b"]));
    assert_eq!(one.iter().collect::<std::collections::HashSet<_>>().len(), 5, "{one:?}");
}

#[tokio::test]
async fn the_asserts_of_a_subgraph_hold() {
    let document = r#"{"name": "g", "inputs": {"n": "int"}, "nodes": {"s": {"strategy": "subgraph", "config": {
        "inputs": {"n": {"type": "int", "constraints": [{"assert": "this > 5"}]}},
        "nodes": {"p": {"strategy": "predict", "signature": "n: int -> a"}}}}},
        "edges": [{"from": "input.n", "to": "s.n"}]}"#;
    let error = run(document, &saying(&[]), r#"{"n": 1}"#).await.outputs.unwrap_err();
    assert_eq!(error.error.kind.code(), "invalid_value");
    let found = run(document, &saying(&[&[("a", "x")]]), r#"{"n": 6}"#).await;
    assert_eq!(outputs(&found), r#"{"a":"x"}"#);
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let refused = |document: &str| read(document).map(|_| ()).unwrap_err();
    let found = refused(&trying(r#""value": {"b": 1, "c": 2}"#));
    assert!(found.starts_with("/nodes/t/config/value/c unknown_field"), "{found}");
    let endless = JUDGED.replace(r#""until": "good and rounds > 1","#, r#""at_limit": "fail","#);
    assert!(
        refused(&endless).starts_with("/nodes/draft/config/until missing_field"),
        "{}",
        refused(&endless)
    );
}

#[tokio::test]
async fn a_run_ends_where_its_record_is_full_and_no_try_continues_it() {
    let graph = r#"{"name": "g", "inputs": {"text": "str"}, "nodes": {"again": {"strategy": "try", "config": {
        "value": {"answer": "none", "rounds": 0},
        "module": {"strategy": "loop", "config": {"max": 3, "module": {
            "strategy": "predict", "signature": "text -> answer"}}}}}},
        "edges": [{"from": "input.text", "to": "again.text"}]}"#;
    let program = read(graph).unwrap();
    let lm = saying(&[&[("answer", "one")], &[("answer", "two")]]);
    let scope = run_on(&lm);
    // The first round fills the record: its own span, that of the predictor, that of the model.
    for _ in 3..dsrs::predict::MOST_SPANS {
        scope.trace.record(SpanKind::Tool, &"before".into(), None, |_| {});
    }
    let outcome = program.execute(&scope, fields(r#"{"text": "x"}"#)).await;
    let error = outcome.outputs.unwrap_err();
    assert_eq!(error.error.kind, PredictErrorKind::Budget, "{error}");
    assert!(error.error.message.contains("100000 spans"), "{error}");
    assert_eq!(lm.requests().len(), 1);
}
