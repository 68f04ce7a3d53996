//! Metrics that compare outputs with the expected values of the same names.

use super::support::{assert_scores, assert_table, score_text};

#[tokio::test]
async fn exact_ignores_only_the_notation_of_a_value() {
    let rows = [
        (r#""Paris""#, r#"" Paris\n""#, "1"),
        (r#""Paris""#, r#""paris""#, "0"),
        ("1", "1.0", "1"),
        ("1", "1.5", "0"),
        ("9007199254740993", "9007199254740992.0", "0"),
        ("0", "false", "0"),
        ("1", r#""1""#, "0"),
        ("null", "null", "1"),
        ("[1, 2]", "[1.0, 2]", "1"),
        ("[1, 2]", "[2, 1]", "0"),
        (r#"{"a": 1, "b": [" x"]}"#, r#"{"b": ["x"], "a": 1}"#, "1"),
        (r#"{"a": 1}"#, r#"{"a": 1, "b": null}"#, "1"),
        (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, "0"),
    ];
    assert_scores(r#""exact""#, "answer", &rows).await;
}

#[tokio::test]
async fn normalized_exact_ignores_case_articles_punctuation_and_space() {
    let rows = [
        (r#""Eiffel Tower""#, r#""the  EIFFEL-tower.""#, "0"),
        (r#""Eiffel Tower""#, r#""The “Eiffel”  tower!""#, "1"),
        (r#""Straße""#, r#""STRAßE""#, "1"),
        (r#""café""#, "\"CAFE\u{301}\"", "1"),
        (r#""ＡＢＣ，１""#, r#""abc1""#, "1"),
        (r#""An apple""#, r#""apple""#, "1"),
        (r#""A""#, r#""a""#, "1"),
        (r#""A""#, r#""The""#, "0"),
        (r#"["The Seine"]"#, r#"["seine"]"#, "1"),
        ("2", "2.0", "1"),
    ];
    assert_scores(r#""normalized_exact""#, "answer", &rows).await;
}

#[tokio::test]
async fn contains_finds_the_expected_value_within_the_output() {
    let rows = [
        (r#""paris""#, r#""It is  Paris, France.""#, "1"),
        (r#""New  York""#, r#""in new\nyork""#, "1"),
        (r#""Lyon""#, r#""Paris""#, "0"),
        (r#"["Paris", "Lyon"]"#, r#""Lyon and Paris""#, "1"),
        (r#"["Paris", "Lyon"]"#, r#""Paris""#, "0"),
        (r#""b""#, r#"["a", "b"]"#, "1"),
        (r#"["b", "a"]"#, r#"["a", "c", "b"]"#, "1"),
        (r#"["b", "d"]"#, r#"["a", "b"]"#, "0"),
        ("4", r#""There are 4.""#, "1"),
        ("4", r#""There are 14, or 4.5""#, "0"),
        ("4", "4.0", "1"),
        (r#"{"a": "x"}"#, r#"{"b": 1, "a": "xyz"}"#, "1"),
        (r#"{"a": "x"}"#, r#"{"b": "x"}"#, "0"),
        (r#"{"a": "X", "b": null}"#, r#"{"a": "xyz"}"#, "1"),
        (r#"["a", 2.0]"#, r#"[2, "A", true]"#, "1"),
        ("[]", r#""anything""#, "1"),
    ];
    assert_scores(r#""contains""#, "answer", &rows).await;
}

#[tokio::test]
async fn f1_counts_common_words() {
    let rows = [
        (r#""the Eiffel Tower""#, r#""Eiffel Tower""#, "1"),
        (r#""Eiffel Tower""#, r#""Eiffel""#, "0.67"),
        (r#""Eiffel Tower""#, r#""the tower of Eiffel in Paris""#, "0.57"),
        // Words count as often as they occur.
        (r#""b b c""#, r#""b""#, "0.5"),
        (r#""x""#, r#""y""#, "0"),
        (r#""""#, r#""""#, "1"),
        (r#""""#, r#""x""#, "0"),
        (r#"["a", "b"]"#, r#"["B.", "c"]"#, "0.5"),
        (r#"["x", "y"]"#, r#"["y", "y", "x"]"#, "1"),
        ("[1, 2, 3]", "[3.0]", "0.5"),
        ("[]", "[]", "1"),
        ("3", "3.0", "1"),
        ("3", "4", "0"),
    ];
    assert_scores(r#""f1""#, "answer", &rows).await;
}

#[tokio::test]
async fn numeric_reads_numbers_in_texts_with_a_tolerance() {
    let rows = [
        ("1234.5", r#""about 1,234.5 km""#, "1"),
        ("1234.5", r#""1 or 2""#, "0"),
        (r#""12 %""#, "12", "1"),
        ("0.3", "0.30000000000000004", "1"),
        ("3", "3.1", "0"),
        ("3", r#""none""#, "0"),
        ("3", "null", "0"),
        ("[1, 2]", "[1.0, 2.0]", "1"),
        ("[1, 2]", "[1]", "0"),
    ];
    assert_scores(r#""numeric""#, "answer", &rows).await;
    let rows = [("1", "1.1", "1"), ("1", "0.9", "1"), ("1", "1.11", "0"), ("-5", "-5.1", "1")];
    assert_scores(r#"{"numeric": {"tolerance": 0.1}}"#, "answer", &rows).await;
    let rows = [("100", "110", "1"), ("100", "111", "0"), ("-10", "-11", "1"), ("0", "0", "1")];
    let relative = r#"{"numeric": {"tolerance": 0.1, "relative": true}}"#;
    assert_scores(relative, "answer", &rows).await;
}

#[tokio::test]
async fn all_expected_outputs_are_compared_by_default() {
    let expected = r#"{"answer": "Paris", "count": 2, "source": "atlas"}"#;
    let outputs = r#"{"answer": "Paris", "count": 3, "ratio": 0.5}"#;
    let count = "0 | `count`: expected `2`, got `3`";
    assert_table(&[
        (r#""exact""#, expected, outputs, "0.5 | `count`: expected `2`, got `3`"),
        (r#"{"exact": {"field": "answer"}}"#, expected, outputs, "1"),
        (r#"{"exact": {"fields": ["count", "ratio"]}}"#, expected, outputs, count),
    ])
    .await;
}

#[tokio::test]
async fn an_example_without_anything_to_compare_cannot_be_judged() {
    let nothing = "reward_failed: there is nothing to compare: the example expects";
    let found = score_text(r#""exact""#, r#"{"source": "atlas"}"#, r#"{"answer": "x"}"#).await;
    assert_eq!(found, format!("{nothing} source, and outputs of the graph are compared"));
    let found = score_text(r#"{"f1": {"field": "answer"}}"#, "{}", r#"{"answer": "x"}"#).await;
    assert_eq!(found, format!("{nothing} nothing, and answer are compared"));
    let found = score_text(r#""numeric""#, r#"{"answer": "Paris"}"#, r#"{"answer": "x"}"#).await;
    let wanted = "reward_failed: the expected `answer` of the example is not a number: name the numeric fields";
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn feedback_shows_expected_and_actual_values() {
    let long = format!(r#"{{"answer": "{}"}}"#, "long ".repeat(1000));
    let paris = r#"{"answer": "Paris"}"#;
    let several =
        (r#"{"answer": "Paris", "tags": ["a", "b"]}"#, r#"{"answer": "Rome", "tags": ["a"]}"#);
    let mut all = String::new();
    for (metric, expected, outputs) in [
        (r#""exact""#, paris, r#"{"answer": "paris, France"}"#),
        (r#""contains""#, paris, r#"{"answer": "Rome"}"#),
        (r#""f1""#, paris, r#"{"answer": "Paris, in France"}"#),
        (r#""numeric""#, r#"{"ratio": 0.5}"#, r#"{"ratio": 0.75}"#),
        (
            r#"{"numeric": {"tolerance": 0.05, "relative": true}}"#,
            r#"{"count": 10}"#,
            r#"{"count": 20}"#,
        ),
        (r#""normalized_exact""#, several.0, several.1),
        (r#""exact""#, paris, &long),
        (
            r#""exact""#,
            r#"{"person": {"name": "Ada"}}"#,
            r#"{"person": {"name": "Bob", "age": null}}"#,
        ),
    ] {
        all += &format!("{metric}\n{}\n\n", score_text(metric, expected, outputs).await);
    }
    insta::assert_snapshot!(all);
}
