//! Reading and writing metrics, and all refusals.

use dsrs::optimize::Metric;

use super::support::{json, metric, refused};

/// How a metric is written down.
fn written(text: &str) -> String {
    metric(text).to_payload().to_json()
}

#[test]
fn defaults_are_written_out() {
    let rows = [
        (r#""exact""#, r#"{"exact":{}}"#),
        (r#"{"exact": {"field": "answer"}}"#, r#"{"exact":{"fields":["answer"]}}"#),
        (r#""numeric""#, r#"{"numeric":{"tolerance":1e-6,"relative":false}}"#),
        (
            r#"{"numeric": {"relative": true, "tolerance": 1, "field": "count"}}"#,
            r#"{"numeric":{"fields":["count"],"tolerance":1.0,"relative":true}}"#,
        ),
        (
            r#"{"judge": {"score": "s", "signature": "answer -> s: float", "scale": [0, 1]}}"#,
            r#"{"judge":{"signature":"answer -> s: float","score":"s","strategy":"predict"}}"#,
        ),
        (
            r#"{"graph": "grader", "feedback": "why", "score": "score", "scale": [0, 10]}"#,
            r#"{"graph":"grader","version":3,"state_version":2,"score":"score","feedback":"why","scale":[0.0,10.0]}"#,
        ),
        (
            r#"{"weighted": [{"weight": 2, "metric": "f1"}, {"metric": {"mean": ["exact"]}, "weight": 1}]}"#,
            r#"{"weighted":[{"metric":{"f1":{}},"weight":2.0},{"metric":{"mean":[{"exact":{}}]},"weight":1.0}]}"#,
        ),
        (
            r#"{"at_least": {"threshold": 1, "metric": "f1"}}"#,
            r#"{"at_least":{"metric":{"f1":{}},"threshold":1.0}}"#,
        ),
    ];
    for (text, wanted) in rows {
        assert_eq!(written(text), wanted);
        assert_eq!(written(wanted), wanted, "what is written down is read as the same");
    }
}

#[test]
fn the_graph_in_a_judges_config_is_pinned_too() {
    let judge = r#"{"judge": {"signature": "answer -> score: float", "score": "score",
        "strategy": "best_of_n", "config": {"module": {"strategy": "predict"},
        "reward": {"expression": "1"}}}}"#;
    assert!(metric(judge).calls_lm());
    let graded = r#"{"judge": {"signature": "question, answer -> score: float", "score": "score",
        "strategy": "react", "config": {"tools": [{"graph": "grader"}]}}}"#;
    assert!(written(graded).contains(r#""version":3,"state_version":2"#), "{}", written(graded));
}

#[test]
fn all_problems_are_reported_with_places_and_hints() {
    let all = [
        r#""exat""#,
        r#""judge""#,
        "7",
        "{}",
        r#"{"exact": {}, "f1": {}}"#,
        r#"{"exakt": {}}"#,
        r#"{"exact": {"field": "anser", "feild": 1}}"#,
        r#"{"exact": {"field": "answer", "fields": ["count", "cuont", "count"]}}"#,
        r#"{"f1": {"fields": []}}"#,
        r#"{"numeric": {"tolerance": -1, "relative": "yes"}}"#,
        r#"{"mean": []}"#,
        r#"{"mean": ["exact", "f2", {"min": [{"exact": {"field": "x"}}, "product"]}]}"#,
        r#"{"weighted": [{"metric": "exact", "weight": 0}, {"metric": "f1"}, "exact"]}"#,
        r#"{"at_least": {"metric": "exact", "threshold": 2}}"#,
        r#"{"expression": 1}"#,
        r#"{"expression": "1 +"}"#,
        r#"{"expression": "output.answer == expected.answer and inputs.qestion and outputs.tag"}"#,
        r#"{"judge": {"signature": "answer -> good: bool, why: str", "score": "god", "feedback": "good", "scale": [5, 1], "strategy": "predct"}}"#,
        r#"{"judge": {"signature": "answer -> good: bool, why: str", "score": "god", "feedback": "good", "scale": [5]}}"#,
        r#"{"judge": {"signature": "answer: int, source, expected_count: str -> good: str", "score": "good"}}"#,
        r#"{"judge": {"score": "x", "mood": 1}}"#,
        r#"{"graph": "grades"}"#,
        r#"{"graph": "grader", "score": "scroe"}"#,
        r#"{"graph": "grader", "score": "why", "exact": {}}"#,
        r#"{"graph": "grader", "feedback": "score"}"#,
    ];
    let texts = all.map(|text| format!("{text}\n{}\n\n", refused(text)));
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn names_and_filters_of_an_expression_exist() {
    for (expression, wanted) in [
        (
            "outputs.anser[:1] == expected.answer[1:]",
            "/expression: `outputs` has no `anser`; did you mean `answer`? known ones: answer, count, ratio, tags, \
             person (unknown_field)",
        ),
        (
            "output[:1]",
            "/expression: `output` is unknown here; did you mean `outputs`? there are inputs, expected, \
            outputs, trace (unknown_field)",
        ),
        (
            "outputs.answer|uper is startswith('A')",
            "/expression: the expression cannot be read: there is no filter `uper`; did you mean `upper`?; there is \
             no test `startswith`: use `startingwith` (invalid_config)",
        ),
    ] {
        assert_eq!(refused(&format!(r#"{{"expression": "{expression}"}}"#)), wanted);
    }
}

#[test]
fn metrics_of_too_many_parts_or_too_deep_are_refused() {
    let many = format!(r#"{{"mean": [{}]}}"#, vec![r#""exact""#; 150].join(", "));
    assert_eq!(refused(&many), "/mean/99: a metric has at most 100 parts, 8 deep (too_large)");
    let deep = format!("{}\"exact\"{}", r#"{"mean": ["#.repeat(9), "]}".repeat(9));
    assert!(refused(&deep).ends_with("a metric has at most 100 parts, 8 deep (too_large)"));
    let fits = format!("{}\"exact\"{}", r#"{"mean": ["#.repeat(8), "]}".repeat(8));
    assert_eq!(metric(&fits).to_payload().to_json().matches("mean").count(), 8);
}

#[test]
fn only_judges_and_graphs_call_an_lm() {
    let rows = [
        (r#""exact""#, false),
        (r#"{"expression": "1"}"#, false),
        (r#"{"judge": {"signature": "answer -> good: bool", "score": "good"}}"#, true),
        (r#"{"graph": "grader"}"#, true),
        (r#"{"mean": ["exact", {"min": ["f1", {"graph": "grader"}]}]}"#, true),
        (r#"{"mean": ["exact", {"min": ["f1"]}]}"#, false),
    ];
    for (text, wanted) in rows {
        assert_eq!(metric(text).calls_lm(), wanted, "{text}");
    }
}

#[test]
fn metrics_are_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    shared::<Metric>();
}

#[test]
fn the_schema_accepts_read_and_written_metrics() {
    let schema = serde_schema();
    let fits = |text: &str| schema.is_valid(&serde(text));
    for text in [
        r#""exact""#,
        r#"{"numeric": {"field": "count", "tolerance": 0.1}}"#,
        r#"{"expression": "1"}"#,
        r#"{"judge": {"signature": "answer -> s: float", "score": "s", "scale": [1, 5], "feedback": "why"}}"#,
        r#"{"graph": "grader", "version": 3, "score": "score", "scale": [1, 5]}"#,
        r#"{"weighted": [{"metric": "f1", "weight": 1}]}"#,
        r#"{"at_least": {"metric": {"mean": ["exact", "f1"]}, "threshold": 0.5}}"#,
    ] {
        assert!(fits(text), "{text}");
    }
    for text in [r#""judge""#, r#"{"exact": 1}"#, r#"{"exact": {}, "f1": {}}"#, r#"{"mean": []}"#] {
        assert!(!fits(text), "{text}");
    }
    let read = r#"{"product": ["exact", {"max": ["numeric", {"graph": "grader"}]}]}"#;
    assert!(fits(&written(read)));
}

fn serde(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn serde_schema() -> jsonschema::Validator {
    let schema = Metric::schema();
    assert_ne!(schema, json("null"));
    jsonschema::validator_for(&serde(&schema.to_json())).unwrap()
}
