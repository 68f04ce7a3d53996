//! The help desk, in process and on a server: one program, and the same prompts to the byte.

use std::sync::{Arc, Once};

use dsrs::lm::{Message, ScriptedLm};
use dsrs::module::{ModuleState, named_predictors};
use dsrs::{Module, TypedDemo, load_json, save_json};
use dsrs_examples::desk::{self, Desk, PolishInput, PolishOutput, Question, graph};
use dsrs_examples::index::Index;
use dsrs_examples::push::Remote;
use dsrs_examples::{model, tune};
use serde_json::{Value, json};

use crate::host::Host;
use crate::stand_in::StandIn;

const QUESTION: &str = "How many days does a refund take?";

fn index() -> Arc<Index> {
    Arc::new(Index::of_handbook())
}

fn untuned() -> Desk {
    Desk::over(index()).unwrap()
}

/// The desk after an optimization, with a demo and an instruction of an author's own.
async fn tuned() -> Desk {
    let mut desk = untuned();
    let report = tune::tune_desk(&mut desk, &model::on(Arc::new(model::script()))).await.unwrap();
    assert!(report.changed, "{}", report.reason);
    let input = PolishInput { question: "When do you open?".into(), draft: "At nine.".into() };
    let demo = TypedDemo { input, output: PolishOutput { answer: "nine".into() } };
    desk.reply.polish.add_demo(&demo).unwrap();
    desk.find.agent.extract.predict.set_instruction("Copy the sentences that answer it.");
    desk
}

/// The same desk after it was saved as a file and loaded into a new one.
fn saved_and_loaded(desk: &Desk) -> Desk {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("desk.json");
    save_json(&file, &desk.state().unwrap()).unwrap();
    let mut loaded = untuned();
    loaded.load_state(load_json::<ModuleState>(&file).unwrap()).unwrap();
    loaded
}

/// Makes `find` a strategy of this process, as the program that pushes does.
fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| desk::register(index()).unwrap());
}

/// The answer in process, and the messages of each request in the form in which they are sent.
async fn in_process(desk: &Desk) -> (String, Vec<String>) {
    let lm: Arc<ScriptedLm> = Arc::new(model::script());
    let asked = Question { question: QUESTION.into() };
    let answer = desk.call(&model::on(lm.clone()), asked).await.unwrap().into_output().answer;
    let requests = lm.requests();
    let sent = requests.iter().map(|request| request.chat.messages().collect::<Vec<&Message>>());
    (answer, sent.map(|messages| serde_json::to_string(&messages).unwrap()).collect())
}

/// The spans of a run's trace of a kind.
fn spans<'r>(run: &'r Value, kind: &str) -> Vec<&'r Value> {
    let spans = run["trace"]["spans"].as_array().unwrap().iter();
    spans.filter(|span| span["kind"] == kind).collect()
}

#[tokio::test]
async fn the_desk_answers_with_its_client_its_tool_and_its_nested_modules() {
    let desk = untuned();
    let paths: Vec<String> =
        named_predictors(&desk).unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        ["find.agent.action", "find.agent.extract.predict", "reply.draft.predict", "reply.polish"]
    );
    let (answer, sent) = in_process(&desk).await;
    assert_eq!((answer.as_str(), sent.len()), ("It takes some days.", 5));
    // The client found the nearest passage, the tool those with the word.
    assert!(sent[0].contains(r"[[ ## passage ## ]]\nRefunds go to the card"), "{}", sent[0]);
    assert!(!sent[0].contains("result: "), "{}", sent[0]);
    assert!(sent[1].contains("result: ") && sent[1].contains("five working days"), "{}", sent[1]);
}

#[tokio::test]
async fn the_desk_is_optimized_saved_and_loaded() {
    let desk = tuned().await;
    let instruction = desk.reply.polish.dump_state().instruction;
    assert_eq!(instruction.as_deref(), Some("Answer in as few words as you can."));
    let loaded = saved_and_loaded(&desk);
    assert_eq!(loaded.state().unwrap(), desk.state().unwrap());
    assert_eq!(in_process(&loaded).await.0, "five");
}

#[tokio::test]
async fn the_graph_of_the_desk_has_its_nodes_its_edges_and_its_state() {
    register();
    let found = graph::project(&tuned().await).await.unwrap();
    let document: Value = serde_json::from_str(found.program.canonical_text()).unwrap();
    assert_eq!(document["nodes"]["find"]["strategy"], "find");
    let inputs: Vec<&String> = document["inputs"].as_object().unwrap().keys().collect();
    assert_eq!(inputs, ["question"]);
    let edges = json!([
        {"from": "input.question", "to": "draft_predict.question"},
        {"from": "input.question", "to": "polish.question"},
        {"from": "draft_predict.draft", "to": "polish.draft"},
        {"from": "input.question", "to": "find.question"},
        {"from": "find.facts", "to": "draft_predict.facts"}
    ]);
    assert_eq!(document["edges"], edges);
    assert_eq!(document["outputs"], json!({"answer": "polish.answer"}));
    let polish = &found.state.0["polish"];
    assert_eq!((polish.instruction.is_some(), polish.demos.len()), (true, 1));
    let extract = &found.state.0["find.agent.extract.predict"];
    assert_eq!(extract.instruction.as_deref(), Some("Copy the sentences that answer it."));
}

#[tokio::test]
async fn a_server_executes_the_pushed_desk_with_the_same_prompts_to_the_byte() {
    let desk = saved_and_loaded(&tuned().await);
    let (answer, sent) = in_process(&desk).await;
    assert_eq!((answer.as_str(), sent.len()), ("five", 5));
    assert!(sent[2].contains("Copy the sentences") && sent[4].contains("When do you open?"));

    register();
    let (lm, graph) = (StandIn::start().await, graph::project(&desk).await.unwrap());
    let host = Host::start(&lm.url);
    let server = Remote::new(&host.url, None).unwrap();
    server.push(&graph).await.unwrap();
    let run = server.execute("desk", &json!({ "question": QUESTION })).await.unwrap();

    assert_eq!(run["outputs"], json!({"answer": "five"}));
    assert_eq!(lm.take_messages(), sent);
    let traced = spans(&run, "lm").into_iter().map(|span| span["messages"].to_string());
    assert_eq!(traced.collect::<Vec<_>>(), sent);
    let tools = spans(&run, "tool");
    assert_eq!(tools.len(), 1);
    assert_eq!((&tools[0]["name"], &tools[0]["node"]), (&json!("lookup"), &json!("find")));
}

#[tokio::test]
async fn a_desk_that_is_pushed_again_replaces_the_one_on_the_server() {
    register();
    let lm = StandIn::start().await;
    let host = Host::start(&lm.url);
    let server = Remote::new(&host.url, None).unwrap();
    let inputs = json!({ "question": QUESTION });
    for (desk, state_version) in [(untuned(), 1), (tuned().await, 2), (untuned(), 3)] {
        server.push(&graph::project(&desk).await.unwrap()).await.unwrap();
        let run = server.execute("desk", &inputs).await.unwrap();
        let (answer, sent) = in_process(&desk).await;
        assert_eq!(run["outputs"]["answer"], answer);
        assert_eq!(lm.take_messages(), sent);
        assert_eq!((&run["version"], &run["state_version"]), (&json!(1), &json!(state_version)));
    }
    let unknown = server.execute("dsek", &inputs).await.unwrap_err().to_string();
    assert!(unknown.starts_with("404 ") && unknown.contains("not_found"), "{unknown}");
}
