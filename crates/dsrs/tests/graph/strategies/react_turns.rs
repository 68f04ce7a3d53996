//! `react` whose steps are turns of the conversation, whose outputs are submitted, and whose steps end early.

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::graph::{Outcome, Program};
use dsrs::lm::{
    LmErrorKind, LmReply, LmRequest, Message, Model, Models, ReasoningEffort, Role, ScriptedAnswer,
    ScriptedLm, ToolCall, Usage,
};
use dsrs::predict::{Ctx, NodeContinuation, PredictErrorKind, RunScope, read_state};
use dsrs::problem::{At, Problems};
use dsrs::{Module, ReAct, Signature};
use tokio::time::Instant;

use super::support::{
    Env, answer, asked, called, fields, json, module, outputs, paths, refused, run,
};

const IN_TURNS: &str = r#""turns": true, "submit": true, "tools": ["calculator"]"#;

/// A graph of one agent with these members of its config.
fn graph(config: &str) -> String {
    format!(
        r#"{{"name": "g", "nodes": {{"a": {{"strategy": "react",
            "signature": "question -> total: int, unit: \"kg\" | \"t\"", "config": {{{config}}}}}}}}}"#
    )
}

/// A reply with calls: the id, the tool and the arguments of each.
fn calls(text: &str, calls: &[(&str, &str, &str)]) -> ScriptedAnswer {
    let tool_calls = calls.iter().map(|(id, name, arguments)| ToolCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    });
    let usage = Usage { input_tokens: 90, output_tokens: 10, ..Usage::default() };
    LmReply { tool_calls: tool_calls.collect(), usage, ..LmReply::of(text, "m") }.into()
}

fn add(id: &str) -> ScriptedAnswer {
    calls("I add.", &[(id, "calculator", r#"{"expression": "1 + 1"}"#)])
}

fn submit() -> ScriptedAnswer {
    calls("", &[("s", "submit", r#"{"total": "2", "unit": "KG"}"#)])
}

fn extract() -> ScriptedAnswer {
    answer(&[("reasoning", "as the steps say"), ("total", "2"), ("unit", "kg")]).into()
}

fn step(name: &str, args: &str) -> ScriptedAnswer {
    let fields = [("next_thought", "Well."), ("next_tool_name", name), ("next_tool_args", args)];
    answer(&fields).into()
}

fn scripted(answers: impl IntoIterator<Item = ScriptedAnswer>) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(answers))
}

/// Runs a graph over models of which the first is the default.
async fn run_over(document: &str, models: impl IntoIterator<Item = Model>) -> Outcome {
    let program = Program::from_document(&json(document), &Env).unwrap();
    let models: Vec<_> = models.into_iter().collect();
    let first = models.first().map(|model| model.alias.clone());
    let models = Arc::new(Models::new(models, first));
    let run = RunScope::new(models, Instant::now() + Duration::from_secs(600));
    program.execute(&Arc::new(run), fields(r#"{"question": "1 kg + 1 kg?"}"#)).await
}

/// Runs an agent over a model that calls tools natively.
async fn run_native(config: &str, lm: &Arc<ScriptedLm>) -> Outcome {
    run_over(&graph(config), [native(lm)]).await
}

fn native(lm: &Arc<ScriptedLm>) -> Model {
    Model { tools: true, ..Model::of("default", lm.clone()) }
}

/// The conversation of a request: the role and the text of each message, with its calls or the call that it answers.
fn conversation(request: &LmRequest) -> String {
    let line = |message: &Message| {
        let calls = message.tool_calls.iter();
        let calls = calls.map(|call| format!(" [{} {}{}]", call.id, call.name, call.arguments));
        let of = message.tool_call_id.iter().map(|id| format!(" ({id})"));
        let marks: String = calls.chain(of).collect();
        format!("--- {:?}{marks}\n{}\n", message.role, message.content)
    };
    request.chat.messages().map(line).collect()
}

fn offered(request: &LmRequest) -> Vec<String> {
    let tools = request.tools.iter().flat_map(|tools| tools.iter());
    tools.map(|tool| tool.name.to_string()).collect()
}

#[tokio::test]
async fn steps_are_turns_and_the_outputs_are_submitted() {
    let two = calls(
        "I add.",
        &[
            ("c1", "calculator", r#"{"expression": "1 + 1"}"#),
            ("c2", "calculator", r#"{"expression": "1 / 0"}"#),
        ],
    );
    let lm = scripted([two, submit()]);
    let outcome = run_native(IN_TURNS, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    assert_eq!(called(&outcome.spans), ["action", "action"]);
    let requests = lm.requests();
    assert_eq!(offered(&requests[0]), ["calculator", "submit"]);
    let sent = conversation(&requests[1]);
    assert!(!sent.contains("[[ ## next") && !sent.contains("trajectory"), "{sent}");
    let schema = requests[0].tools.as_ref().unwrap()[1].parameters.get().to_owned();
    insta::assert_snapshot!(format!("{sent}--- submit\n{schema}"));
}

#[tokio::test]
async fn a_trace_has_the_steps_as_text_beside_the_turns() {
    let lm = scripted([add("c"), submit()]);
    let config = format!(r#"{IN_TURNS}, "with_trajectory": true"#);
    let outcome = run_native(&config, &lm).await;
    let found = outcome.outputs.unwrap();
    let expected = "Step 1\nthought: I add.\ncall: calculator {\"expression\":\"1 + 1\"}\nresult: 2\n\n\
                    Step 2\nthought:\ncall: submit {\"total\":\"2\",\"unit\":\"KG\"}";
    assert_eq!(found["trajectory"].as_str().unwrap().replace(": \n", ":\n"), expected);
    let second = outcome.spans.iter().filter(|span| span.predictor.as_deref() == Some("action"));
    let inputs = second.filter_map(|span| span.inputs.clone()).next_back().unwrap();
    assert!(inputs["trajectory"].as_str().unwrap().contains("result: 2"), "{inputs:?}");
}

#[tokio::test]
async fn each_result_refers_to_one_call_whatever_ids_a_provider_sends() {
    let lm = scripted([add(""), add("call"), add("call"), submit()]);
    run_native(IN_TURNS, &lm).await.outputs.unwrap();
    let last = lm.requests().pop().unwrap();
    let turns = || last.chat.turns.iter();
    let calls: Vec<_> = turns().flat_map(|turn| &turn.tool_calls).map(|call| &*call.id).collect();
    let results: Vec<_> = turns().filter_map(|turn| turn.tool_call_id.as_deref()).collect();
    assert_eq!(calls, ["call_1", "call", "call_3"]);
    assert_eq!(calls, results);
}

#[tokio::test]
async fn outputs_that_do_not_fit_are_a_result_that_the_lm_repairs() {
    let wrong = calls("", &[("c1", "submit", r#"{"total": "many", "weight": 1}"#)]);
    let lm = scripted([wrong, submit()]);
    let outcome = run_native(IN_TURNS, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let requests = lm.requests();
    let result = requests[1].chat.turns.last().unwrap();
    for part in ["Error: the outputs do not fit", "`total`", "`unit` is missing", "`weight`"] {
        assert!(result.content.contains(part), "{part}: {}", result.content);
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_are_a_failed_call() {
    let lm = scripted([calls("", &[("c1", "calculator", r#"{"expression": "#)]), submit()]);
    run_native(IN_TURNS, &lm).await.outputs.unwrap();
    let requests = lm.requests();
    let sent = conversation(&requests[1]);
    assert!(sent.contains("[c1 calculator{}]"), "{sent}");
    assert!(sent.contains("Error: the arguments are not valid JSON"), "{sent}");
}

#[tokio::test]
async fn after_the_last_step_the_outputs_have_to_be_submitted() {
    let lm = scripted([add("c1"), add("c2"), calls("", &[("x", "submit", "{}")]), submit()]);
    let config = format!(r#"{IN_TURNS}, "max_iters": 2"#);
    let mut model = native(&lm);
    model.params.reasoning_effort = Some(ReasoningEffort::Low);
    let outcome = run_over(&graph(&config), [model]).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let requests = lm.requests();
    let forced = |request: &LmRequest| request.tools.as_ref().unwrap().forced().is_some();
    assert_eq!(requests.iter().map(forced).collect::<Vec<_>>(), [false, false, true, true]);
    assert_eq!(offered(&requests[2]), ["submit"]);
    assert_eq!(requests[1].params.reasoning_effort, Some(ReasoningEffort::Low));
    assert_eq!(requests[2].params.reasoning_effort, None);
    assert_eq!(requests[2].chat.turns.last().unwrap().role, Role::Tool);
    let corrected = requests[3].chat.turns.last().unwrap();
    assert_eq!(corrected.tool_call_id.as_deref(), Some("x"));
    assert!(corrected.content.contains("`total` is missing"), "{}", corrected.content);
}

#[tokio::test]
async fn an_answer_in_words_ends_the_steps_and_is_followed_by_the_submission() {
    let lm = scripted([add("c1"), "It is 2 kg.".into(), submit()]);
    let outcome = run_native(IN_TURNS, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let last = lm.requests().pop().unwrap();
    let turns: Vec<_> =
        last.chat.turns.iter().map(|turn| (turn.role, &*turn.content)).skip(3).collect();
    let expected = [(Role::Assistant, "It is 2 kg."), (Role::User, "Call `submit` now.")];
    assert_eq!(turns, expected);
}

#[tokio::test]
async fn outputs_that_are_not_submitted_are_derived_from_the_steps() {
    let refusal = || ScriptedAnswer::fail(LmErrorKind::Refused, "no tool_choice").status(400);
    for missing in [vec!["hm".into(), "hm".into()], vec![refusal()]] {
        let answers = [add("c1")].into_iter().chain(missing).chain([extract()]);
        let lm = scripted(answers);
        let config = format!(r#"{IN_TURNS}, "max_iters": 1"#);
        let outcome = run_native(&config, &lm).await;
        assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
        assert_eq!(called(&outcome.spans), ["action", "action", "extract.predict"]);
        let last = lm.requests().pop().unwrap();
        assert!(asked(&last).contains("Step 1\nthought: I add."), "{}", asked(&last));
    }
}

#[tokio::test]
async fn a_model_without_native_calls_reads_the_same_agent_as_text() {
    let lm = scripted([
        step("calculator", r#"{"expression": "1 + 1"}"#),
        step("submit", r#"{"total": 2, "unit": "kg"}"#),
    ]);
    let outcome = run(&graph(IN_TURNS), &lm, r#"{"question": "1 kg + 1 kg?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let requests = lm.requests();
    assert!(requests.iter().all(|request| request.tools.is_none()));
    insta::assert_snapshot!(conversation(&requests[1]));
}

#[tokio::test]
async fn outputs_may_be_submitted_without_turns() {
    let config = r#""submit": true, "tools": ["calculator"], "max_iters": 2"#;
    let wrong = || step("submit", r#"{"total": 2}"#);
    let lm = scripted([wrong(), step("submit", r#"{"total": 2, "unit": "t"}"#)]);
    let outcome = run(&graph(config), &lm, r#"{"question": "?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"t"}"#);
    assert!(asked(&lm.requests()[1]).contains("result: Error: the outputs do not fit"));
    let lm = scripted([wrong(), wrong(), extract()]);
    let outcome = run(&graph(config), &lm, r#"{"question": "?"}"#).await;
    assert_eq!(called(&outcome.spans), ["action", "action", "extract.predict"]);
}

#[tokio::test]
async fn turns_without_submission_end_with_finish_and_the_outputs_of_the_steps() {
    let lm = scripted([add("c1"), calls("Done.", &[("c2", "finish", "")]), extract()]);
    let outcome = run_native(r#""turns": true, "tools": ["calculator"]"#, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let requests = lm.requests();
    assert_eq!(offered(&requests[0]), ["calculator", "finish"]);
    assert!(conversation(&requests[1]).contains("call `finish`"));
    assert!(asked(&requests[2]).contains("Step 2\nthought: Done.\ncall: finish {}"));
}

#[tokio::test]
async fn a_tool_ends_the_steps_once_its_call_succeeds() {
    let config = r#""turns": true, "submit": true, "tools": ["calculator"], "stop_at_tools": ["calculator"]"#;
    let failing = calls("", &[("c1", "calculator", r#"{"expression": "x"}"#)]);
    let lm = scripted([failing, add("c2"), submit()]);
    let outcome = run_native(config, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    assert!(lm.requests()[2].tools.as_ref().unwrap().forced().is_some());

    let config = r#""tools": ["calculator"], "stop_at_tools": ["calculator"]"#;
    let lm = scripted([step("calculator", r#"{"expression": "1 + 1"}"#), extract()]);
    let outcome = run(&graph(config), &lm, r#"{"question": "?"}"#).await;
    assert_eq!(called(&outcome.spans), ["action", "extract.predict"]);
    assert!(asked(&lm.requests()[1]).contains("result: 2"));
}

#[tokio::test]
async fn steps_end_once_their_tokens_are_spent() {
    let lm = scripted([add("c1"), add("c2"), submit()]);
    let config = format!(r#"{IN_TURNS}, "max_step_tokens": 150"#);
    let outcome = run_native(&config, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    assert_eq!(lm.requests().len(), 3);
}

#[tokio::test]
async fn the_oldest_turns_are_left_out_if_the_context_overflows() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let results = request.chat.turns.iter().filter(|turn| turn.role == Role::Tool).count();
        match (results, request.tools.as_ref().unwrap().forced().is_some()) {
            (3.., _) => ScriptedAnswer::fail(LmErrorKind::ContextOverflow, "too long").status(400),
            (_, true) => submit(),
            (_, false) => add("c"),
        }
    }));
    let config = format!(r#"{IN_TURNS}, "max_iters": 3"#);
    let outcome = run_native(&config, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let last = lm.requests().pop().unwrap();
    let question = &last.chat.turns[0].content;
    assert!(question.ends_with("1 kg + 1 kg?\n\n(1 earlier step left out)"), "{question}");
    assert_eq!(last.chat.turns.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_model_without_native_calls_gets_the_steps_as_text() {
    let failing = ScriptedAnswer::fail(LmErrorKind::QuotaExhausted, "no credit").status(402);
    let first = scripted([add("c1"), failing, submit()]);
    let second = scripted([step("calculator", r#"{"expression": "2 + 2"}"#)]);
    let first_model = Model { fallback: vec!["b".into()], ..native(&first) };
    let outcome = run_over(&graph(IN_TURNS), [first_model, Model::of("b", second.clone())]).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let [asked_second] = &second.requests()[..] else { panic!("it is asked once") };
    let text = conversation(asked_second);
    assert!(asked_second.tools.is_none() && text.contains("Step 1\nthought: I add."), "{text}");
    let last = conversation(&first.requests().pop().unwrap());
    assert!(last.contains("calculator{\"expression\":\"2 + 2\"}]\nWell.\n"), "{last}");
}

#[tokio::test]
async fn one_state_serves_both_kinds_of_models() {
    let agent = |_: ()| module("react", "question -> answer", &format!("{{{IN_TURNS}}}"));
    let mut agent = agent(());
    assert_eq!(paths(&*agent), ["action", "extract.predict"]);
    let state = r#"{"instruction": "Weigh it.", "demos": [{"input": {"question": "2 + 2?", "trajectory": "(no steps yet)"},
        "output": {"next_thought": "easy", "next_tool_name": "calculator", "next_tool_args": {"expression": "2 + 2"},
                   "more_tool_calls": [{"name": "calculator", "args": {"expression": "3"}}]}}]}"#;
    let state = read_state(&json(state), &At::Root, &mut Problems::new()).unwrap();
    let (_, action) = agent.predictors_mut().swap_remove(0);
    action.load_state(state, &At::Root).unwrap();
    let as_text = action.render(&fields(r#"{"question": "?"}"#));
    assert!(as_text[0].content.contains("Weigh it.\n\n`trajectory` contains"), "{as_text:?}");
    assert!(as_text[0].content.contains("- `submit`: Ends the steps with the outputs."));

    let lm = scripted([calls("", &[("s", "submit", r#"{"answer": "2"}"#)])]);
    let models = Models::new([native(&lm)], None);
    let ctx = Ctx::within(models.into(), Duration::from_secs(600));
    let found = agent.forward(&ctx, fields(r#"{"question": "1 + 1?"}"#)).await.unwrap();
    assert_eq!(found["answer"].as_str(), Some("2"));
    insta::assert_snapshot!(conversation(&lm.requests()[0]));
}

#[test]
fn every_problem_of_the_settings_is_reported_at_its_place() {
    let config = r#"{"tools": ["calculator"], "stop_at_tools": ["calculator", "calculater"], "turns": true}"#;
    assert_eq!(refused("react", "q -> a", config), ["/config/stop_at_tools/1 invalid_config"]);
    let named = r#"{"submit": true, "tools": [{"http": {"name": "Submit", "description": "d", "method": "GET",
        "url": "https://a.example"}}]}"#;
    assert_eq!(refused("react", "q -> a", named), ["/config/tools/0/http invalid_config"]);
    assert_eq!(
        refused("react", "q -> a", r#"{"max_step_tokens": 0}"#),
        ["/config/max_step_tokens invalid_config"]
    );
}

#[derive(Signature)]
#[instruction = "Answer the question."]
struct Sum {
    #[input]
    question: String,
    /// the total, in kg
    #[output]
    total: u8,
}

#[derive(Facet)]
struct Terms {
    expression: String,
}

#[tokio::test]
async fn a_typed_agent_has_the_same_settings() {
    let calculate = |terms: Terms| async move { dsrs::expr::calculate(&terms.expression) };
    let builder = || {
        ReAct::<Sum>::builder()
            .tool("calculator", "Adds.", calculate)
            .turns()
            .submit()
            .max_step_tokens(10_000)
            .stop_at_tool("calculator")
    };
    let agent = builder().build().unwrap();
    let large = calls("", &[("c2", "submit", r#"{"total": 300}"#)]);
    let lm = scripted([add("c1"), large, calls("", &[("c3", "submit", r#"{"total": "2"}"#)])]);
    let models = Models::new([native(&lm)], None);
    let ctx = Ctx::within(models.into(), Duration::from_secs(600));
    let result = agent.call(&ctx, SumInput { question: "1 + 1?".into() }).await.unwrap();
    assert_eq!(result.total, 2);
    assert!(result.trajectory.contains("call: submit"), "{}", result.trajectory);
    let refused = lm.requests()[2].chat.turns.last().unwrap().content.to_string();
    assert!(refused.contains("300 is not a value of `u8`"), "{refused}");

    let missing = builder().stop_at_tool("calculater").build().err().unwrap().to_string();
    assert!(missing.contains("did you mean `calculator`?"), "{missing}");
}

#[tokio::test]
async fn a_failed_first_answer_fails_the_node() {
    let lm = scripted([calls("", &[]), "hm".into(), "hm".into(), "hm".into(), "hm".into()]);
    let outcome = run_native(IN_TURNS, &lm).await;
    let error = outcome.outputs.unwrap_err().error;
    assert!(matches!(error.kind, PredictErrorKind::Parse { .. }), "{error:?}");
    assert_eq!(error.predictor.as_deref(), Some("extract.predict"));
}

fn summary(text: &str) -> ScriptedAnswer {
    answer(&[("summary", text)]).into()
}

#[tokio::test]
async fn a_predictor_of_its_own_replaces_old_steps_by_a_summary() {
    let long = "1 + ".repeat(200) + "1";
    let sum = |id: &'static str| {
        calls("I add.", &[(id, "calculator", &format!(r#"{{"expression": "{long}"}}"#))])
    };
    let lm = scripted([sum("c1"), sum("c2"), sum("c3"), summary("1 was added often."), submit()]);
    let config = format!(r#"{IN_TURNS}, "compact": {{"max_chars": 2500, "newest": 1}}"#);
    let outcome = run_native(&config, &lm).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    assert_eq!(called(&outcome.spans), ["action", "action", "action", "compact", "action"]);
    let requests = lm.requests();
    let summarized = asked(&requests[3]);
    assert!(summarized.contains("Step 2\n") && !summarized.contains("Step 3\n"), "{summarized}");
    let question = &requests[4].chat.turns[0].content;
    assert!(question.ends_with("\n\nSteps 1 to 2 in short:\n1 was added often."), "{question}");
    let results = requests[4].chat.turns.iter().filter_map(|turn| turn.tool_call_id.as_deref());
    assert_eq!(results.collect::<Vec<_>>(), ["c3"]);
}

#[tokio::test]
async fn steps_that_exceed_the_context_are_summarized_before_any_is_left_out() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let text = asked(request);
        match text {
            _ if request.chat.prefix[0].content.contains("Summarize") => summary("All is 1."),
            text if text.contains("Step 1\n") && text.contains("Step 3\n") => {
                ScriptedAnswer::fail(LmErrorKind::ContextOverflow, "too long").status(400)
            }
            _ if request.chat.prefix[0].content.contains("`reasoning`") => extract(),
            _ => step("calculator", r#"{"expression": "1"}"#),
        }
    }));
    let config = r#""tools": ["calculator"], "max_iters": 4, "compact": {}"#;
    let outcome = run(&graph(config), &lm, r#"{"question": "?"}"#).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    let last = asked(lm.requests().last().unwrap());
    assert!(last.contains("Step 1 in short:\nAll is 1.\n\nStep 2\n"), "{last}");
    let agent = module("react", "question -> answer", r#"{"compact": {}}"#);
    assert_eq!(paths(&*agent), ["action", "extract.predict", "compact"]);
    assert_eq!(refused("react", "steps -> a", r#"{"compact": {}}"#), ["/signature duplicate_name"]);
}

/// The conversation of the last request of an agent whose caller gives these answers.
async fn last_conversation(tool: &str, answers: &str) -> String {
    let two =
        calls("I look.", &[("c1", "look", r#"{"word": "a"}"#), ("c2", "look", r#"{"word": "b"}"#)]);
    let lm = scripted([two, submit()]);
    let config = format!(r#""turns": true, "submit": true, "tools": [{tool}]"#);
    let program = Program::from_document(&json(&graph(&config)), &Env).unwrap();
    let inputs = fields(r#"{"question": "1 kg + 1 kg?"}"#);
    let scope = || {
        let models = Arc::new(Models::new([native(&lm)], Some("default".into())));
        RunScope::new(models, Instant::now() + Duration::from_secs(600))
    };
    let parked = program.execute(&Arc::new(scope()), inputs.clone()).await;
    let pause = parked.nodes["a"].pause.clone().unwrap();
    let progress = vec![json(&pause.progress.to_json())];
    let answers = Some(json(answers));
    let from = NodeContinuation { number: pause.number, progress, answers };
    let mut scope = scope();
    scope.paused.insert("a".into(), Arc::new(from));
    let outcome = program.execute(&Arc::new(scope), inputs).await;
    assert_eq!(outputs(&outcome), r#"{"total":2,"unit":"kg"}"#);
    conversation(lm.requests().last().unwrap())
}

#[tokio::test]
async fn an_agent_that_waited_for_its_caller_has_the_same_turns() {
    let tool = r#"{"caller": {"name": "look", "description": "Looks.", "arguments": {"type": "object",
        "properties": {"word": {"type": "string"}}}}}"#;
    let answers = r#"{"1-1": {"result": "first"}, "1-2": {"error": "no such word"}}"#;
    let found = last_conversation(tool, answers).await;
    let turns = found.split_once("--- Assistant").unwrap().1;
    assert_eq!(
        turns.trim_end(),
        " [c1 look{\"word\": \"a\"}] [c2 look{\"word\": \"b\"}]\nI look.\n\
         --- Tool (c1)\nfirst\n--- Tool (c2)\nError: no such word"
    );
}
