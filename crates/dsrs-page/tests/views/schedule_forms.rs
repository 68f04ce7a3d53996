//! The form of a schedule: created and changed as by the API, each problem at its field, for those who may.

use reqwest::Method;
use serde_json::{Value, json};

use super::filled_form::{filled_form, with};
use super::{HTML, open, submit, submit_with, words};
use crate::Api;
use dsrs_test::one_node;
use dsrs_test_api::friendly_lm;

/// A server with a graph of a text and a number, and a dataset.
async fn server() -> Api {
    let api = Api::with_lm(friendly_lm()).await;
    api.post("/v1/graphs", one_node("q", "question, count: int -> answer")).await.expect(201);
    let example =
        |count| json!({"inputs": {"question": "?", "count": count}, "expected": {"answer": "a"}});
    let examples: Vec<Value> = (0..8).map(example).collect();
    let body = json!({"name": "questions", "examples": examples});
    api.post("/v1/datasets", body).await.expect(201);
    api
}

const NAMED: [(&str, &str); 5] = [
    ("/name", "nightly"),
    ("/cron", "30 2 * * *"),
    ("/time_zone", "Europe/Berlin"),
    ("/graph", "q"),
    ("/target", "run"),
];

/// What a person types: names of fields and texts.
type Typed<'f> = &'f [(&'f str, &'f str)];

/// The schedule that a form created.
async fn created(api: &Api, fields: &[(&str, &str)]) -> Value {
    let answer = submit(api, "/schedules", fields).await;
    assert_eq!(answer.status, 303, "{}", words(&answer.text));
    let path = answer.header("location").to_owned();
    api.get(&format!("/v1{path}")).await.expect(200).json()
}

async fn stored(api: &Api) -> usize {
    api.get("/v1/schedules").await.expect(200).json()["items"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_run_is_created_with_the_inputs_of_its_graph() {
    let api = server().await;
    let list = open(&api, "/schedules").await.expect(200);
    assert!(list.text.contains("href=\"/schedules/new\""), "{}", list.text);
    let empty = words(&open(&api, "/schedules/new").await.expect(200).text);
    assert!(empty.contains("Choose a graph: its inputs follow."), "{empty}");
    let form = open(&api, "/schedules/new?graph=q").await.expect(200);
    let sent = filled_form(&form.text, "/schedules");
    assert!(sent.contains(&("/request/inputs/question".to_owned(), String::new())), "{sent:?}");
    let typed = [
        ("/name", "nightly"),
        ("/cron", "30 2 * * *"),
        ("/time_zone", "Europe/Berlin"),
        ("/request/inputs/question", "<b>why?</b>"),
        ("/request/inputs/count", "3"),
        ("/request/tags", "night\r\nreport"),
    ];
    let sent = with(&sent, &typed);
    let preview = open_again(&api, "/schedules/new", &sent).await;
    let shown = words(&preview);
    assert!(shown.contains(" 02:30 +0") && shown.contains("in "), "next times are in {shown}");
    assert!(shown.contains("POST &quot;$DSRS_URL&quot;'/v1/schedules'"), "{shown}");
    assert!(!preview.contains("<b>why?"), "{preview}");
    assert_eq!(stored(&api).await, 0, "a preview stores nothing");
    let made = created(&api, &sent).await;
    let request =
        json!({"inputs": {"question": "<b>why?</b>", "count": 3}, "tags": ["night", "report"]});
    assert_eq!((&made["request"], &made["cron"]), (&request, &json!("30 2 * * *")), "{made}");
    assert_eq!((&made["enabled"], &made["overlap"]), (&json!(true), &json!("skip")), "{made}");
    let view =
        words(&open(&api, &format!("/schedules/{}", made["id"].as_str().unwrap())).await.text);
    assert!(view.contains("Next in ") && view.contains("Change"), "{view}");
}

async fn open_again(api: &Api, path: &str, fields: &[(&str, &str)]) -> String {
    submit(api, path, fields).await.expect(200).text
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_evaluations_and_optimizations_are_scheduled_with_their_own_fields() {
    let api = server().await;
    let kinds: [(&str, Typed<'_>, Value); 3] = [
        (
            "batch",
            &[(
                "/request/items",
                "{\"question\": \"a\", \"count\": 1}\r\n{\"question\": \"b\", \"count\": 2}\r\n",
            )],
            json!({"items": [{"question": "a", "count": 1}, {"question": "b", "count": 2}]}),
        ),
        (
            "evaluation",
            &[
                ("/request/dataset/dataset", "questions"),
                ("/request/metric#", "1"),
                ("/request/metric/exact/field", "answer"),
            ],
            json!({"dataset": "questions", "metric": {"exact": {"field": "answer"}}}),
        ),
        (
            "optimization",
            &[
                ("/request/trainset/dataset", "questions"),
                ("/request/optimizer", "labeled_few_shot"),
            ],
            json!({"optimizer": "labeled_few_shot", "trainset": "questions", "metric": "exact", "budget": {"lm_calls": 500}}),
        ),
    ];
    for (target, typed, request) in kinds {
        let named = [&NAMED[..4], &[("/target", target)]].concat();
        let form = open_again(&api, "/schedules/new", &named).await;
        let sent = filled_form(&form, "/schedules");
        let sent = with(&sent, typed);
        let made = created(&api, &with_name(&sent, target)).await;
        assert_eq!(made["request"], request, "{made}");
        let path = format!("/schedules/{}", made["id"].as_str().unwrap());
        let form = open(&api, &format!("{path}/edit")).await.expect(200);
        let text = words(&form.text);
        assert!(text.contains("Nothing is changed yet."), "{target} is read back: {text}");
        assert!(!form.text.contains("textarea class=\"mono\" name=\"/request\""), "{}", form.text);
    }
    assert_eq!(stored(&api).await, 3);
}

fn with_name<'f>(fields: &[(&'f str, &'f str)], name: &'f str) -> Vec<(&'f str, &'f str)> {
    let rest = fields.iter().copied().filter(|(field, _)| *field != "/name");
    rest.chain([("/name", name)]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_problem_of_a_schedule_is_at_its_field_and_what_was_typed_stays() {
    let api = server().await;
    let wrong = [
        ("/name", "no\"><script>alert(1)</script>"),
        ("/cron", "61 * * * *"),
        ("/time_zone", "Mars/Olympus"),
        ("/overlap", "queue"),
        ("/graph", "q"),
        ("/target", "run"),
        ("/request/inputs/question", "why?"),
        ("/request/inputs/count", "many"),
        ("paused", "true"),
    ];
    let view = submit(&api, "/schedules", &wrong).await.expect(422);
    let html = &view.text;
    assert!(!html.contains("<script>alert"), "{html}");
    let sent = filled_form(html, "/schedules");
    for (name, value) in wrong {
        assert!(sent.contains(&(name.to_owned(), value.to_owned())), "{name} in {sent:?}");
    }
    for name in ["/name", "/cron", "/time_zone", "/request/inputs/count"] {
        let field = html.split(&format!("name=\"{name}\"")).nth(1).unwrap();
        let field = &field[..field.find("</label>").unwrap()];
        let is_marked = field.contains("aria-invalid=\"true\"")
            && (field.contains("field-problem") || field.contains("refusal"));
        assert!(is_marked, "{name}: {field}");
    }
    assert_eq!(html.matches(" autofocus").count(), 1, "the first problem has the focus");
    let first = html.find(" autofocus").unwrap();
    assert!(first < html.find("name=\"/cron\"").unwrap(), "it is that of the name");
    assert_eq!(stored(&api).await, 0);

    let missing = words(&submit(&api, "/schedules", &[]).await.expect(422).text);
    for part in ["`name` is missing", "`cron` is missing", "`graph` is missing"] {
        assert!(missing.contains(part), "{part} in {missing}");
    }
    let typed = [("/request/inputs/question", "?"), ("/request/inputs/count", "1")];
    created(&api, &[&NAMED[..], &typed].concat()).await;
    let again = submit(&api, "/schedules", &[&NAMED[..], &typed].concat()).await.expect(422);
    let field = again.text.split("name=\"/name\"").nth(1).unwrap();
    let field = &field[..field.find("</label>").unwrap()];
    assert!(field.contains("nightly") && field.contains("field-problem"), "{field}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_what_a_person_changed_and_leaves_the_rest() {
    let api = server().await;
    let typed = [("/request/inputs/question", "why?"), ("/request/inputs/count", "3")];
    let made = created(&api, &[&NAMED[..], &typed].concat()).await;
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    let form = open(&api, &format!("{path}/edit")).await.expect(200);
    let sent = filled_form(&form.text, &path);
    let change = with(&sent, &[("/cron", "0 5 * * *")]);
    let preview = words(&open_again(&api, &format!("{path}/edit"), &change).await);
    assert!(preview.contains("-X PATCH"), "{preview}");
    assert!(preview.contains("-d '{ &quot;cron&quot;: &quot;0 5 * * *&quot; }'"), "{preview}");
    api.patch(&format!("/v1{path}"), json!({"overlap": "allow"})).await.expect(200);
    let conflict = submit(&api, &path, &change).await.expect(412).text;
    let sent = filled_form(&conflict, &path);
    submit(&api, &path, &with(&sent, &[])).await.expect(303);
    let now = api.get(&format!("/v1{path}")).await.expect(200).json();
    assert_eq!((&now["cron"], &now["overlap"]), (&json!("0 5 * * *"), &json!("allow")), "{now}");
    assert_eq!(now["request"], made["request"]);
    let sent = filled_form(&open(&api, &format!("{path}/edit")).await.expect(200).text, &path);
    let wrong = with(&sent, &[("/cron", "never")]);
    let refused = submit(&api, &path, &wrong).await.expect(422);
    assert!(filled_form(&refused.text, &path).contains(&("/cron".to_owned(), "never".to_owned())));
    let gone = "/schedules/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    assert_eq!(submit(&api, gone, &change).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_more_than_fields_show_stays_json_and_is_sent_as_it_was_written() {
    let api = server().await;
    let inputs = json!({"question": "why?", "count": 3});
    let body = json!({
        "name": "odd", "cron": "@daily", "graph": "q", "target": "run",
        "request": {"inputs": inputs, "trace": true}
    });
    let made = api.post("/v1/schedules", body).await.expect(201).json();
    let path = format!("/schedules/{}", made["id"].as_str().unwrap());
    let form = open(&api, &format!("{path}/edit")).await.expect(200);
    let shown = words(&form.text);
    assert!(shown.contains("more than fields can show"), "{shown}");
    assert!(shown.contains("Nothing is changed yet."), "{shown}");
    let sent = filled_form(&form.text, &path);

    let written = "{\"inputs\": {\"question\": \"why?\",}";
    let broken = with(&sent, &[("/request", written), ("/cron", "never")]);
    let refused = submit(&api, &path, &broken).await.expect(422);
    let area = refused.text.split("name=\"/request\"").nth(1).unwrap();
    let area = &area[..area.find("</label>").unwrap()];
    assert!(area.contains("&quot;why?&quot;,}") && area.contains("line 1"), "{area}");
    let cron = refused.text.split("name=\"/cron\"").nth(1).unwrap();
    assert!(cron[..cron.find("</label>").unwrap()].contains("field-problem"), "{cron}");
    let twice = "{\"inputs\": {\"question\": \"a\", \"question\": \"b\", \"count\": 1}}";
    let refused = submit(&api, &path, &with(&sent, &[("/request", twice)])).await.expect(422);
    assert!(words(&refused.text).contains("/inputs/question"), "{}", words(&refused.text));

    let plain = json!({"inputs": inputs}).to_string();
    let as_fields = with(&sent, &[("/request", plain.as_str()), ("/request#", "fields")]);
    let form = open_again(&api, &format!("{path}/edit"), &as_fields).await;
    let sent = filled_form(&form, &path);
    assert!(sent.contains(&("/request/inputs/count".to_owned(), "3".to_owned())), "{sent:?}");
    submit(&api, &path, &with(&sent, &[("/request/inputs/count", "4")])).await.expect(303);
    let now = api.get(&format!("/v1{path}")).await.expect(200).json();
    assert_eq!(now["request"], json!({"inputs": {"question": "why?", "count": 4}}));
    let back =
        open_again(&api, &format!("{path}/edit"), &with(&sent, &[("/request#", "json")])).await;
    let text =
        filled_form(&back, &path).into_iter().find(|(name, _)| name == "/request").unwrap().1;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"inputs": inputs}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_the_scope_sees_no_form_of_a_schedule_and_can_send_none() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let own = ("authorization", "Bearer open-sesame-123456");
    let post = async |path: &str, body: Value| {
        let headers = [own, ("content-type", "application/json")];
        api.send(Method::POST, path, &headers, Some(body.to_string())).await.expect(201).json()
    };
    post("/v1/graphs", one_node("q", "question -> answer")).await;
    let body = json!({
        "name": "s", "cron": "@daily", "graph": "q", "target": "run", "request": {"inputs": {"question": "?"}}
    });
    let path = format!("/schedules/{}", post("/v1/schedules", body).await["id"].as_str().unwrap());
    let key = post("/v1/keys", json!({"name": "reader", "scopes": ["read"]})).await;
    let bearer = format!("Bearer {}", key["key"].as_str().unwrap());
    let edit = format!("{path}/edit");
    for (bearer, may) in [(bearer.as_str(), false), (own.1, true)] {
        let headers = [HTML, ("authorization", bearer)];
        for (view, link) in [("/schedules", "/schedules/new"), (path.as_str(), edit.as_str())] {
            let shown = api.send(Method::GET, view, &headers, None).await.expect(200);
            assert_eq!(shown.text.contains(&format!("href=\"{link}\"")), may, "{view} {bearer}");
            let form = api.send(Method::GET, link, &headers, None).await;
            assert_eq!(form.status, if may { 200 } else { 403 }, "{link}");
        }
        let more = [("authorization", bearer)];
        for target in ["/schedules", "/schedules/new", path.as_str(), edit.as_str()] {
            let answer = submit_with(&api, target, &[("/cron", "never")], &more).await;
            let previewed = target == "/schedules/new" || target == edit;
            let allowed = if previewed { 200 } else { 422 };
            assert_eq!(answer.status, if may { allowed } else { 403 }, "{target}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_creates_no_schedule() {
    let api = server().await;
    let foreign = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    assert_eq!(submit_with(&api, "/schedules", &NAMED, &foreign).await.status, 403);
    assert_eq!(stored(&api).await, 0);
}
