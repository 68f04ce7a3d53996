//! The form of a webhook: created with a secret that is shown once, changed, each problem at its field, for administrators.

use reqwest::Method;
use serde_json::{Value, json};

use super::filled_form::{filled_form, with};
use super::{HTML, open, submit, submit_with, words};
use crate::Api;
use dsrs_test::one_node;

async fn server() -> Api {
    let api = Api::with_settings(&[("DSRS_WEBHOOKS_ALLOW", "127.0.0.1")]).await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

const TYPED: [(&str, &str); 6] = [
    ("/name", "on-call"),
    ("/url", "http://127.0.0.1:9/hooks?a=\"<b>\""),
    ("/events", "run.failed"),
    ("/graph", "q"),
    ("/score/metric", ""),
    ("/score/below", ""),
];

/// The only webhook.
async fn only(api: &Api) -> Value {
    let list = api.get("/v1/webhooks").await.expect(200).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    list["items"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_created_and_its_secret_is_shown_once() {
    let api = server().await;
    let list = open(&api, "/webhooks").await.expect(200);
    assert!(list.text.contains("href=\"/webhooks/new\""), "{}", list.text);
    let form = open(&api, "/webhooks/new").await.expect(200);
    assert!(words(&form.text).contains("run.failed A run has failed."), "{}", form.text);
    let sent = filled_form(&form.text, "/webhooks");
    let sent = with(&sent, &TYPED);
    let preview = words(&submit(&api, "/webhooks/new", &sent).await.expect(200).text);
    assert!(preview.contains("POST &quot;$DSRS_URL&quot;'/v1/webhooks'"), "{preview}");
    assert!(!preview.contains("&quot;score&quot;"), "what is empty is left out: {preview}");
    let made = submit(&api, "/webhooks", &sent).await.expect(200);
    assert_eq!(made.header("cache-control"), "no-store");
    let secret = made.text.split("value=\"whsec_").nth(1).unwrap();
    let secret = format!("whsec_{}", &secret[..secret.find('"').unwrap()]);
    assert!(secret.len() > 40, "{secret}");
    assert!(words(&made.text).contains("the only time that the secret is shown"), "{}", made.text);
    assert!(made.text.contains("data-copy=\"secret\""), "{}", made.text);
    let webhook = only(&api).await;
    assert_eq!((&webhook["graph"], &webhook["score"]), (&json!("q"), &Value::Null), "{webhook}");
    let path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
    for view in ["/webhooks", &path, &format!("{path}/edit")] {
        let shown = open(&api, view).await.expect(200);
        assert!(!shown.text.contains(&secret) && !shown.text.contains("\"<b>"), "{view}");
    }
    let again = submit(&api, "/webhooks", &sent).await.expect(422);
    let field = again.text.split("name=\"/name\"").nth(1).unwrap();
    assert!(field[..field.find("</label>").unwrap()].contains("field-problem"), "{}", again.text);
    assert!(!again.text.contains("whsec_"), "a repeat shows no secret");
    assert!(again.text.contains(&format!("<a href=\"{path}\">Open the webhook on-call")), "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_problem_of_a_webhook_is_at_its_field_and_what_was_typed_stays() {
    let api = server().await;
    let wrong = [
        ("/name", "on call"),
        ("/url", "http://10.0.0.1/"),
        ("/events", "run.failed"),
        ("/events", "score.below"),
        ("/score/metric", "quality"),
        ("/score/below", "low"),
        ("/graph", "none"),
        ("/description", "<i>us</i>"),
    ];
    let view = submit(&api, "/webhooks", &wrong).await.expect(422);
    let sent = filled_form(&view.text, "/webhooks");
    for (name, value) in wrong {
        assert!(sent.contains(&(name.to_owned(), value.to_owned())), "{name} in {sent:?}");
    }
    for name in ["/name", "/score/below"] {
        let field = view.text.split(&format!("name=\"{name}\"")).nth(1).unwrap();
        let field = &field[..field.find("</label>").unwrap()];
        assert!(field.contains("field-problem") && field.contains("aria-invalid"), "{field}");
    }
    assert_eq!(view.text.matches(" autofocus").count(), 1, "the first problem has the focus");

    let refused = [
        ("/name", "a"),
        ("/url", "http://10.0.0.1/"),
        ("/events", "run.failed"),
        ("/graph", "none"),
    ];
    let view = submit(&api, "/webhooks", &refused).await.expect(422);
    for name in ["/url", "/graph"] {
        let field = view.text.split(&format!("name=\"{name}\"")).nth(1).unwrap();
        assert!(field[..field.find("</label>").unwrap()].contains("field-problem"), "{field}");
    }
    let none = words(&submit(&api, "/webhooks", &TYPED[..2]).await.expect(422).text);
    assert!(none.contains("expected at least one event"), "{none}");
    let bare = [TYPED[0], TYPED[1], ("/events", "score.below")];
    let bare = submit(&api, "/webhooks", &bare).await.expect(422);
    let field = bare.text.split("name=\"/score/metric\"").nth(1).unwrap();
    let field = &field[..field.find("</label>").unwrap()];
    assert!(field.contains("needs `score`") && field.contains("autofocus"), "{field}");
    assert_eq!(api.get("/v1/webhooks").await.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_changed_and_what_was_chosen_is_removed() {
    let api = server().await;
    let typed = [
        ("/name", "low"),
        ("/url", "http://127.0.0.1:9/"),
        ("/events", "run.failed"),
        ("/events", "score.below"),
        ("/score/metric", "quality"),
        ("/score/below", "0.5"),
        ("/graph", "q"),
    ];
    submit(&api, "/webhooks", &typed).await.expect(200);
    let webhook = only(&api).await;
    assert_eq!(webhook["score"], json!({"metric": "quality", "below": 0.5}));
    let path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
    let form = open(&api, &format!("{path}/edit")).await.expect(200);
    assert!(words(&form.text).contains("Nothing is changed yet."), "{}", words(&form.text));
    let sent = filled_form(&form.text, &path);
    let change = with(&sent, &[("/events", "run.finished"), ("/graph", "")]);
    let preview = words(&submit(&api, &format!("{path}/edit"), &change).await.expect(200).text);
    let body = "-d '{ &quot;score&quot;: null, &quot;events&quot;: [ &quot;run.finished&quot; ], &quot;graph&quot;: null }'";
    assert!(preview.contains(body), "{preview}");
    submit(&api, &format!("{path}/pause"), &[]).await.expect(303);
    let conflict = submit(&api, &path, &change).await.expect(412).text;
    submit(&api, &path, &with(&filled_form(&conflict, &path), &[])).await.expect(303);
    let now = only(&api).await;
    assert_eq!(now["events"], json!(["run.finished"]));
    assert_eq!((&now["graph"], &now["score"]), (&Value::Null, &Value::Null), "{now}");
    assert_eq!((&now["name"], &now["enabled"]), (&json!("low"), &json!(false)), "{now}");
    let sent = filled_form(&open(&api, &format!("{path}/edit")).await.expect(200).text, &path);
    submit(&api, &path, &with(&sent, &[("/name", "")])).await.expect(422);
    assert_eq!(submit(&api, &format!("{path}0"), &change).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_administrator_sees_the_form_of_a_webhook() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let own =
        [("authorization", "Bearer open-sesame-123456"), ("content-type", "application/json")];
    let body = json!({"name": "writer", "scopes": ["read", "write", "execute"]}).to_string();
    let key = api.send(Method::POST, "/v1/keys", &own, Some(body)).await.expect(201).json();
    let bearer = format!("Bearer {}", key["key"].as_str().unwrap());
    for (bearer, may) in [(bearer.as_str(), false), (own[0].1, true)] {
        let more = [("authorization", bearer)];
        let form = api.send(Method::GET, "/webhooks/new", &[HTML, more[0]], None).await;
        assert_eq!(form.status, if may { 200 } else { 403 });
        let sent = submit_with(&api, "/webhooks", &TYPED[..2], &more).await;
        assert_eq!(sent.status, if may { 422 } else { 403 });
    }
}
