//! `/v1/graphs/{graph}/state`: replaced, stored, activated, rolled back.

use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{support_reply, within};

const STATE: &str = "/v1/graphs/support-reply/state";

fn tuned(instruction: &str) -> Value {
    json!({"predictors": {"triage": {
        "instruction": instruction,
        "demos": [{"input": {"ticket": "\u{0}?"}, "output": {"mood": "calm", "topics": ["x"]}}],
        "lm": {"temperature": 0.5}
    }}})
}

async fn api() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    api
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_graph_has_an_untuned_state() {
    let state = api().await.get(STATE).await.expect(200).json();
    assert_eq!((&state["version"], &state["graph_version"]), (&json!(1), &json!(1)));
    let triage = &state["predictors"]["triage"];
    assert_eq!((&triage["instruction"], &triage["demos"]), (&Value::Null, &json!([])));
    assert!(triage["effective_instruction"].is_string());
    let paths: Vec<_> = state["predictors"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["triage", "reply.predict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_and_its_etag_survive_a_restart() {
    let api = api().await;
    let put = api.put(STATE, tuned("Judge.")).await.expect(200);
    let state = put.json();
    assert_eq!((&state["version"], &state["parent"]), (&json!(2), &json!(1)));
    assert_eq!(state["predictors"]["triage"]["lm"], json!({"temperature": 0.5}));
    let database = api.database.clone();
    api.stop().await;
    let api = Api::start(&database, None, &[]).await;
    let read = api.get(STATE).await.expect(200);
    assert_eq!((&read.text, read.header("etag")), (&put.text, put.header("etag")));
    assert_eq!(api.get("/v1/graphs/support-reply").await.json()["state_version"], 2);
    let body = json!({"node": "triage", "inputs": {"ticket": "hi"}});
    let render = api.post("/v1/graphs/support-reply/render", body).await.expect(200);
    let messages = render.json()["predictors"]["triage"]["messages"].clone();
    assert!(messages[0]["content"].as_str().unwrap().contains("Judge."), "{messages}");
    assert!(messages[1]["content"].as_str().unwrap().contains("\u{0}?"), "{messages}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_state_makes_no_new_version() {
    let api = api().await;
    let put = api.put(STATE, tuned("Judge.")).await.expect(200);
    let again = api.put(STATE, tuned("Judge.")).await.expect(200);
    assert_eq!((&again.text, again.header("etag")), (&put.text, put.header("etag")));
    let back = api.put(STATE, &put.text).await.expect(200);
    assert_eq!(back.header("etag"), put.header("etag"));
    let reset = api.put(STATE, json!({"predictors": {}})).await.expect(200).json();
    assert_eq!(reset["version"], 3);
    assert_eq!(reset["predictors"]["triage"]["instruction"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_state_is_reported_by_path_and_field() {
    let api = api().await;
    let body = json!({"predictors": {
        "triag": {"instruction": "x"},
        "repli": {},
        "triage": {"demos": [{"input": {"ticket": 1}, "output": {"mood": "cross", "topics": []}}]}
    }});
    let refused = api.put(STATE, body).await.expect(422);
    assert_eq!(refused.code(), "invalid_state");
    let errors = refused.errors();
    for wanted in [
        "/predictors/triag unknown_field",
        "/predictors/repli unknown_field",
        "/predictors/triage/demos/0/input/ticket wrong_type",
        "/predictors/triage/demos/0/output/mood invalid_value",
    ] {
        assert!(errors.iter().any(|error| error == wanted), "{wanted} is not in {errors:?}");
    }
    let refused = api.put(STATE, json!({"predictrs": {}})).await.expect(422);
    assert_eq!(refused.code(), "invalid_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_kinds_of_problems_of_a_state_are_reported_together() {
    let api = api().await;
    let body = json!({"predictrs": 1, "predictors": {
        "triag": {"instructon": "x"},
        "repli": 3,
        "triage": {
            "lm": {"temperature": "hot", "model": "nobody"},
            "demos": [
                {"input": 5, "output": {"mood": "cross"}},
                {"input": {"tickt": "a", "ticket": "b"}, "outptu": {}},
                7,
                {"input": {"ticket": true}, "output": {"mood": "calm"}}
            ]
        }
    }});
    let refused = api.put(STATE, body).await.expect(422);
    assert_eq!(refused.code(), "invalid_state");
    let mut errors = refused.errors();
    errors.sort();
    assert_eq!(
        errors,
        [
            "/predictors/repli unknown_field",
            "/predictors/repli wrong_type",
            "/predictors/triag unknown_field",
            "/predictors/triag/instructon unknown_field",
            "/predictors/triage/demos/0/input wrong_type",
            "/predictors/triage/demos/0/output/mood invalid_value",
            "/predictors/triage/demos/1/input/tickt unknown_field",
            "/predictors/triage/demos/1/outptu unknown_field",
            "/predictors/triage/demos/1/output missing_field",
            "/predictors/triage/demos/2 wrong_type",
            "/predictors/triage/demos/3/input/ticket wrong_type",
            "/predictors/triage/lm/model unknown_model",
            "/predictors/triage/lm/temperature wrong_type",
            "/predictrs unknown_field",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn activation_and_rollback_change_the_active_state() {
    let api = api().await;
    api.put(STATE, tuned("Two.")).await.expect(200);
    api.put(STATE, tuned("Three.")).await.expect(200);
    let path = format!("{STATE}/versions/2/activate");
    let active = api.send(Method::POST, &path, &[], None).await.expect(200);
    assert_eq!(active.json()["version"], 2);
    let state = api.get(STATE).await.expect(200);
    assert_eq!(state.header("etag"), active.header("etag"));
    assert_eq!(state.json()["predictors"], active.json()["predictors"]);
    let versions = api.get(&format!("{STATE}/versions")).await.expect(200).json();
    let versions = versions["items"].as_array().unwrap().iter();
    let versions: Vec<_> =
        versions.map(|v| (v["version"].clone(), v["in_force"].clone())).collect();
    assert_eq!(
        versions,
        [(json!(3), json!(false)), (json!(2), json!(true)), (json!(1), json!(false))]
    );
    let third = api.get(&format!("{STATE}/versions/3")).await.expect(200).json();
    assert_eq!(third["predictors"]["triage"]["instruction"], "Three.");
    let next = api.put(STATE, tuned("Four.")).await.expect(200).json();
    assert_eq!((&next["version"], &next["parent"]), (&json!(4), &json!(2)));
}

/// Locks these tables against all reads until dropped.
async fn barred(api: &Api, tables: &str) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let pool = sqlx::PgPool::connect(&api.database).await.unwrap();
    let mut tx = pool.begin().await.unwrap();
    let bar = sqlx::AssertSqlSafe(format!("lock table {tables} in access exclusive mode"));
    sqlx::query(bar).execute(&mut *tx).await.unwrap();
    tx
}

async fn is_known(api: &Api, tag: &str, status: u16) {
    let known = [("if-none-match", tag)];
    let asked = api.send(Method::GET, STATE, &known, None);
    let found = within("an answer", asked).await;
    assert_eq!((found.expect(status).header("etag") == tag, status), (status == 304, status));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polling_client_costs_an_index_lookup_or_nothing() {
    let api = api().await;
    let tag = api.put(STATE, tuned("Two.")).await.expect(200).header("etag").to_owned();
    let documents = barred(&api, "graph_versions, state_versions").await;
    is_known(&api, &tag, 304).await;
    drop(documents);

    // After a run the active versions are cached, and the database is not queried.
    let run = json!({"inputs": {"ticket": "?"}});
    api.post("/v1/graphs/support-reply/execute", run).await.expect(200);
    let all = barred(&api, "graphs, graph_versions, states_in_force, state_versions").await;
    is_known(&api, &tag, 304).await;
    drop(all);

    api.put(STATE, tuned("Three.")).await.expect(200);
    is_known(&api, &tag, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_writer_is_refused() {
    let api = api().await;
    let old = api.get(STATE).await.expect(200);
    let stale = [("if-match", old.header("etag"))];
    api.put(STATE, tuned("Two.")).await.expect(200);
    let body = Some(tuned("Three.").to_string());
    let refused = api.send(Method::PUT, STATE, &stale, body).await.expect(412);
    assert_eq!(refused.code(), "precondition_failed");
    let path = format!("{STATE}/versions/1/activate");
    api.send(Method::POST, &path, &stale, None).await.expect(412);
    let known = [("if-none-match", old.header("etag"))];
    api.send(Method::GET, STATE, &known, None).await.expect(200);
}

/// What DSPy writes for a `Predict` in an attribute `triage` and a `ChainOfThought` in `reply`.
fn file() -> Value {
    let field =
        |prefix: &str, name: &str| json!({"prefix": prefix, "description": format!("${{{name}}}")});
    let ticket = field("Ticket:", "ticket");
    let mood = field("Mood:", "mood");
    json!({
        "triage": {
            "traces": [], "train": [{"ticket": "?"}],
            "demos": [{"ticket": "?", "mood": "calm", "topics": ["x"], "augmented": true}],
            "signature": {"instructions": "Judge.", "fields": [ticket, mood, field("Topics:", "topics")]},
            "lm": {"model": "openai/gpt-4o-mini", "temperature": 0.5}
        },
        "reply.predict": {
            "traces": [], "train": [], "demos": [],
            "signature": {"instructions": "Reply.", "fields": [
                ticket, mood, field("Reasoning:", "reasoning"), field("Answer:", "answer")]},
            "lm": null
        },
        "metadata": {"dependency_versions": {"dspy": "3.4.1"}}
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dspy_file_is_read_and_ignored_members_are_named() {
    let api = api().await;
    let put = api.put(STATE, json!({"format": "dspy", "state": file()})).await.expect(200);
    let state = put.json();
    assert_eq!(
        state["ignored"],
        json!([
            "/state/triage/train",
            "/state/triage/demos/0/augmented",
            "/state/triage/lm/model",
            "/state/metadata"
        ])
    );
    let triage = &state["predictors"]["triage"];
    assert_eq!(
        (&triage["instruction"], &triage["lm"]),
        (&json!("Judge."), &json!({"temperature": 0.5}))
    );
    let demo = json!({"input": {"ticket": "?"}, "output": {"mood": "calm", "topics": ["x"]}});
    assert_eq!(triage["demos"], json!([demo]));

    let read = api.get(&format!("{STATE}?format=dspy")).await.expect(200);
    assert_ne!(read.header("etag"), put.header("etag"), "another form, another tag");
    let known = [("if-none-match", read.header("etag"))];
    api.send(Method::GET, &format!("{STATE}?format=dspy"), &known, None).await.expect(304);
    api.send(Method::GET, STATE, &known, None).await.expect(200);
    let found = read.json();
    assert_eq!(found["triage"]["signature"], file()["triage"]["signature"]);
    assert_eq!(found["triage"]["demos"], json!([{"ticket": "?", "mood": "calm", "topics": ["x"]}]));
    assert_eq!(found["metadata"]["left_out"], json!(["/triage/lm/temperature"]));
    let version = api.get(&format!("{STATE}/versions/2?format=dspy")).await.expect(200);
    assert_eq!(version.text, read.text);

    let seen = [("if-match", read.header("etag"))];
    let back = json!({"format": "dspy", "state": found}).to_string();
    let back = api.send(Method::PUT, STATE, &seen, Some(back)).await.expect(200).json();
    assert_eq!((&back["version"], &back["ignored"]), (&json!(3), &json!(["/state/metadata"])));
    let again = json!({"format": "dspy", "state": file()}).to_string();
    api.send(Method::PUT, STATE, &seen, Some(again)).await.expect(412);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_dspy_file_is_refused_completely() {
    let api = api().await;
    let mut wrong = file();
    wrong["triage"]["demos"][0]["mood"] = json!("cross");
    wrong["triage"]["lm"]["temperature"] = json!("hot");
    wrong["other"] = json!({});
    let refused =
        api.put(STATE, json!({"format": "dspy", "state": wrong, "x": 1})).await.expect(422);
    assert_eq!(refused.code(), "invalid_state");
    let mut errors = refused.errors();
    errors.sort();
    assert_eq!(
        errors,
        [
            "/state/other unknown_field",
            "/state/triage/demos/0/mood invalid_value",
            "/state/triage/lm/temperature wrong_type",
            "/x unknown_field",
        ]
    );
    assert_eq!(api.get(STATE).await.expect(200).json()["version"], 1);
    let refused = api.put(STATE, json!({"format": "pickle", "state": {}})).await.expect(422);
    assert_eq!(refused.errors(), ["/format invalid_value"]);
    api.get(&format!("{STATE}?format=pickle")).await.expect(400);
}
