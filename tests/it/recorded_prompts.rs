//! The prompts in records are those that the model received, byte for byte, in every form of a prompt: with demos and
//! tools, constrained and not, streamed and not. Their beginnings are stored once, and a server that starts later reads
//! them.

use reqwest::Method;
use serde_json::{Value, json};

use dsrs_test::{Asked, Does, FakeLm, Remote, ServerSetup, sections, test_database};

/// Runs of each graph: from the third one on, the record refers to the beginning of its prompt.
const RUNS: usize = 4;

fn answered(asked: &Asked) -> Does {
    if asked.body.get("response_format").is_some() {
        return Does::Say(json!({"reasoning": "so", "answer": "ü\u{0}"}).to_string());
    }
    let said = sections([("reasoning", "so"), ("answer", "ü")]);
    match asked.body["stream"] == true {
        true => {
            let piece = json!({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": "stop"}]});
            let events = vec![("content-type", "text/event-stream".to_owned())];
            Does::Answer(200, events, format!("data: {piece}\n\ndata: [DONE]\n\n"))
        }
        false => Does::Say(said),
    }
}

fn graph(name: &str, strategy: &str, config: Value) -> Value {
    let signature = "question -> answer";
    let node = json!({"strategy": strategy, "signature": signature, "config": config});
    json!({"name": name, "inputs": {"question": "str"}, "nodes": {"ask": node},
           "edges": [{"from": "input.question", "to": "ask.question"}], "outputs": {"answer": "ask.answer"}})
}

/// The prompts in the trace of a run.
async fn recorded(api: &Remote, run: &str) -> Vec<Value> {
    let run = api.get(&format!("/v1/runs/{run}")).await.expect(200).json();
    let spans = run["trace"]["spans"].as_array().unwrap().iter();
    let prompts = spans.filter(|span| span["kind"] == "lm").map(|span| span["messages"].clone());
    prompts.collect()
}

async fn execute(api: &Remote, graph: &str, number: usize, streamed: bool) -> String {
    let body = json!({"inputs": {"question": format!("\"{number}\" ü \u{0}?")}}).to_string();
    let accept = if streamed { "text/event-stream" } else { "application/json" };
    let path = format!("/v1/graphs/{graph}/execute");
    api.send(Method::POST, &path, &[("accept", accept)], Some(body)).await.expect(200);
    let newest = api.get("/v1/runs?limit=1").await.expect(200).json();
    newest["items"][0]["id"].as_str().unwrap().to_owned()
}

async fn prompts_are_recorded_as_sent(constrain: &str, streamed: bool) {
    let lm = FakeLm::by(|_, asked| answered(asked)).await;
    let database = test_database().await;
    let setup = ServerSetup::new()
        .database(&database)
        .env("DSRS_MODELS__DEFAULT__MODEL", "small")
        .env("DSRS_MODELS__DEFAULT__BASE_URL", &lm.url)
        .env("DSRS_MODELS__DEFAULT__CONSTRAIN", constrain);
    let server = setup.start();
    let api = Remote::new(&server.url);
    let graphs = [("plain", "predict"), ("thinking", "chain_of_thought")];
    for (name, strategy) in graphs {
        api.post("/v1/graphs", graph(name, strategy, json!({}))).await.expect(201);
    }
    let predictor = "ask.predict";
    let demos = json!([{"input": {"question": "\u{0}\"?"}, "output": {"answer": "calm ü"}}]);
    let state = json!({"predictors": {predictor: {"demos": demos}}});
    api.put("/v1/graphs/thinking/state", state).await.expect(200);
    let mut runs = Vec::new();
    for (name, _) in graphs {
        for number in 0..RUNS {
            let seen = lm.asked().len();
            let run = execute(&api, name, number, streamed).await;
            runs.push((
                run,
                lm.asked()[seen..].iter().map(|asked| json!(asked.messages())).collect(),
            ));
        }
    }
    are_recorded(&api, &runs).await;
    assert!(server.stop().success());
    let server = setup.start();
    are_recorded(&Remote::new(&server.url), &runs).await;
}

/// Compares what the model received with the traces of the runs.
async fn are_recorded(api: &Remote, runs: &[(String, Vec<Value>)]) {
    for (run, sent) in runs {
        assert_eq!(&recorded(api, run).await, sent);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_in_records_are_those_that_were_sent() {
    for constrain in ["none", "json_schema"] {
        for streamed in [false, true] {
            prompts_are_recorded_as_sent(constrain, streamed).await;
        }
    }
}
