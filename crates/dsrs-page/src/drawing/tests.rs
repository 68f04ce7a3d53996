use std::fmt::Write as _;
use std::sync::Arc;

use dsrs::strategy::StoredEnv;
use dsrs::value::Payload;

use super::*;

fn program(document: &str) -> Program {
    Program::from_document(&Payload::from_json(document).unwrap(), &StoredEnv).unwrap()
}

fn places(document: &str) -> String {
    let Drawing(picture) = Drawing::of(&program(document), &Opened::default());
    let mut text = format!("{:.0}x{:.0}\n", picture.layout.width, picture.layout.height);
    for (shown, rect) in picture.diagram.boxes.iter().zip(&picture.layout.rects) {
        let _ = writeln!(
            text,
            "{} at {:.0},{:.0} is {:.0}x{:.0}",
            shown.name, rect.x, rect.y, rect.width, rect.height
        );
    }
    for (edge, route) in picture.diagram.edges.iter().zip(&picture.layout.routes) {
        let _ = writeln!(text, "{}: {}", edge.source, figure::path_data(route, 0.0));
    }
    text
}

#[test]
fn the_example_capital_has_its_places() {
    insta::assert_snapshot!(places(include_str!("../../../../examples/graphs/capital.json")), @"
    785x156
    country at 12,57 is 71x26
    place at 172,12 is 140x96
    advice at 445,48 is 161x96
    capital at 695,20 is 78x26
    sentence at 695,115 is 78x26
    input.country: M82.6 70H171.8
    place.capital: M311.8 70H381.4C406.3 70 406.3 106.5 431.3 106.5H445.3
    place.continent: M311.8 92H381.4C406.3 92 406.3 128.5 431.3 128.5H445.3
    place.capital: M311.8 70H381.4C406.3 70 406.3 33.5 431.3 33.5H695.5
    advice.sentence: M606.3 128.5H695.5
    ");
}

#[test]
fn the_example_help_desk_has_its_places() {
    insta::assert_snapshot!(places(include_str!("../../../../examples/graphs/help-desk.json")), @"
    721x183
    ticket at 12,92 is 57x26
    triage at 164,12 is 120x96
    reply at 400,75 is 147x96
    answer at 638,142 is 71x26
    mood at 638,22 is 71x26
    topic at 638,60 is 71x26
    input.ticket: M69.5 105.3H100.7C125.5 105.3 125.5 70 150.3 70H164.3
    input.ticket: M69.5 105.3H100.7C125.5 105.3 125.5 123 150.3 123H328.4C357.2 123 357.2 133.3 386 133.3H400
    triage.mood: M284.3 70H328.4C357.2 70 357.2 155.3 386 155.3H400
    reply.answer: M547 155.3H638.3
    triage.mood: M284.3 70H328.4C357.2 70 357.2 48.3 386 48.3H578.2C601.3 48.3 601.3 35.1 624.3 35.1H638.3
    triage.topic: M284.3 92H328.4C357.2 92 357.2 60.3 386 60.3H578.2C601.3 60.3 601.3 73.1 624.3 73.1H638.3
    ");
}

#[test]
fn the_example_review_card_has_its_places() {
    insta::assert_snapshot!(places(include_str!("../../../../examples/graphs/review-card.json")), @"
    924x229
    review at 12,147 is 68x26
    shorten at 169,102 is 120x74
    subject at 393,12 is 120x74
    tone at 393,112 is 120x74
    headline at 614,51 is 133x96
    headline at 837,96 is 75x26
    gist at 837,191 is 75x26
    tone at 837,153 is 75x26
    input.review: M79.7 160.5H168.9
    shorten.gist: M288.9 160.5H320.1C349.3 160.5 349.3 70 378.6 70H392.6
    shorten.gist: M288.9 160.5H320.1C349.3 160.5 349.3 170 378.6 170H392.6
    subject.thing: M512.6 70H550.2C575.3 70 575.3 109 600.4 109H614.4
    tone.tone: M512.6 170H550.2C575.3 170 575.3 131 600.4 131H614.4
    headline.headline: M747.4 109H837.4
    shorten.gist: M288.9 160.5H320.1C349.3 160.5 349.3 201 378.6 201H778.7C801 201 801 203.7 823.4 203.7H837.4
    tone.tone: M512.6 170H778.7C801 170 801 165.7 823.4 165.7H837.4
    ");
}

const OPS: &str = r#"{"name": "ops", "inputs": {"tickets": "list[str]"}, "nodes": {
    "moods": {"strategy": "map", "config": {"module": {"strategy": "predict",
        "signature": "ticket: str -> mood: {kind: str, sure: bool}"}}},
    "reply": {"strategy": "predict", "signature": "kind: str?, moods: list[{kind: str, sure: bool}] -> answer: str"}},
    "edges": [{"from": "input.tickets", "to": "moods.ticket"}, {"from": "moods.mood[0].kind", "to": "reply.kind"},
        {"from": "moods.mood", "to": "reply.moods"}],
    "outputs": {"answer": "reply.answer"}}"#;

fn figure_of(opened: &[String], selected: Option<&str>) -> String {
    let program = program(OPS);
    let drawing = drawing(&program, &Opened::new(opened.iter().map(String::as_str)));
    let options = FigureOptions { selected, opened, query: &[("version", "2")], target: "node" };
    drawing.figure(&options).into_string()
}

#[test]
fn nodes_are_links_and_edges_name_their_ends_and_their_place_in_the_definition() {
    let html = figure_of(&[], Some("reply"));
    for expected in [
        r#"aria-label="Graph ops: 2 nodes, 4 edges""#,
        r#"<g class="node op" data-node="moods""#,
        r#"<g class="node strategy selected" data-node="reply""#,
        r#"href="?version=2&amp;node=reply#node""#,
        r#"data-edge="/edges/1" data-from="moods.mood" data-to="reply.kind"><title>moods.mood[0].kind → reply.kind"#,
        r#"data-edge="/outputs/answer" data-from="reply.answer" data-to="@output.answer""#,
        r#">[0].kind</text>"#,
        r#"href="?version=2&amp;open=moods&amp;node=reply#node" aria-label="Open moods""#,
        "data-of=\"input.tickets\"",
    ] {
        assert!(html.contains(expected), "{expected} is missing in {html}");
    }
    assert!(!html.contains("style="), "{html}");
}

#[test]
fn a_node_opens_in_place_with_the_strategy_inside() {
    let html = figure_of(&["moods".to_owned()], None);
    for expected in [
        r#"data-node="moods/module""#,
        r#"data-port="moods/module.ticket""#,
        r#"href="?version=2" aria-label="Close moods""#,
        r#"href="?version=2&amp;open=moods&amp;node=moods%2Fmodule#node""#,
    ] {
        assert!(html.contains(expected), "{expected} is missing in {html}");
    }
}

const SWITCH: &str = r#"{"name": "switch", "inputs": {"sure": "bool", "question": "str"}, "nodes": {
    "reply": {"strategy": "switch", "config": {"on": "sure", "cases": {
        "true": {"strategy": "predict", "signature": "question -> answer"},
        "false": {"strategy": "subgraph", "config": {"nodes": {
            "think": {"strategy": "predict", "signature": "question -> thought"},
            "write": {"strategy": "predict", "signature": "question, thought -> answer"}},
            "edges": [{"from": "think.thought", "to": "write.thought"}]}}}}}},
    "edges": [{"from": "input.sure", "to": "reply.sure"}]}"#;

#[test]
fn a_switch_opens_with_its_cases_and_the_graph_of_one() {
    let program = program(SWITCH);
    let drawing = drawing(&program, &Opened::new(["reply"]));
    let opened = ["reply".to_owned()];
    let options = FigureOptions { selected: None, opened: &opened, query: &[], target: "node" };
    let html = drawing.figure(&options).into_string();
    for expected in [
        r#"data-node="reply/true""#,
        r#"data-port="reply/true.question""#,
        r#"data-node="reply/false/think""#,
        r#"data-from="reply/false/think.thought" data-to="reply/false/write.thought""#,
    ] {
        assert!(html.contains(expected), "{expected} is missing in {html}");
    }
}

#[test]
fn a_picture_is_laid_out_once_for_each_version_and_what_is_open() {
    let program = program(OPS);
    let (closed, open) = (Opened::default(), Opened::new(["moods"]));
    assert!(Arc::ptr_eq(&drawing(&program, &closed), &drawing(&program, &closed)));
    assert!(!Arc::ptr_eq(&drawing(&program, &closed), &drawing(&program, &open)));
}

#[test]
fn a_thumbnail_has_no_text() {
    let html = Drawing::of(&program(OPS), &Opened::default()).thumbnail().into_string();
    assert!(
        html.contains("aria-label=\"Picture of ops with 2 nodes\"") && !html.contains("<text"),
        "{html}"
    );
}
