//! Lists of edits, as in PATCH: their effect on a graph, the edit at which a problem is reported, and
//! the difference of two graphs as a list that turns one into the other.

use std::fmt::Write as _;

use dsrs::graph::{Edits, Program, ProgramGraph, graph_diff};
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;

use super::support::{Env, build};

const GRAPH: &str = r#"{
    "name": "g", "inputs": {"ticket": "str"},
    "nodes": {
        "triage": {"strategy": "predict", "signature": "ticket -> mood: 'calm' | 'angry'"},
        "reply": {"strategy": "chain_of_thought", "signature": "ticket, mood: str -> answer"}
    },
    "edges": [{"from": "triage.mood", "to": "reply.mood"}],
    "outputs": {"answer": "reply.answer", "mood": "triage.mood"}
}"#;

fn graph(text: &str) -> Program {
    build(text).unwrap()
}

fn read(edits: &str) -> Result<Edits, String> {
    let body = Payload::from_json(&format!(r#"{{"edits": {edits}}}"#)).unwrap();
    let mut problems = Problems::new();
    let read = Edits::read(&body, &At::Root, &mut problems);
    if problems.is_empty() { Ok(read.unwrap()) } else { Err(listed(&problems)) }
}

fn listed(problems: &Problems) -> String {
    let mut text = String::new();
    for problem in problems.iter() {
        let _ = writeln!(text, "{} {}: {}", problem.pointer, problem.code, problem.detail);
    }
    text.trim_end().to_owned()
}

fn edited(text: &str, edits: &str) -> Result<ProgramGraph, String> {
    let before = graph(text);
    let edited =
        before.graph().apply_edits(&read(edits)?, &Env).map_err(|problems| listed(&problems))?;
    Ok(edited.graph)
}

/// The difference that edits make, as lines.
fn change(edits: &str) -> String {
    match edited(GRAPH, edits) {
        Ok(after) => graph_diff(graph(GRAPH).graph(), &after).text.trim_end().to_owned(),
        Err(problems) => problems,
    }
}

#[test]
fn every_edit_has_its_effect() {
    let cases = [
        r#"[{"op": "add_node", "name": "third", "node": {"strategy": "predict", "signature": "ticket -> summary"}},
            {"op": "connect", "from": "input.ticket", "to": "third.ticket"},
            {"op": "set_output", "name": "summary", "from": "third.summary"}]"#,
        r#"[{"op": "remove_output", "name": "mood"}]"#,
        r#"[{"op": "rename_node", "name": "triage", "to": "judge"}]"#,
        r#"[{"op": "replace_node", "name": "reply", "node": {"strategy": "predict", "signature": "ticket, mood: str -> answer"}}]"#,
        r#"[{"op": "disconnect", "from": "triage.mood", "to": "reply.mood"},
            {"op": "set_input", "name": "mood", "type": "'calm' | 'angry'"},
            {"op": "connect", "from": "input.mood", "to": "reply.mood"}]"#,
        r#"[{"op": "insert_between", "edge": {"from": "input.ticket", "to": "reply.ticket"}, "name": "clean",
             "node": {"strategy": "predict", "signature": "raw -> tidy"}, "input": "raw", "output": "tidy"}]"#,
        r#"[{"op": "set_type", "name": "Person", "type": {"class": {"name": "str"}}}]"#,
        r#"[{"op": "set_output", "name": "answer", "from": "triage.mood"}, {"op": "remove_node", "name": "reply"}]"#,
    ];
    let texts: Vec<String> =
        cases.iter().map(|case| format!("{case}\n=>\n{}", change(case))).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn a_problem_is_reported_at_the_responsible_edit() {
    let cases = [
        // shape: all of them at once
        r#"[{"op": "ad_node", "name": "x"}, {"op": "connect", "from": "a", "to": "b.c"}, {"op": "remove_node"}, 7]"#,
        // names: consequences of a failed edit are not reported again
        r#"[{"op": "remove_node", "name": "triag"}, {"op": "add_node", "name": "input", "node": {}},
            {"op": "connect", "from": "input.ticket", "to": "input.x"}, {"op": "remove_output", "name": "moo"},
            {"op": "disconnect", "from": "triage.mood", "to": "reply.ticket"}]"#,
        r#"[{"op": "remove_node", "name": "triage"}]"#,
        r#"[{"op": "rename_node", "name": "triage", "to": "reply"}]"#,
        // the result
        r#"[{"op": "disconnect", "from": "triage.mood", "to": "reply.mood"}]"#,
        r#"[{"op": "remove_output", "name": "answer"},
            {"op": "replace_node", "name": "triage", "node": {"strategy": "predict", "signature": "ticket -> mood: int"}}]"#,
        r#"[{"op": "add_node", "name": "x", "node": {"strategy": "predikt", "signature": "a ->"}}]"#,
        r#"[{"op": "connect", "from": "reply.answer", "to": "triage.ticket"}]"#,
        r#"[{"op": "set_output", "name": "x", "from": "reply.nothing"}]"#,
        r#"[{"op": "insert_between", "edge": {"from": "triage.mood", "to": "reply.mood"}, "name": "x",
             "node": {"strategy": "predict", "signature": "a: int -> b"}, "input": "a", "output": "c"}]"#,
        r#"[{"op": "set_input", "name": "ticket", "type": "int"}]"#,
        r#"[{"op": "remove_input", "name": "ticket"}]"#,
    ];
    let texts: Vec<String> =
        cases.iter().map(|case| format!("{case}\n=>\n{}", change(case))).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn a_removed_type_in_use_is_reported_at_its_removal() {
    let add = r#"{"op": "set_type", "name": "Pair", "type": {"class": {"a": "int"}}},
        {"op": "add_node", "name": "x", "node": {"strategy": "predict", "signature": "ticket -> pair: Pair"}},
        {"op": "connect", "from": "input.ticket", "to": "x.ticket"}"#;
    assert!(edited(GRAPH, &format!("[{add}]")).is_ok());
    let refused = edited(GRAPH, &format!(r#"[{add}, {{"op": "remove_type", "name": "Pair"}}]"#));
    assert_eq!(
        refused.err().unwrap(),
        "/edits/3 invalid_type: column 17: unknown type `Pair`; define it in `types`"
    );
}

#[test]
fn the_diff_of_two_graphs_turns_one_into_the_other() {
    let grown = edited(
        GRAPH,
        r#"[{"op": "rename_node", "name": "triage", "to": "judge"},
            {"op": "set_type", "name": "Person", "type": {"class": {"name": "str"}}},
            {"op": "add_node", "name": "third", "node": {"strategy": "predict", "signature": "ticket, who: Person? -> summary"}},
            {"op": "connect", "from": "input.ticket", "to": "third.ticket"},
            {"op": "set_output", "name": "answer", "from": "third.summary"},
            {"op": "remove_node", "name": "reply"}]"#,
    )
    .unwrap();
    let grown = grown.compile().unwrap();
    let small = graph(GRAPH);
    let turned = |from: &Program, to: &Program| {
        let edits = graph_diff(from.graph(), to.graph()).edits;
        from.graph().apply_edits(&edits, &Env).map_err(|problems| listed(&problems)).unwrap().graph
    };
    for (from, to) in [(&small, &grown), (&grown, &small)] {
        let left = graph_diff(&turned(from, to), to.graph());
        assert_eq!(left.text, "");
    }
    assert_eq!(graph_diff(small.graph(), small.graph()).edits, Edits::default());
}

#[test]
fn edits_are_written_as_they_are_read() {
    let text = r#"[{"op":"insert_between","edge":{"from":"a.b","to":"c.d"},"name":"x","node":{"k":1},"input":"i","output":"o"},{"op":"set_type","name":"T","type":"int"}]"#;
    assert_eq!(read(text).unwrap().to_payload().to_json(), text);
}
