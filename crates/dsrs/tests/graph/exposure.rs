//! The member `expose` of a document: how clients of other protocols reach a graph.

use dsrs::graph::{ChatExposure, Exposure, Program, ToolExposure, graph_diff};
use dsrs::value::Payload;

use crate::support::{Env, build};

fn exposed(expose: &str) -> Program {
    let text = format!(
        r#"{{"name": "ask", "expose": {expose}, "nodes": {{"ask": {{"strategy": "predict", "signature": "question -> answer"}}}}}}"#
    );
    build(&text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What the canonical text says.
fn written(program: &Program) -> Option<String> {
    let document = Payload::from_json(program.canonical_text()).unwrap();
    Some(document.as_map().unwrap().get("expose")?.to_json())
}

#[test]
fn an_exposure_has_one_notation_and_none_if_nothing_is_declared() {
    for (posted, stored) in [
        ("null", None),
        ("{}", None),
        (r#"{"openai": null}"#, None),
        (
            r#"{"mcp": {}, "openai": {"input": "question"}}"#,
            Some(r#"{"openai":{"input":"question"},"mcp":true}"#),
        ),
        (r#"{"mcp": false}"#, Some(r#"{"mcp":false}"#)),
        (r#"{"mcp": {"description": "a\u0000b"}}"#, Some(r#"{"mcp":{"description":"a\u0000b"}}"#)),
    ] {
        let program = exposed(posted);
        assert_eq!(written(&program).as_deref(), stored, "{posted}");
        assert_eq!(program.graph().exposure().to_json().as_deref(), stored);
        if let Some(stored) = stored {
            assert_eq!(Exposure::from_json(stored).as_ref(), Some(program.graph().exposure()));
        }
        let again = Program::from_document(program.document(), &Env).unwrap();
        assert_eq!(again.content_hash(), program.content_hash());
    }
    let all = exposed(r#"{"openai": true, "mcp": true}"#);
    let exposure = all.graph().exposure();
    assert_eq!(exposure.chat, Some(ChatExposure::Model { model: None, input: None, output: None }));
    assert_eq!(exposure.tool, Some(ToolExposure::Tool { name: None, description: None }));
}

#[test]
fn the_edits_of_a_difference_change_the_exposure() {
    let states =
        ["null", r#"{"openai": false}"#, r#"{"openai": {"output": "answer"}, "mcp": true}"#];
    for (old, new) in states.iter().flat_map(|old| states.iter().map(move |new| (old, new))) {
        let (old, new) = (exposed(old), exposed(new));
        let diff = graph_diff(old.graph(), new.graph());
        let edited = old.graph().apply_edits(&diff.edits, &Env).unwrap().graph;
        assert_eq!(edited.exposure(), new.graph().exposure(), "{}", diff.text);
        assert_eq!(diff.text.is_empty(), old.graph().exposure() == new.graph().exposure());
    }
}

#[test]
fn a_name_of_an_unreadable_input_is_not_reported_again() {
    let problems = build(
        r#"{"name": "ask", "expose": {"openai": {"input": "question", "output": "answr"}},
            "inputs": {"question": "strng"},
            "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}}"#,
    );
    let problems = problems.err().unwrap();
    let found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert_eq!(found, ["/inputs/question"]);
}
