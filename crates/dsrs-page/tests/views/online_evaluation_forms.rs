//! The form of an online evaluation: set, changed and removed as by the API, each problem at its metric, for those who may.

use reqwest::Method;
use serde_json::json;

use super::filled_form::{filled_form, with};
use super::{HTML, open, submit, submit_with, words};
use crate::Api;
use dsrs_test::one_node;

const PATH: &str = "/graphs/q/online-evaluation";
const SET: &str = "/graphs/q/online-evaluation/set";
const API: &str = "/v1/graphs/q/online-evaluation";

async fn server() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    api
}

#[tokio::test(flavor = "multi_thread")]
async fn an_online_evaluation_is_set_changed_and_removed() {
    let api = server().await;
    let graph = open(&api, "/graphs/q").await.expect(200);
    assert!(graph.text.contains(&format!("href=\"{PATH}\"")), "{}", graph.text);
    let form = open(&api, PATH).await.expect(200);
    let shown = words(&form.text);
    assert!(shown.contains("judge: an LM that judges"), "{shown}");
    assert!(!shown.contains("the output equals the expected value"), "live runs have none");
    let sent = filled_form(&form.text, SET);
    assert!(sent.contains(&("/calls_per_day".to_owned(), "1000".to_owned())), "{sent:?}");
    let short = "outputs.answer|length < 400";
    let typed = [
        ("/rows/0/name", "short"),
        ("/rows/0/metric/expression", short),
        ("/sample", "0.25"),
        ("/cost_per_day", "2.5"),
    ];
    let sent = with(&sent, &typed);
    let more = submit(&api, PATH, &[&sent[..], &[("add", "1")]].concat()).await.expect(200);
    assert!(words(&more.text).contains("PUT"), "{}", words(&more.text));
    api.get(API).await.expect(404);
    let two = filled_form(&more.text, SET);
    let other = [("/rows/1/name", "any"), ("/rows/1/metric/expression", "1")];
    submit(&api, SET, &with(&two, &other)).await.expect(303);
    let set = api.get(API).await.expect(200).json();
    assert_eq!(set["metrics"], json!({"short": {"expression": short}, "any": {"expression": "1"}}));
    let numbers = (&set["sample"], &set["calls_per_day"], &set["cost_per_day"], &set["enabled"]);
    assert_eq!(numbers, (&json!(0.25), &json!(1000), &json!(2.5), &json!(true)), "{set}");

    let graph = words(&open(&api, "/graphs/q").await.expect(200).text);
    assert!(graph.contains("Online evaluation active Change Pause Remove"), "{graph}");
    submit(&api, "/graphs/q/online-evaluation/pause", &[]).await.expect(303);
    let form = open(&api, PATH).await.expect(200);
    let sent = filled_form(&form.text, SET);
    let fewer = submit(&api, PATH, &with(&sent, &[("remove", "0")])).await.expect(200);
    let sent = filled_form(&fewer.text, SET);
    submit(&api, SET, &with(&sent, &[("/calls_per_day", "")])).await.expect(303);
    let set = api.get(API).await.expect(200).json();
    assert_eq!(set["metrics"], json!({"any": {"expression": "1"}}));
    assert_eq!((&set["calls_per_day"], &set["enabled"]), (&json!(null), &json!(false)), "{set}");
    submit(&api, "/graphs/q/online-evaluation/delete", &[]).await.expect(303);
    api.get(API).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_problem_of_an_online_evaluation_is_at_its_metric_and_what_was_typed_stays() {
    let api = server().await;
    let wrong = [
        ("/rows/0/name", "<short>"),
        ("/rows/0/metric#", "0"),
        ("/rows/0/metric/expression", "outputs.answer|"),
        ("/rows/4/name", "kind"),
        ("/rows/4/metric#", "1"),
        ("/rows/4/metric/judge/signature", "answer -> score: flaot"),
        ("/sample", "2"),
        ("/calls_per_day", "0"),
    ];
    let view = submit(&api, SET, &wrong).await.expect(422);
    let sent = filled_form(&view.text, SET);
    for (name, value) in wrong {
        assert!(sent.contains(&(name.to_owned(), value.to_owned())), "{name} in {sent:?}");
    }
    let marked = |name: &str| {
        let field = view.text.split(&format!("name=\"{name}\"")).nth(1).unwrap();
        field[..field.find("</label>").unwrap()].contains("field-problem")
    };
    for name in ["/rows/0/name", "/rows/0/metric/expression", "/sample", "/calls_per_day"] {
        assert!(marked(name), "{name}: {}", view.text);
    }
    assert!(marked("/rows/4/metric/judge/signature"), "{}", words(&view.text));
    assert_eq!(view.text.matches(" autofocus").count(), 1, "the first problem has the focus");
    let same = [
        ("/rows/0/name", "a"),
        ("/rows/0/metric/expression", "1"),
        ("/rows/1/name", "a"),
        ("/rows/1/metric/expression", "0"),
        ("/sample", "1"),
    ];
    let view = submit(&api, SET, &same).await.expect(422);
    let field = view.text.split("name=\"/rows/1/name\"").nth(1).unwrap();
    assert!(
        field[..field.find("</label>").unwrap()].contains("field-problem"),
        "{}",
        words(&view.text)
    );
    api.get(API).await.expect(404);
    submit(&api, "/graphs/none/online-evaluation/set", &same).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_not_write_sees_no_form_of_an_online_evaluation() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let own =
        [("authorization", "Bearer open-sesame-123456"), ("content-type", "application/json")];
    let graph = one_node("q", "question -> answer").to_string();
    api.send(Method::POST, "/v1/graphs", &own, Some(graph)).await.expect(201);
    let body = json!({"name": "runner", "scopes": ["read", "execute"]}).to_string();
    let key = api.send(Method::POST, "/v1/keys", &own, Some(body)).await.expect(201).json();
    let bearer = format!("Bearer {}", key["key"].as_str().unwrap());
    for (bearer, may) in [(bearer.as_str(), false), (own[0].1, true)] {
        let more = [("authorization", bearer)];
        let graph = api.send(Method::GET, "/graphs/q", &[HTML, more[0]], None).await.expect(200);
        assert_eq!(graph.text.contains(PATH), may);
        let form = api.send(Method::GET, PATH, &[HTML, more[0]], None).await;
        assert_eq!(form.status, if may { 200 } else { 403 });
        for target in [PATH, SET] {
            let sent = submit_with(&api, target, &[("/sample", "2")], &more).await;
            let allowed = if target == PATH { 200 } else { 422 };
            assert_eq!(sent.status, if may { allowed } else { 403 }, "{target}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_thousands_of_metrics_is_refused_without_reading_them_all() {
    let api = server().await;
    let names: Vec<(String, String)> =
        (0..4000).map(|at| (format!("/rows/{at}/name"), format!("a{at}"))).collect();
    let fields: Vec<(&str, &str)> =
        names.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let sent = [&fields[..], &[("/sample", "1")]].concat();
    for (target, status) in [(SET, 422), (PATH, 200)] {
        let view = submit(&api, target, &sent).await.expect(status).text;
        assert_eq!(view.matches("Name of the score").count(), 9, "{target}");
        assert!(!view.contains("Add a metric"), "the API accepts no more");
        assert_eq!(words(&view).contains("expected 1 to 8 metrics"), target == SET);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saving_an_online_evaluation_leaves_the_pause_that_another_person_began() {
    let api = server().await;
    let expression = "outputs.answer|length\n  < 400";
    let body = json!({"metrics": {"short": {"expression": expression}}, "sample": 0.5});
    api.put(API, body.clone()).await;
    let form = open(&api, PATH).await.expect(200).text;
    let sent: Vec<(String, String)> = filled_form(&form, SET)
        .into_iter()
        .map(|(name, text)| (name, text.replace('\n', "\r\n")))
        .collect();
    submit(&api, "/graphs/q/online-evaluation/pause", &[]).await.expect(303);
    let shown = words(&submit(&api, PATH, &with(&sent, &[])).await.expect(200).text);
    assert!(shown.contains("&quot;enabled&quot;: false"), "{shown}");
    // The pause is a change that this person has not seen.
    let conflict = submit(&api, SET, &with(&sent, &[("/sample", "0.25")])).await.expect(412).text;
    assert!(words(&conflict).contains("another person has stored a change"), "{conflict}");
    let sent = filled_form(&conflict, SET);
    submit(&api, SET, &with(&sent, &[])).await.expect(303);
    let set = api.get(API).await.expect(200).json();
    assert_eq!((&set["sample"], &set["enabled"]), (&json!(0.25), &json!(false)), "{set}");
    assert_eq!(set["metrics"]["short"]["expression"], expression, "with its lines");

    let sent = filled_form(&open(&api, PATH).await.expect(200).text, SET);
    let resumed: Vec<(&str, &str)> =
        with(&sent, &[]).into_iter().filter(|(name, _)| *name != "paused").collect();
    submit(&api, SET, &resumed).await.expect(303);
    assert_eq!(api.get(API).await.expect(200).json()["enabled"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_first_online_evaluations_sees_the_conflict() {
    let api = server().await;
    let sent = filled_form(&open(&api, PATH).await.expect(200).text, SET);
    let typed =
        [("/rows/0/name", "short"), ("/rows/0/metric/expression", "outputs.answer|length < 9")];
    let body = json!({"metrics": {"brief": {"expression": "true"}}, "sample": 1});
    api.put(API, body).await.expect(200);
    let conflict = submit(&api, SET, &with(&sent, &typed)).await.expect(412).text;
    assert!(words(&conflict).contains("saving again replaces it"), "{conflict}");
    assert!(api.get(API).await.json()["metrics"]["brief"].is_object());
}
