//! Fields that are code of a language, and outputs that native reasoning stands for.

use std::sync::Arc;

use dsrs::lm::{LmReply, ReplyReasoning, ScriptedAnswer, ScriptedLm};
use dsrs::predict::{DynPredictor, PredictError, PredictErrorKind};
use dsrs::problem::{At, Problems};
use dsrs::signature::{read_signature, signature_to_payload};
use dsrs::types::TypeScope;
use dsrs::value::{Fields, Payload};

use crate::story::{ctx, fields, json, predictor, signature};

const CODE: &str = r#"{"instructions": "Port it.",
    "inputs": [{"name": "old", "language": "python", "description": "what runs today"}],
    "outputs": [{"name": "new", "type": "str", "language": "c++"}, {"name": "lines", "type": "int"}]}"#;
const REASONED: &str = r#"{"instructions": "Answer.", "inputs": [{"name": "question"}],
    "outputs": [{"name": "why", "reasoning": true}, {"name": "answer"}]}"#;

async fn ask(
    schema: &str,
    input: &str,
    reply: impl Into<ScriptedAnswer>,
) -> Result<Fields, PredictError> {
    let lm = Arc::new(ScriptedLm::answering([reply.into(), "[[ ## lines ## ]]\nnone".into()]));
    predictor(&signature("{}", schema), "{}").forward(&ctx(&lm), fields(input)).await
}

fn sections(parts: &[(&str, &str)]) -> String {
    parts.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n")).collect()
}

#[test]
fn code_is_in_fences_that_none_of_it_ends() {
    let state =
        r#"{"demos": [{"input": {"old": "x = 1"}, "output": {"new": "int x = 1;", "lines": 1}}]}"#;
    let old = "a = \"\"\"\n```\n\"\"\"";
    let input = Fields::from_iter([("old".into(), Payload::from(old))]);
    let messages = predictor(&signature("{}", CODE), state).render(&input);
    let shown: String =
        messages.iter().map(|said| format!("--- {:?}\n{}\n", said.role, said.content)).collect();
    insta::assert_snapshot!(shown);
}

#[tokio::test(start_paused = true)]
async fn the_fence_of_an_answer_is_left_out_and_all_code_is_in_the_value() {
    let code = "int main() {} // as in\n/*\n```sh\nmake\n```\n*/\nint x;";
    for written in [
        format!("```c++\n{code}\n```"),
        format!("Here it is:\n```c++\n{code}\n```\nDone."),
        format!("````\n{code}\n````"),
    ] {
        let reply = sections(&[("new", &written), ("lines", "7")]);
        let found = ask(CODE, r#"{"old": "x"}"#, reply).await.unwrap();
        assert_eq!(found["new"].as_str(), Some(code), "{written}");
    }
    let object = json(r#"{"new": "```\nint x;\n```", "lines": 1}"#).to_json();
    let found = ask(CODE, r#"{"old": "x"}"#, object).await.unwrap();
    assert_eq!(found["new"].as_str(), Some("int x;"));
}

fn reasoned(text: &str) -> ScriptedAnswer {
    LmReply { reasoning: ReplyReasoning::of("It is so."), ..LmReply::of(text, "m") }.into()
}

#[tokio::test(start_paused = true)]
async fn native_reasoning_stands_for_an_output_that_is_left_out() {
    let input = r#"{"question": "?"}"#;
    let short = sections(&[("answer", "4")]);
    let found = ask(REASONED, input, reasoned(&short)).await.unwrap();
    assert_eq!((found["why"].as_str(), found["answer"].as_str()), (Some("It is so."), Some("4")));
    let long = sections(&[("why", "Written."), ("answer", "4")]);
    let found = ask(REASONED, input, reasoned(&long)).await.unwrap();
    assert_eq!(found["why"].as_str(), Some("Written."));
    let error = ask(REASONED, input, short).await.unwrap_err();
    assert!(matches!(error.kind, PredictErrorKind::Parse { .. }), "{error}");
    let shown = predictor(&signature("{}", REASONED), "{}").render(&fields(input));
    let line = "- `why` (string); leave it out if you have reasoned before your answer";
    assert!(shown[0].content.contains(line), "{}", shown[0].content);
}

#[test]
fn both_are_written_back_and_refused_where_they_mean_nothing() {
    for spelled in [CODE, REASONED] {
        let written = signature_to_payload(&signature("{}", spelled)).to_json();
        assert_eq!(signature_to_payload(&signature("{}", &written)).to_json(), written);
        assert!(written.contains("\"language\":\"c++\"") || written.contains("\"reasoning\":true"));
    }
    let refused = |field: &str| {
        let text = format!(r#"{{"instructions": "Go.", "inputs": [], "outputs": [{field}]}}"#);
        let (mut problems, mut scope) = (Problems::new(), TypeScope::new());
        drop(read_signature(&json(&text), &mut scope, &At::Root, &mut problems));
        problems.iter().map(|found| found.pointer.clone()).collect::<Vec<_>>()
    };
    let at = |member: &str| vec![format!("/outputs/0/{member}")];
    assert_eq!(refused(r#"{"name": "a", "type": "int", "language": "java"}"#), at("language"));
    assert_eq!(refused(r#"{"name": "a", "language": "two words"}"#), at("language"));
    assert_eq!(refused(r#"{"name": "a", "language": "java", "format": "json"}"#), at("language"));
    assert_eq!(
        refused(r#"{"name": "a", "type": "list[str]", "reasoning": true}"#),
        at("reasoning")
    );
}
