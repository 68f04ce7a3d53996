//! Expressions over everything that is known of a case.

use super::support::{assert_table, metric};

const EXPECTED: &str = r#"{"answer": "Paris", "source": "atlas"}"#;
const OUTPUTS: &str = r#"{"answer": "Paris, France", "count": 3, "tags": ["city"]}"#;

#[tokio::test]
async fn an_expression_sees_inputs_expected_outputs_and_the_trace() {
    let rows = [
        (
            "outputs.answer == expected.answer",
            "0 | `outputs.answer == expected.answer` evaluates to 0",
        ),
        ("expected.answer in outputs.answer", "1"),
        ("1 / outputs.count", "0.33 | `1 / outputs.count` evaluates to 0.3333333333333333"),
        ("inputs.question|length", "1"),
        ("outputs.count - 5", "0 | `outputs.count - 5` evaluates to 0"),
        ("outputs.tags|length", "1"),
        ("expected.source == 'atlas'", "1"),
        ("expected|items|length == 2", "1"),
        ("trace|length == 1 and trace[0].predictor == 'answer'", "1"),
        ("trace[0].inputs.question == inputs.question", "1"),
        ("trace[0].outputs.count / 6", "0.5 | `trace[0].outputs.count / 6` evaluates to 0.5"),
        ("1 if range(3)|length == 3 else 0", "1"),
        ("outputs.answer[:5] == expected.answer[:5]", "1"),
        ("outputs.answer.upper().startswith('PARIS')", "1"),
        ("expected.page|default(3) == 3", "1"),
        ("expected.page is not defined or expected.page == 1", "1"),
    ];
    for (expression, wanted) in rows {
        let metric = format!(r#"{{"expression": "{expression}"}}"#);
        assert_table(&[(&metric, EXPECTED, OUTPUTS, wanted)]).await;
    }
}

#[tokio::test]
async fn a_failed_expression_reports_its_error() {
    assert_table(&[
        (
            r#"{"expression": "expected.page == 3"}"#,
            EXPECTED,
            OUTPUTS,
            "reward_failed: the expression `expected.page == 3` asks for `expected.page`, which the \
             example does not have",
        ),
        (
            r#"{"expression": "expected.page[:1] == 'x'"}"#,
            EXPECTED,
            OUTPUTS,
            "reward_failed: the expression `expected.page[:1] == 'x'` asks for `expected.page`, which the \
             example does not have",
        ),
        (r#"{"expression": "expected['page'] == 3"}"#, EXPECTED, OUTPUTS, "0 | `expected['page'] == 3` evaluates to 0"),
        (
            r#"{"expression": "outputs.answer"}"#,
            EXPECTED,
            OUTPUTS,
            "reward_failed: the expression `outputs.answer` failed: the result `Paris, France` is \
             neither a number nor a boolean",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_expression_does_not_go_on_for_ever() {
    let endless = "('x' * 1000000000000)|length";
    let text = format!(r#"{{"expression": "{endless}"}}"#);
    let found = super::support::score_text(&text, "{}", r#"{"answer": ""}"#).await;
    assert!(found.starts_with("reward_failed: the expression"), "{found}");
    assert!(!metric(&text).calls_lm());
}
