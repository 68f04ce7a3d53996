//! What a graph document is refused for: text in, `pointer code` out, all problems at once.

/// Asserts the problems of a document, one `pointer code` a line.
fn refused(document: &str, expected: &[&str]) -> String {
    let problems = crate::support::build(document).err().expect("the document is wrong");
    let found: Vec<_> = problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect();
    assert_eq!(found, expected, "{problems}");
    problems.to_string()
}

/// A graph of two `predict` nodes `a: x -> y` and `b: y -> z` with extra members.
fn two_nodes(rest: &str) -> String {
    let nodes = r#""nodes": {
        "a": {"strategy": "predict", "signature": "x -> y"},
        "b": {"strategy": "predict", "signature": "y -> z"}}"#;
    format!(r#"{{"name": "g", {nodes}, {rest}}}"#)
}

#[test]
fn a_document_that_is_no_object_is_refused() {
    refused("[]", &[" wrong_type"]);
}

#[test]
fn all_problems_of_shape_are_reported_at_once() {
    refused(
        r#"{"nmae": "g", "nodes": {"a": {"strategy": 3, "signature": "x -> y", "retires": 1}}}"#,
        &[
            "/name missing_field",
            "/nodes/a/strategy wrong_type",
            "/nodes/a/retires unknown_field",
            "/nmae unknown_field",
        ],
    );
}

#[test]
fn a_graph_needs_a_node() {
    refused(r#"{"name": "g", "nodes": {}}"#, &["/nodes invalid_value"]);
}

#[test]
fn names_obey_their_grammar_and_reserved_ones_are_refused() {
    refused(
        r#"{"name": "Support Reply", "nodes": {
            "9lives": {"strategy": "predict", "signature": "x -> y"},
            "input": {"strategy": "predict", "signature": "x -> z"}}}"#,
        &["/name invalid_name", "/nodes/9lives invalid_name", "/nodes/input reserved_name"],
    );
    refused(
        r#"{"name": "validate", "nodes": {"a": {"strategy": "predict", "signature": "x -> y"}}}"#,
        &["/name reserved_name"],
    );
}

#[test]
fn unknown_strategies_configs_and_models_point_at_their_member() {
    let text = refused(
        r#"{"name": "g", "nodes": {
            "a": {"strategy": "predct", "signature": "x -> y"},
            "b": {"strategy": "predict", "signature": "x -> z", "config": {"n": 3}},
            "c": {"strategy": "predict", "signature": "x -> w", "lm": {"model": "slow"}}}}"#,
        &[
            "/nodes/a/strategy unknown_strategy",
            "/nodes/b/config invalid_config",
            "/nodes/c/lm/model unknown_model",
        ],
    );
    assert!(text.contains("did you mean `predict`?"), "{text}");
}

#[test]
fn a_signature_that_cannot_be_read_names_its_column() {
    let text = refused(
        r#"{"name": "g", "nodes": {"a": {"strategy": "predict", "signature": "x y -> z"}}}"#,
        &["/nodes/a/signature invalid_signature"],
    );
    assert!(text.contains("column 3"), "{text}");
}

#[test]
fn edges_of_unknown_nodes_and_fields_point_at_their_end() {
    let document = two_nodes(
        r#""edges": [{"from": "a.y", "to": "b.nope"}, {"from": "aa.y", "to": "b.y"},
                     {"from": "a.why", "to": "c.y"}]"#,
    );
    refused(
        &document,
        &[
            "/edges/0/to unknown_field",
            "/edges/1/from unknown_node",
            "/edges/2/from unknown_field",
            "/edges/2/to unknown_node",
        ],
    );
}

#[test]
fn an_edge_mismatch_names_the_place() {
    let document = r#"{"name": "g",
        "types": {"Old": {"class": {"name": "str", "age": "str"}},
                  "New": {"class": {"name": "str", "age": "int"}}},
        "nodes": {
            "a": {"strategy": "predict", "signature": "x -> person: Old"},
            "b": {"strategy": "predict", "signature": "person: New -> z"}},
        "edges": [{"from": "a.person", "to": "b.person"}]}"#;
    let text = refused(document, &["/edges/0 type_mismatch"]);
    assert!(text.contains("age: str is not assignable to int"), "{text}");
}

#[test]
fn a_cycle_is_named_at_the_last_edge_on_it() {
    let document = r#"{"name": "g", "nodes": {
            "a": {"strategy": "predict", "signature": "x -> y"},
            "b": {"strategy": "predict", "signature": "y -> z"},
            "c": {"strategy": "predict", "signature": "z -> x"}},
        "edges": [{"from": "c.x", "to": "a.x"}, {"from": "a.y", "to": "b.y"},
                  {"from": "b.z", "to": "c.z"}]}"#;
    let text = refused(document, &["/edges/2 cycle"]);
    assert!(text.contains("c -> a -> b -> c"), "{text}");
}

#[test]
fn a_node_cannot_feed_itself() {
    let document = r#"{"name": "g", "nodes": {"a": {"strategy": "predict", "signature": "x -> y"}},
        "edges": [{"from": "a.y", "to": "a.x"}]}"#;
    refused(document, &["/edges/0 cycle"]);
}

#[test]
fn an_input_has_one_source() {
    let document = two_nodes(
        r#""edges": [{"from": "a.y", "to": "b.y"}, {"from": "a.y", "to": "b.y"},
                     {"from": "input.x", "to": "b.y"}]"#,
    );
    refused(&document, &["/edges/1 duplicate_edge", "/edges/2 input_already_connected"]);
}

#[test]
fn an_unfed_input_is_reported_at_its_node() {
    let document = two_nodes(r#""inputs": {"x": "str"}"#);
    let text = refused(&document, &["/nodes/b unconnected_input"]);
    assert!(text.contains("`b.y`"), "{text}");
}

#[test]
fn a_declared_input_of_another_type_is_reported() {
    let document = r#"{"name": "g", "inputs": {"x": "int"},
        "nodes": {"a": {"strategy": "predict", "signature": "x -> y"}}}"#;
    let text = refused(document, &["/nodes/a unconnected_input"]);
    assert!(text.contains("`int`") && text.contains("`str`"), "{text}");
}

#[test]
fn an_edge_that_was_refused_does_not_make_its_target_unconnected_too() {
    let document =
        two_nodes(r#""inputs": {"x": "str"}, "edges": [{"from": "a.nope", "to": "b.y"}]"#);
    refused(&document, &["/edges/0/from unknown_field"]);
}

#[test]
fn inferred_inputs_of_one_name_must_agree() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "predict", "signature": "x -> y"},
        "b": {"strategy": "predict", "signature": "x: int -> z"}}}"#;
    refused(document, &["/nodes/b type_mismatch"]);
}

#[test]
fn inferred_outputs_with_one_name_must_be_renamed() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "predict", "signature": "x -> y"},
        "b": {"strategy": "predict", "signature": "x -> y"}}}"#;
    refused(document, &["/nodes/b duplicate_name"]);
}

#[test]
fn outputs_are_checked_selections() {
    let document = two_nodes(
        r#""edges": [{"from": "a.y", "to": "b.y"}],
                     "outputs": {"ok": "b.z", "bad": "b.q", "worse": "q.z", "worst": "z"}"#,
    );
    refused(
        &document,
        &[
            "/outputs/worst invalid_value",
            "/outputs/bad unknown_field",
            "/outputs/worse unknown_node",
        ],
    );
}

#[test]
fn a_broken_node_is_reported_once_without_its_edges() {
    let document = r#"{"name": "g", "nodes": {
            "a": {"strategy": "nope", "signature": "x -> y"},
            "b": {"strategy": "predict", "signature": "y -> z"}},
        "edges": [{"from": "a.y", "to": "b.y"}], "outputs": {"y": "a.y"}}"#;
    refused(document, &["/nodes/a/strategy unknown_strategy"]);
}

#[test]
fn the_number_of_edges_is_limited() {
    let edges = r#"{"from": "a.y", "to": "b.y"},"#.repeat(50_001);
    let document = two_nodes(&format!(r#""edges": [{}]"#, edges.trim_end_matches(',')));
    refused(&document, &["/edges too_large"]);
}

#[test]
fn reasoning_belongs_to_chain_of_thought() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "chain_of_thought", "signature": "x -> reasoning, y"}}}"#;
    refused(document, &["/nodes/a/signature duplicate_name"]);
}

#[test]
fn a_signature_of_thousands_of_fields_is_too_large() {
    let fields: Vec<String> = (0..1000).map(|count| format!("i{count}")).collect();
    let document = format!(
        r#"{{"name": "g", "nodes": {{"a": {{"strategy": "predict", "signature": "{} -> y"}}}}}}"#,
        fields.join(", ")
    );
    refused(&document, &["/nodes/a/signature too_large"]);
}

#[test]
fn unknown_names_are_all_reported_with_short_lists() {
    let nodes: Vec<String> = (0..200)
        .map(|n| format!(r#""n{n}": {{"strategy": "predict", "signature": "x -> y{n}"}}"#))
        .collect();
    let edges: Vec<String> =
        (0..2000).map(|n| format!(r#"{{"from": "input.no{n}", "to": "gone{n}.x"}}"#)).collect();
    let document = format!(
        r#"{{"name": "g", "inputs": {{"x": "str"}}, "nodes": {{{}}}, "edges": [{}]}}"#,
        nodes.join(", "),
        edges.join(", ")
    );
    let problems = crate::support::build(&document).err().expect("the document is wrong");
    assert_eq!(problems.len(), 4000);
    assert!(problems.iter().all(|problem| problem.detail.len() < 300));
}

#[test]
fn misshapen_parts_are_reported_without_consequences() {
    refused(&two_nodes(r#""inputs": {"x": "str"}, "edges": {}"#), &["/edges wrong_type"]);
    let same_names = r#""nodes": {
        "a": {"strategy": "predict", "signature": "x -> y"},
        "b": {"strategy": "predict", "signature": "x: int -> y"}}"#;
    refused(
        &format!(r#"{{"name": "g", {same_names}, "inputs": 3, "outputs": 3}}"#),
        &["/inputs wrong_type", "/outputs wrong_type"],
    );
    let rest = r#""edges": [{"from": "a.y", "to": "b.y"}], "outputs": {"y": "a.y"}"#;
    refused(&format!(r#"{{"name": "g", "nodes": [], {rest}}}"#), &["/nodes wrong_type"]);
    refused(&format!(r#"{{"name": "g", {rest}}}"#), &["/nodes missing_field"]);
    refused(
        r#"{"name": "g", "types": {"R": {"enum": {}}},
            "nodes": {"a": {"strategy": "predict", "signature": "x -> y: R"}}}"#,
        &["/types/R/enum invalid_type"],
    );
}

#[test]
fn a_misspelled_edge_leaves_no_unconnected_target() {
    for (edge, problem) in [
        (r#"{"from": "a..y", "to": "b.y"}"#, "/edges/0/from invalid_value"),
        (r#"{"from": "a.y", "to": "b.y.z"}"#, "/edges/0/to invalid_value"),
        (r#"{"from": "a.y", "to": "b.yy"}"#, "/edges/0/to unknown_field"),
        (r#"{"from": "a.y", "to": "bb.y"}"#, "/edges/0/to unknown_node"),
        (r#"{"from": "a.y"}"#, "/edges/0/to missing_field"),
    ] {
        let document = two_nodes(&format!(r#""inputs": {{"x": "str"}}, "edges": [{edge}]"#));
        refused(&document, &[problem]);
    }
}

#[test]
fn an_unreadable_input_leaves_no_unconnected_targets() {
    refused(
        r#"{"name": "g", "inputs": {"x": "nope"},
            "nodes": {"a": {"strategy": "predict", "signature": "x, more -> y"}}}"#,
        &["/inputs/x invalid_type", "/nodes/a unconnected_input"],
    );
}

#[test]
fn a_broken_node_still_accepts_its_sources() {
    let document = r#"{"name": "g", "nodes": {
            "a": {"strategy": "predict", "signature": "x -> y"},
            "b": {"strategy": "predict", "signature": "x -> y"},
            "c": {"strategy": "nope", "signature": "p, q -> z"}},
        "edges": [{"from": "a.y", "to": "c.p"}, {"from": "b.y", "to": "c.q"}]}"#;
    refused(document, &["/nodes/c/strategy unknown_strategy"]);
}

#[test]
fn all_problems_of_a_node_are_reported_at_once() {
    refused(
        r#"{"name": "g", "nodes": {
            "a": {"strategy": "nope", "signature": "x y", "lm": {"model": "slow"}},
            "b-1": {"strategy": "predict", "config": {"n": 3}}}}"#,
        &[
            "/nodes/a/signature invalid_signature",
            "/nodes/b-1 invalid_name",
            "/nodes/b-1/signature missing_field",
            "/nodes/a/lm/model unknown_model",
            "/nodes/a/strategy unknown_strategy",
            "/nodes/b-1/config invalid_config",
        ],
    );
}

#[test]
fn a_repeated_edge_is_a_duplicate_even_if_it_is_broken() {
    let back_and_forth = r#"{"name": "g", "nodes": {
            "a": {"strategy": "predict", "signature": "x -> y"},
            "b": {"strategy": "predict", "signature": "y -> x"}},
        "edges": [{"from": "a.y", "to": "b.y"}, {"from": "b.x", "to": "a.x"},
                  {"from": "b.x", "to": "a.x"}]}"#;
    refused(back_and_forth, &["/edges/2 duplicate_edge", "/edges/1 cycle"]);
    let document = two_nodes(
        r#""edges": [{"from": "a.y", "to": "b.y"}, {"from": "input.q", "to": "b.y"},
                     {"from": "input.q", "to": "b.y"}]"#,
    );
    refused(&document, &["/edges/1 input_already_connected", "/edges/2 duplicate_edge"]);
}
