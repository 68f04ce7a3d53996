//! Saving a form changes only what a person changed, and loses nothing that was typed.

use reqwest::Method;
use serde_json::{Value, json};

use super::filled_form::{filled_form, with};
use super::{open, submit, submit_with, words};
use crate::Api;
use dsrs_test::one_node;
use dsrs_test_api::friendly_lm;

const UNCHANGED: &str = "Nothing is changed yet.";

/// A server with a graph, one of whose inputs is optional and has a default.
async fn server() -> Api {
    let api = Api::with_settings(&[("DSRS_WEBHOOKS_ALLOW", "127.0.0.1")]).await;
    let mut graph = one_node("q", "question, tone: str? -> answer");
    graph["inputs"] = json!({"question": "str", "tone": {"type": "str?", "default": "calm"}});
    api.post("/v1/graphs", graph).await.expect(201);
    api
}

fn schedule(target: &str, request: Value) -> Value {
    json!({"name": "nightly", "cron": "@daily", "graph": "q", "target": target, "request": request})
}

/// The path of a schedule that is stored, and its form as a browser sends it back.
async fn opened(api: &Api, body: Value) -> (String, Vec<(String, String)>, String) {
    let made = api.post("/v1/schedules", body).await.expect(201).json();
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    let form = open(api, &format!("{path}/edit")).await.expect(200).text;
    (path.clone(), as_browser(&filled_form(&form, &path)), form)
}

/// Browsers send line ends as CR LF.
fn as_browser(fields: &[(String, String)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, text)| (name.clone(), text.replace('\n', "\r\n"))).collect()
}

async fn preview(api: &Api, path: &str, fields: &[(&str, &str)]) -> String {
    words(&submit(api, &format!("{path}/edit"), fields).await.expect(200).text)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_is_null_instead_of_its_default_stays_null() {
    let api = server().await;
    let request = json!({"inputs": {"question": "?", "tone": null}});
    let (path, sent, form) = opened(&api, schedule("run", request.clone())).await;
    assert!(words(&form).contains("more than fields can show"), "{}", words(&form));
    assert!(preview(&api, &path, &with(&sent, &[])).await.contains(UNCHANGED));
    submit(&api, &path, &with(&sent, &[("/cron", "0 5 * * *")])).await.expect(303);
    let now = api.get(&format!("/v1{path}")).await.expect(200).json();
    assert_eq!((&now["request"], &now["cron"]), (&request, &json!("0 5 * * *")), "{now}");
    let form = open(&api, &format!("{path}/edit")).await.expect(200).text;
    let sent = as_browser(&filled_form(&form, &path));
    let absent = json!({"inputs": {"question": "?"}}).to_string();
    submit(&api, &path, &with(&sent, &[("/request", &absent)])).await.expect(303);
    let now = api.get(&format!("/v1{path}")).await.expect(200).json();
    assert_eq!(
        now["request"],
        json!({"inputs": {"question": "?"}}),
        "as JSON, absence is a change"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_several_lines_are_saved_with_their_lines() {
    let api = server().await;
    let example =
        |at| json!({"inputs": {"question": format!("{at}")}, "expected": {"answer": "a"}});
    let examples: Vec<Value> = (0..4).map(example).collect();
    api.post("/v1/datasets", json!({"name": "d", "examples": examples})).await.expect(201);
    let metric = json!({"expression": "outputs.answer|length\n  < 400"});
    let request = json!({"dataset": "d", "metric": metric});
    let mut body = schedule("evaluation", request.clone());
    body["description"] = json!("one\ntwo\r\nthree");
    let (path, sent, form) = opened(&api, body).await;
    assert!(words(&form).contains(UNCHANGED), "{}", words(&form));
    assert!(sent.iter().any(|(_, text)| text.contains("one\r\ntwo")), "{sent:?}");
    assert!(sent.iter().any(|(name, _)| name == "/request/metric/expression"), "{sent:?}");
    assert!(preview(&api, &path, &with(&sent, &[])).await.contains(UNCHANGED));
    submit(&api, &path, &with(&sent, &[("/cron", "0 5 * * *")])).await.expect(303);
    let now = api.get(&format!("/v1{path}")).await.expect(200).json();
    assert_eq!((&now["request"], &now["cron"]), (&request, &json!("0 5 * * *")), "{now}");
    assert_eq!(now["description"], "one\ntwo\r\nthree");

    let hook = json!({"name": "w", "url": "http://127.0.0.1:9/", "events": ["run.failed"], "description": "a\nb"});
    let hook = api.post("/v1/webhooks", hook).await.expect(201).json();
    let path = format!("/webhooks/{}", hook["id"].as_str().unwrap());
    let form = open(&api, &format!("{path}/edit")).await.expect(200).text;
    let sent = as_browser(&filled_form(&form, &path));
    assert!(preview(&api, &path, &with(&sent, &[])).await.contains(UNCHANGED));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_webhook_in_another_order_are_the_same() {
    let api = server().await;
    let hook = json!({"name": "w", "url": "http://127.0.0.1:9/", "events": ["run.failed", "run.finished"]});
    let hook = api.post("/v1/webhooks", hook).await.expect(201).json();
    let path = format!("/webhooks/{}", hook["id"].as_str().unwrap());
    let form = open(&api, &format!("{path}/edit")).await.expect(200).text;
    assert!(words(&form).contains(UNCHANGED), "{}", words(&form));
    let sent = filled_form(&form, &path);
    assert!(preview(&api, &path, &with(&sent, &[])).await.contains(UNCHANGED));
    let changed = preview(&api, &path, &with(&sent, &[("/events", "run.failed")])).await;
    assert!(!changed.contains(UNCHANGED), "{changed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_not_activate_removes_no_activation() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let own =
        [("authorization", "Bearer open-sesame-123456"), ("content-type", "application/json")];
    let post = async |path: &str, body: Value| {
        api.send(Method::POST, path, &own, Some(body.to_string())).await.expect(201).json()
    };
    post("/v1/graphs", one_node("q", "question -> answer")).await;
    let example =
        |at| json!({"inputs": {"question": format!("{at}")}, "expected": {"answer": "a"}});
    let examples: Vec<Value> = (0..8).map(example).collect();
    post("/v1/datasets", json!({"name": "d", "examples": examples})).await;
    let request = json!({
        "optimizer": "labeled_few_shot", "trainset": "d", "metric": "exact", "activate": "if_better"
    });
    let made = post("/v1/schedules", schedule("optimization", request.clone())).await;
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    let key = post("/v1/keys", json!({"name": "runner", "scopes": ["read", "execute"]})).await;
    let bearer = format!("Bearer {}", key["key"].as_str().unwrap());
    let runner = [super::HTML, ("authorization", bearer.as_str())];
    let edit = format!("{path}/edit");
    let form = api.send(Method::GET, &edit, &runner, None).await.expect(200);
    let sent = filled_form(&form.text, &path);
    let hidden = ("/request/activate".to_owned(), "if_better".to_owned());
    assert!(sent.contains(&hidden), "{sent:?}");
    let change = with(&sent, &[("/cron", "0 5 * * *")]);
    let shown = submit_with(&api, &edit, &change, &runner[1..]).await.expect(200);
    let shown = words(&shown.text);
    assert!(shown.contains("-d '{ &quot;cron&quot;: &quot;0 5 * * *&quot; }'"), "{shown}");
    // Whether this key may save it is for the API to say.
    submit_with(&api, &path, &change, &runner[1..]).await;
    let now =
        api.send(Method::GET, &format!("/v1{path}"), &own[..1], None).await.expect(200).json();
    assert_eq!(now["request"], request);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_an_item_has_twice_is_refused_and_not_merged() {
    let api = server().await;
    let twice = "{\"question\": \"a\"}\r\n{\"question\": \"b\", \"question\": \"c\"}";
    let fields = [
        ("/name", "s"),
        ("/cron", "@daily"),
        ("/graph", "q"),
        ("/target", "batch"),
        ("/request/items", twice),
    ];
    for text in [twice, "[{\"question\": \"a\"}, {\"question\": \"b\", \"question\": \"c\"}]"] {
        let sent = [&fields[..4], &[("/request/items", text)]].concat();
        let refused = submit(&api, "/schedules", &sent).await.expect(422).text;
        let area = refused.split("name=\"/request/items\"").nth(1).unwrap();
        let area = &area[..area.find("</label>").unwrap()];
        assert!(area.contains("/1/question") && area.contains("aria-invalid"), "{area}");
    }
    let metadata = [
        ("/request/items", "{\"question\": \"a\"}"),
        ("/request/metadata", "{\"a\": 1, \"a\": 2}"),
    ];
    let sent = [&fields[..4], &metadata].concat();
    let refused = submit(&api, "/schedules", &sent).await.expect(422).text;
    let area = refused.split("name=\"/request/metadata\"").nth(1).unwrap();
    assert!(area[..area.find("</label>").unwrap()].contains("field-problem"), "{area}");
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_were_typed_stay_while_the_graph_is_none() {
    let api = Api::with_lm(friendly_lm()).await;
    api.post("/v1/graphs", one_node("q", "question, tags: list[str] -> answer")).await.expect(201);
    let typed = [
        ("/request/inputs/question", "line 1\r\nline 2"),
        ("/request/inputs/tags/0", "night"),
        ("/graph", "none"),
        ("/target", "run"),
    ];
    let form = submit(&api, "/schedules/new", &typed).await.expect(200).text;
    let sent = filled_form(&form, "/schedules");
    let sent = with(&sent, &[("/graph", "q"), ("/name", "s"), ("/cron", "@daily")]);
    submit(&api, "/schedules", &sent).await.expect(303);
    let made = api.get("/v1/schedules").await.expect(200).json()["items"][0].clone();
    let inputs = json!({"question": "line 1\nline 2", "tags": ["night"]});
    assert_eq!(made["request"], json!({"inputs": inputs}), "{made}");

    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    let form = open(&api, &format!("{path}/edit")).await.expect(200).text;
    let sent = filled_form(&form, &path);
    let gone = with(&sent, &[("/graph", "none")]);
    let shown = preview(&api, &path, &gone).await;
    assert!(shown.contains("-d '{ &quot;graph&quot;: &quot;none&quot; }'"), "{shown}");
    let refused = submit(&api, &path, &gone).await.expect(422).text;
    let sent = filled_form(&refused, &path);
    let back = with(&sent, &[("/graph", "q")]);
    assert!(preview(&api, &path, &back).await.contains(UNCHANGED));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_of_what_does_not_exist_is_not_found() {
    let api = server().await;
    let id = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    for list in ["schedules", "webhooks"] {
        for path in [format!("/{list}/{id}/edit"), format!("/{list}/{id}")] {
            assert_eq!(submit(&api, &path, &[("/name", "a b")]).await.status, 404, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_people_sees_the_conflict_and_saves_beside_the_first() {
    let api = server().await;
    let run = schedule("run", json!({"inputs": {"question": "?"}}));
    let hook = json!({"name": "w", "url": "http://127.0.0.1:9/", "events": ["run.failed"]});
    for (list, body) in [("schedules", run), ("webhooks", hook)] {
        let made = api.post(&format!("/v1/{list}"), body).await.expect(201).json();
        let path = format!("/{list}/{}", made["id"].as_str().unwrap());
        let form = open(&api, &format!("{path}/edit")).await.expect(200).text;
        let sent = filled_form(&form, &path);
        submit(&api, &path, &with(&sent, &[("/name", "first")])).await.expect(303);
        let second = with(&sent, &[("/description", "of the second")]);
        let conflict = submit(&api, &path, &second).await.expect(412).text;
        assert!(words(&conflict).contains("another person has stored a change"), "{conflict}");
        let now = api.get(&format!("/v1{path}")).await.expect(200).json();
        assert_eq!((&now["name"], &now["description"]), (&json!("first"), &json!("")));
        let again = filled_form(&conflict, &path);
        submit(&api, &path, &with(&again, &[])).await.expect(303);
        let now = api.get(&format!("/v1{path}")).await.expect(200).json();
        let both = (&json!("first"), &json!("of the second"));
        assert_eq!((&now["name"], &now["description"]), both, "{now}");
    }
}
