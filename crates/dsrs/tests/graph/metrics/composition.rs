//! Metrics that combine metrics.

use super::support::{assert_table, score_text};

/// Half of the fields are right: `exact` is 0.5, `f1` is higher.
const EXPECTED: &str = r#"{"answer": "Eiffel Tower", "count": 2}"#;
const OUTPUTS: &str = r#"{"answer": "Eiffel", "count": 2}"#;

#[tokio::test]
async fn scores_become_one() {
    let exact = r#"{"exact": {"field": "answer"}}"#;
    let rows = [
        (r#"{"mean": ["exact", {"exact": {"field": "count"}}]}"#.to_owned(), "0.75"),
        (format!(r#"{{"mean": [{exact}, "exact", "exact"]}}"#), "0.33"),
        (r#"{"min": ["exact", "f1"]}"#.to_owned(), "0.5"),
        (r#"{"max": ["exact", "f1"]}"#.to_owned(), "0.83"),
        (r#"{"product": ["exact", "exact"]}"#.to_owned(), "0.25"),
        (r#"{"at_least": {"metric": "exact", "threshold": 0.5}}"#.to_owned(), "1"),
        (r#"{"at_least": {"metric": "exact", "threshold": 0.51}}"#.to_owned(), "0"),
        (
            format!(
                r#"{{"weighted": [{{"metric": {exact}, "weight": 1}},
                    {{"metric": {{"exact": {{"field": "count"}}}}, "weight": 3}}]}}"#
            ),
            "0.75",
        ),
        (r#"{"min": [{"max": ["exact", {"product": ["f1"]}]}, "f1"]}"#.to_owned(), "0.83"),
    ];
    for (metric, wanted) in rows {
        let found = score_text(&metric, EXPECTED, OUTPUTS).await;
        assert_eq!(found.split(" | ").next(), Some(wanted), "{metric}");
    }
}

#[tokio::test]
async fn feedback_of_parts_is_listed_by_metric_name() {
    let wrong = "`answer`: expected `Eiffel Tower`, got `Eiffel`";
    let f1 = format!("{wrong} (F1 0.67)");
    let rows = [
        (
            r#"{"mean": ["contains", "f1"]}"#,
            format!(
                "0.67 | contains: {}\nf1: {f1}",
                wrong.replace("expected", "expected to contain")
            ),
        ),
        (
            r#"{"mean": [{"min": ["f1"]}, {"exact": {"field": "count"}}]}"#,
            format!("0.92 | f1: {f1}"),
        ),
        (r#"{"at_least": {"metric": "f1", "threshold": 0.5}}"#, format!("1 | f1: {f1}")),
        (
            r#"{"min": [{"expression": "outputs.count / 4"}]}"#,
            "0.5 | expression: `outputs.count / 4` evaluates to 0.5".to_owned(),
        ),
        (r#"{"mean": [{"exact": {"field": "count"}}]}"#, "1".to_owned()),
    ];
    for (metric, wanted) in &rows {
        assert_table(&[(metric, EXPECTED, OUTPUTS, wanted)]).await;
    }
}

#[tokio::test]
async fn a_failed_part_fails_the_whole() {
    let found =
        score_text(r#"{"max": ["exact", {"expression": "1 / 0"}]}"#, EXPECTED, OUTPUTS).await;
    assert!(found.starts_with("reward_failed: the expression `1 / 0` failed"), "{found}");
}
