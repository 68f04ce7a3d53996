//! Tools of the caller: an agent waits, a client answers its calls over `/v1/runs/{id}/signal`, the agent continues.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, test_database};

fn agent(tools: &Value) -> Value {
    json!({"name": "agent", "inputs": {"question": "str"}, "nodes": {
        "note": {"strategy": "predict", "signature": "question -> note"},
        "work": {"strategy": "react", "signature": "question -> answer",
                 "config": {"tools": tools, "max_iters": 5}}},
      "outputs": {"answer": "work.answer", "note": "note.note"}})
}

fn look() -> Value {
    json!({"caller": {"name": "look", "description": "Looks a word up.", "arguments": {
        "type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}})
}

fn sections(fields: &[(&str, &str)]) -> String {
    let sections = fields.iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    sections.chain(["[[ ## completed ## ]]".to_owned()]).collect()
}

fn step(name: &str, args: &str, more: &str) -> String {
    sections(&[
        ("next_thought", "so"),
        ("next_tool_name", name),
        ("next_tool_args", args),
        ("more_tool_calls", more),
    ])
}

/// A model whose agent looks up two words, then a third, and answers.
fn lm() -> Arc<ScriptedLm> {
    let more = r#"[{"name": "look", "args": {"word": "dog"}}]"#;
    Arc::new(ScriptedLm::by(move |request| {
        let asked: String = request.chat.turns.iter().map(|turn| &*turn.content).collect();
        let wants = |field: &str| asked.contains(&format!("[[ ## {field} ## ]]"));
        match () {
            () if wants("note") => sections(&[("note", "n")]),
            () if wants("reasoning") => sections(&[("reasoning", "r"), ("answer", "a dog")]),
            () if asked.contains("it lives") => step("finish", "{}", "null"),
            () if asked.contains("result: ") => step("look", r#"{"word": "animal"}"#, "null"),
            () => step("look", r#"{"word": "hound"}"#, more),
        }
    }))
}

async fn with_agent(lm: &Arc<ScriptedLm>) -> Api {
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    api.post("/v1/graphs", agent(&json!([look()]))).await.expect(201);
    api
}

fn question() -> Value {
    json!({"inputs": {"question": "What is a hound?"}})
}

async fn signal(api: &Api, place: &str, value: Value) -> Answer {
    api.post(&format!("{place}/signal"), json!({"node": "work", "value": value})).await
}

/// Waits until the agent asks for the answers of its pause with this number.
async fn asks(api: &Api, place: &str, pause: i64) -> Value {
    let asks = |answer: &Answer| {
        answer.json()["status"] == "waiting" && answer.json()["nodes"]["work"]["pause"] == pause
    };
    api.until(place, asks).await.json()["nodes"]["work"].clone()
}

fn lm_spans(run: &Value) -> usize {
    let spans = run["trace"]["spans"].as_array().unwrap().iter();
    spans.filter(|span| span["kind"] == "lm").count()
}

/// Answers both pauses of the agent and returns the run.
async fn answer_all(api: &Api, place: &str) -> Value {
    let work = asks(api, place, 1).await;
    let calls = json!([
        {"id": "1-1", "tool": "look", "arguments": {"word": "hound"}},
        {"id": "1-2", "tool": "look", "arguments": {"word": "dog"}}
    ]);
    assert_eq!((&work["calls"], &work["status"]), (&calls, &json!("waiting")));
    assert_eq!(work["inputs"]["question"], "What is a hound?");
    let found = json!({"1-1": {"result": ["a dog"]}, "1-2": {"error": "no such page"}});
    signal(api, place, found).await.expect(202);
    let work = asks(api, place, 2).await;
    assert_eq!(work["calls"][0]["arguments"], json!({"word": "animal"}));
    let accepted =
        signal(api, place, json!({"2-1": {"result": "it lives"}})).await.expect(202).json();
    assert!(accepted["nodes"]["work"].get("calls").is_none(), "{accepted}");
    api.ended(place.rsplit('/').next().unwrap()).await
}

fn assert_whole(run: &Value, lm: &ScriptedLm) {
    assert_eq!(run["outputs"], json!({"answer": "a dog", "note": "n"}), "{run}");
    assert_eq!(
        lm.requests().len(),
        5,
        "a note, three steps and the outputs: nothing is bought twice"
    );
    assert_eq!((lm_spans(run), &run["usage"]["lm_calls"]), (5, &json!(5)));
    let spans = run["trace"]["spans"].as_array().unwrap();
    let tools = spans.iter().filter(|span| span["kind"] == "tool");
    let tools: Vec<String> =
        tools.map(|span| format!("{} {}", span["inputs"]["word"], span["status"])).collect();
    let expected = ["\"hound\" \"succeeded\"", "\"dog\" \"failed\"", "\"animal\" \"succeeded\""];
    assert_eq!(tools, expected);
    let work = &run["nodes"]["work"];
    assert!(work.get("calls").is_none() && work["status"] == "succeeded", "{work}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_run_waits_for_the_answers_of_each_step() {
    let lm = lm();
    let api = with_agent(&lm).await;
    let accepted = api.post("/v1/graphs/agent/runs", question()).await.expect(202);
    let run = answer_all(&api, accepted.header("location")).await;
    assert_whole(&run, &lm);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_becomes_a_waiting_run() {
    let lm = lm();
    let api = with_agent(&lm).await;
    let accepted = api.post("/v1/graphs/agent/execute", question()).await.expect(202);
    let run = answer_all(&api, accepted.header("location")).await;
    assert_whole(&run, &lm);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_do_not_fit_change_nothing() {
    let lm = lm();
    let api = with_agent(&lm).await;
    let accepted = api.post("/v1/graphs/agent/runs", question()).await.expect(202);
    let place = accepted.header("location").to_owned();
    asks(&api, &place, 1).await;
    let refused = signal(&api, &place, json!({"1-1": {"result": 1}, "9": 2})).await.expect(422);
    assert_eq!(refused.errors(), ["/value/1-2 missing_field", "/value/9 unknown_field"]);
    let refused = signal(&api, &place, json!("a dog")).await.expect(422);
    assert_eq!(refused.errors(), ["/value wrong_type"]);
    let found = json!({"1-1": {"result": null}, "1-2": {"result": {"kind": "animal"}}});
    signal(&api, &place, found.clone()).await.expect(202);
    let twice = signal(&api, &place, found).await;
    assert!(matches!(twice.status, 409 | 422), "{}", twice.json());
    let work = asks(&api, &place, 2).await;
    assert_eq!(work["calls"][0]["id"], "2-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_while_it_waits_has_what_it_cost() {
    let lm = lm();
    let api = with_agent(&lm).await;
    let accepted = api.post("/v1/graphs/agent/runs", question()).await.expect(202);
    let place = accepted.header("location").to_owned();
    asks(&api, &place, 1).await;
    let run = api.post(&format!("{place}/cancel"), "").await.expect(200).json();
    assert_eq!((&run["status"], &run["usage"]["lm_calls"]), (&json!("cancelled"), &json!(2)));
    assert_eq!(run["nodes"]["work"]["status"], "cancelled");
    assert!(run["nodes"]["work"].get("calls").is_none(), "{run}");
    let run = api.get(&place).await.expect(200).json();
    assert_eq!(lm_spans(&run), 2);
    api.post(&format!("{place}/resume"), json!({})).await.expect(202);
    let run = answer_all(&api, &place).await;
    assert_whole(&run, &lm);
    assert!(run["nodes"]["work"].get("continuation").is_none(), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_resumed_after_answers_continues_with_them() {
    let lm = lm();
    let api = with_agent(&lm).await;
    let accepted = api.post("/v1/graphs/agent/runs", question()).await.expect(202);
    let place = accepted.header("location").to_owned();
    asks(&api, &place, 1).await;
    let found = json!({"1-1": {"result": ["a dog"]}, "1-2": {"error": "no such page"}});
    signal(&api, &place, found).await.expect(202);
    asks(&api, &place, 2).await;
    api.post(&format!("{place}/cancel"), "").await.expect(200);
    api.post(&format!("{place}/resume"), json!({})).await.expect(202);
    let work = asks(&api, &place, 2).await;
    assert_eq!(
        work["calls"][0]["id"], "2-1",
        "an answer to an earlier step is none to a later one"
    );
    signal(&api, &place, json!({"2-1": {"result": "it lives"}})).await.expect(202);
    let run = api.ended(place.rsplit('/').next().unwrap()).await;
    assert_whole(&run, &lm);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_within_a_tool_has_steps_of_its_own() {
    let more = r#"[{"name": "inner", "args": {"question": "q"}}]"#;
    let lm = Arc::new(ScriptedLm::by(move |request| {
        let asked: String = request.chat.turns.iter().map(|turn| &*turn.content).collect();
        let is_inner = asked.contains("[[ ## question ## ]]\nq\n");
        match (is_inner, asked.contains("[[ ## reasoning ## ]]")) {
            (_, true) => sections(&[("reasoning", "r"), ("answer", "a dog")]),
            (true, false) => step("finish", "{}", "null"),
            (false, _) if asked.contains("result: answer") => step("finish", "{}", "null"),
            (false, _) if asked.contains("result: a secret") => {
                step("look", r#"{"word": "x"}"#, more)
            }
            (false, _) => step("look", r#"{"word": "hound"}"#, "null"),
        }
    }));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    let inner = json!({"name": "inner", "description": "An agent.", "nodes": {
        "r": {"strategy": "react", "signature": "question -> answer", "config": {"tools": ["calculator"]}}}});
    api.post("/v1/graphs", inner).await.expect(201);
    let graph = json!({"name": "agent", "nodes": {"work": {"strategy": "react",
        "signature": "question -> answer", "config": {"tools": [look(), {"graph": "inner"}]}}}});
    api.post("/v1/graphs", graph).await.expect(201);
    let accepted = api.post("/v1/graphs/agent/runs", question()).await.expect(202);
    let place = accepted.header("location").to_owned();
    asks(&api, &place, 1).await;
    signal(&api, &place, json!({"1-1": {"result": "a secret"}})).await.expect(202);
    asks(&api, &place, 2).await;
    let inner = lm.requests().into_iter().find(|request| {
        let asked: String = request.chat.turns.iter().map(|turn| &*turn.content).collect();
        asked.contains("[[ ## question ## ]]\nq\n")
    });
    let asked: String =
        inner.unwrap().chat.turns.iter().map(|turn| turn.content.to_string()).collect();
    assert!(asked.contains("(no steps yet)") && !asked.contains("a secret"), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_elsewhere_counts_a_paused_step_once() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let asked: String = request.chat.turns.iter().map(|turn| &*turn.content).collect();
        match asked.contains("[[ ## next_thought ## ]]") {
            true => step("look", r#"{"word": "hound"}"#, "null"),
            false => sections(&[("other", "nothing of use")]),
        }
    }));
    let api = Api::start(&test_database().await, Some(lm.clone()), &[]).await;
    let mut graph = agent(&json!([look()]));
    graph["nodes"]["note"] = json!({"strategy": "predict", "signature": "question -> note: int",
        "parse_retries": 5});
    api.post("/v1/graphs", graph).await.expect(201);
    let accepted = api.post("/v1/graphs/agent/runs", question()).await.expect(202);
    let run = api.ended(accepted.json()["id"].as_str().unwrap()).await;
    assert_eq!(run["status"], "failed");
    let asked = lm.requests().len();
    assert_eq!((lm_spans(&run), &run["usage"]["lm_calls"]), (asked, &json!(asked)), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_refused_before_it_runs() {
    let lm = lm();
    let api = with_agent(&lm).await;
    let items = json!({"items": [{"inputs": {"question": "q"}}]});
    let refused = api.post("/v1/graphs/agent/batches", items).await.expect(422);
    let text = refused.json().to_string();
    assert!(text.contains("`work` waits for a value from a client"), "{text}");
    let broken = json!({"caller": {"name": "look up", "descripton": "x"}});
    let refused = api.post("/v1/graphs", agent(&json!([broken]))).await.expect(422);
    let place = "/nodes/work/config/tools/0/caller invalid_config";
    assert_eq!(refused.errors(), [place, place]);
    let text = refused.json().to_string();
    assert!(
        text.contains("`descripton`") || text.contains("'descripton' was unexpected"),
        "{text}"
    );
    assert!(lm.requests().is_empty());
}
