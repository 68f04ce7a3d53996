//! Tools of a typed predictor: the LM may call them before it answers.

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::lm::{LmReply, Message, Model, Models, Role, ScriptedAnswer, ScriptedLm, ToolCall};
use dsrs::predict::{PredictErrorKind, SpanKind, SpanStatus};
use dsrs::{Ctx, Module, Predict, Signature};

#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: i64,
}

#[derive(Facet)]
struct City {
    name: String,
}

fn qa() -> Predict<Qa> {
    let find = |city: City| async move {
        match city.name.as_str() {
            "Turku" => Ok(206_000),
            other => Err(format!("{other} is unknown")),
        }
    };
    Predict::builder().tool("population", "Inhabitants of a city.", find).build().unwrap()
}

fn input() -> QaInput {
    QaInput { question: "How many people live in Turku?".into() }
}

fn ctx(lm: &Arc<ScriptedLm>, tools: bool) -> Ctx {
    let model = Model { tools, ..Model::of("default", lm.clone()) };
    Ctx::within(Models::new([model], None).into(), Duration::from_secs(600))
}

/// A reply with tool calls.
fn asks(calls: &[(&str, &str, &str)]) -> ScriptedAnswer {
    let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    };
    LmReply { tool_calls: calls.iter().map(call).collect(), ..LmReply::of("", "m") }.into()
}

fn says(text: &str) -> ScriptedAnswer {
    text.into()
}

fn turns(messages: &[Message]) -> Vec<(Role, String)> {
    messages.iter().skip(1).map(|turn| (turn.role, turn.content.to_string())).collect()
}

#[tokio::test]
async fn tools_are_called_and_results_sent_before_the_answer() {
    let first =
        [("a", "population", r#"{"name": "Turku"}"#), ("b", "population", r#"{"name": "Oz"}"#)];
    let second = [("c", "populaton", "{}"), ("d", "population", "{not json")];
    let lm = Arc::new(ScriptedLm::answering([
        asks(&first),
        asks(&second),
        says("[[ ## answer ## ]]\nmany"),
        says("[[ ## answer ## ]]\n206000"),
    ]));
    let ctx = ctx(&lm, true);
    let result = qa().call(&ctx, input()).await.unwrap();
    assert_eq!((result.answer, result.usage().lm_calls), (206_000, 4));

    let requests = lm.requests();
    assert!(
        requests.iter().all(|sent| sent.tools.as_ref().unwrap()[0].name.as_ref() == "population")
    );
    let said = turns(&requests[2].chat.turns);
    let results: Vec<_> = said
        .iter()
        .filter(|(role, _)| *role == Role::Tool)
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(results[..2], ["206000", "Error: Oz is unknown"]);
    assert!(results[2].contains("did you mean `population`?"), "{}", results[2]);
    assert!(results[3].starts_with("Error: the arguments are not JSON"), "{}", results[3]);
    assert_eq!(requests[2].chat.turns[2].tool_call_id.as_deref(), Some("a"));
    // After a retry, the LM still sees the results of its tools.
    assert_eq!(requests[3].chat.turns.len(), requests[2].chat.turns.len() + 2);

    let spans = ctx.trace().take();
    let tools: Vec<_> =
        spans.iter().filter(|span| span.kind == SpanKind::Tool).map(|span| span.status).collect();
    use SpanStatus::{Failed, Succeeded};
    assert_eq!(tools, [Succeeded, Failed, Failed]);
}

#[tokio::test]
async fn after_the_last_round_the_lm_gets_no_tools() {
    let lm = Arc::new(ScriptedLm::by(|request| match request.tools {
        Some(_) => asks(&[("a", "population", r#"{"name": "Turku"}"#)]),
        None => says("[[ ## answer ## ]]\n1"),
    }));
    let result = qa().call(&ctx(&lm, true), input()).await.unwrap();
    assert_eq!((result.answer, lm.requests().len()), (1, 17));
}

#[tokio::test]
async fn a_model_without_native_tools_is_refused_with_a_remedy() {
    let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\n1"]));
    let error = qa().call(&ctx(&lm, false), input()).await.unwrap_err();
    assert_eq!(error.kind, PredictErrorKind::NoTools { alias: "default".into() });
    assert!(error.message.contains("or use ReAct"), "{}", error.message);
    assert!(lm.requests().is_empty());
}

#[test]
fn invalid_tools_are_all_reported() {
    let same = |city: City| async move { Ok::<_, String>(city.name) };
    let twice = Predict::<Qa>::builder()
        .tool("same", "", same)
        .tool("same", "", same)
        .tool("a b", "", same);
    let problems = twice.build().unwrap_err().to_string();
    assert!(problems.contains("two tools are named `same`"), "{problems}");
    assert!(problems.contains("`a b` is not a valid tool name"), "{problems}");
}
