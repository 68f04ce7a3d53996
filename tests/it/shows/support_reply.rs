//! The example graph of the API documentation from end to end: created, read, executed, traced, tuned,
//! executed again.

use serde_json::{Value, json};

use super::{on, text};
use dsrs_test::{Asked, Does, FakeLm, Remote, sections, test_database};

const GRAPH: &str = "/v1/graphs/support-reply";
const EXECUTE: &str = "/v1/graphs/support-reply/execute";
const STATE: &str = "/v1/graphs/support-reply/state";
const TICKET: &str = "My parcel is two weeks late!";

fn graph() -> Value {
    json!({
        "name": "support-reply",
        "description": "Draft a reply to a ticket",
        "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
        "inputs": {"ticket": "str"},
        "nodes": {
            "triage": {
                "strategy": "predict", "signature": "ticket -> mood: Mood, topics: list[str]"
            },
            "reply": {
                "strategy": "chain_of_thought",
                "signature": {
                    "instructions": "Answer politely.",
                    "inputs": [
                        {"name": "ticket", "type": "str"}, {"name": "mood", "type": "Mood"}
                    ],
                    "outputs": [{"name": "answer", "type": "str"}]
                },
                "config": {},
                "lm": {"model": "default", "temperature": 0.2, "max_tokens": 400},
                "timeout_ms": 30000, "retries": 2, "parse_retries": 1
            }
        },
        "edges": [
            {"from": "input.ticket", "to": "triage.ticket"},
            {"from": "input.ticket", "to": "reply.ticket"},
            {"from": "triage.mood", "to": "reply.mood"}
        ],
        "outputs": {"answer": "reply.answer", "mood": "triage.mood"}
    })
}

/// Triage finds anger; the reply states how many demos the prompt had.
fn answer(asked: &Asked) -> Does {
    let shown = asked.messages().iter().filter(|message| message["role"] == "assistant").count();
    Does::Say(match asked.text().contains("reasoning") {
        true => sections([("reasoning", "They wait."), ("answer", &format!("Sorry {shown}"))]),
        false => sections([("mood", "angry"), ("topics", r#"["parcel", "delay"]"#)]),
    })
}

fn tuned() -> Value {
    json!({"predictors": {
        "triage": {"instruction": "Read the ticket with care.", "demos": []},
        "reply.predict": {"instruction": null, "demos": [{
            "input": {"ticket": "Where is it?", "mood": "calm"},
            "output": {"reasoning": "They ask.", "answer": "On its way."}
        }]}
    }})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_graph_works_from_end_to_end() {
    let lm = FakeLm::by(|_, asked| answer(asked)).await;
    let server = on(&test_database().await, &lm).start();
    let api = Remote::new(&server.url);

    let created = api.post("/v1/graphs", graph()).await.expect(201);
    assert_eq!(created.header("location"), GRAPH);
    let read = api.get(GRAPH).await.expect(200);
    assert_eq!((&read.text, read.header("etag")), (&created.text, created.header("etag")));
    assert_resolved(&read.json());

    let first = run(&api).await;
    assert_eq!(first["outputs"], json!({"answer": "Sorry 0", "mood": "angry"}));
    assert_eq!(first["nodes"]["triage"]["outputs"]["topics"], json!(["parcel", "delay"]));
    assert_eq!(first["usage"]["lm_calls"], 2);
    assert_eq!((&first["version"], &first["state_version"]), (&json!(1), &json!(1)));
    assert_prompts(&api, &first, &lm.asked()).await;
    let asked = &lm.asked()[1].body;
    assert_eq!((&asked["temperature"], &asked["max_tokens"]), (&json!(0.2), &json!(400)));
    let path = format!("/v1/runs/{}", text(&first, "id"));
    let recorded = api.get(&path).await.expect(200);

    let put = api.put(STATE, tuned()).await.expect(200);
    assert_eq!(put.json()["version"], 2);
    let state = api.get(STATE).await.expect(200);
    assert_eq!((&state.text, state.header("etag")), (&put.text, put.header("etag")));
    let effective = &state.json()["predictors"]["reply.predict"]["effective_instruction"];
    assert_eq!(effective, "Answer politely.");

    let second = run(&api).await;
    assert_eq!(second["state_version"], 2);
    assert_eq!(second["outputs"]["answer"], "Sorry 1");
    assert_prompts(&api, &second, &lm.asked()[2..]).await;
    let messages = lm.asked()[3].messages();
    assert!(text(&messages[2], "content").contains("On its way."), "{messages:?}");
    assert!(lm.asked()[2].text().contains("Read the ticket with care."));

    let older = json!({"inputs": {"ticket": TICKET}, "state_version": 1});
    let third = api.post(EXECUTE, older).await.expect(200).json();
    assert_eq!((&third["state_version"], &third["trace"]), (&json!(1), &Value::Null));
    assert_eq!(third["outputs"]["answer"], "Sorry 0");
    assert_eq!(api.get(&path).await.expect(200).text, recorded.text, "a finished run is fixed");
}

async fn run(api: &Remote) -> Value {
    let body = json!({"inputs": {"ticket": TICKET}, "trace": true});
    let run = api.post(EXECUTE, body).await.expect(200).json();
    assert_eq!((text(&run, "status"), &run["id"]), ("succeeded", &run["run_id"]));
    let path = format!("/v1/runs/{}", text(&run, "id"));
    let mut recorded = api.get(&path).await.expect(200).json();
    recorded["run_id"] = recorded["id"].clone();
    recorded.as_object_mut().unwrap().remove("feedback");
    assert_eq!(recorded, run);
    run
}

/// The definition is fully resolved, in its written order.
fn assert_resolved(read: &Value) {
    let written = graph();
    for member in ["name", "description", "types", "edges", "outputs"] {
        assert_eq!(read[member], written[member], "{member}");
    }
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&read["nodes"]), ["triage", "reply"]);
    assert_eq!((&read["version"], &read["state_version"]), (&json!(1), &json!(1)));
    let signature = &read["nodes"]["triage"]["signature"];
    assert_eq!(signature["outputs"][1], json!({"name": "topics", "type": "list[str]"}));
}

/// The provider, the trace and `render` have the same messages.
async fn assert_prompts(api: &Remote, run: &Value, asked: &[Asked]) {
    let spans = run["trace"]["spans"].as_array().unwrap();
    let lm_spans = spans.iter().filter(|span| span["kind"] == "lm").collect::<Vec<_>>();
    let found = lm_spans.iter().map(|span| text(span, "predictor")).collect::<Vec<_>>();
    assert_eq!(found, ["triage", "reply.predict"]);
    let inputs = [json!({"ticket": TICKET}), json!({"ticket": TICKET, "mood": "angry"})];
    for ((span, asked), inputs) in lm_spans.iter().zip(asked).zip(inputs) {
        let body = json!({"node": span["node"], "inputs": inputs});
        let rendered = api.post(&format!("{GRAPH}/render"), body).await.expect(200).json();
        let messages = &rendered["predictors"][text(span, "predictor")]["messages"];
        assert_eq!(*messages, asked.body["messages"]);
        assert_eq!(*messages, span["messages"]);
    }
}
