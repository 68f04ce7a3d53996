//! `/runs`: the table, one run, and what a person does with it.

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use super::{open, submit, words};
use crate::Api;
use dsrs_test::{Answer, one_node, sections, support_reply};

async fn executed(api: &Api, graph: &str, inputs: Value) -> String {
    let answer =
        api.post(&format!("/v1/graphs/{graph}/execute"), json!({"inputs": inputs})).await.json();
    let id =
        [&answer["id"], &answer["run_id"]].into_iter().find_map(Value::as_str).unwrap().to_owned();
    api.until(&format!("/v1/runs/{id}"), |answer: &Answer| answer.status == 200).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_filtered_by_version_status_and_the_text_of_their_problem() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    // The scripted LM answers no field `n` of this type.
    api.post("/v1/graphs", one_node("broken", "ticket -> n: int")).await.expect(201);
    let fine = executed(&api, "support-reply", json!({"ticket": "Where?"})).await;
    let failed = executed(&api, "broken", json!({"ticket": "Where?"})).await;
    let shown = |view: &str| {
        (view.contains(&format!("/runs/{fine}\"")), view.contains(&format!("/runs/{failed}\"")))
    };
    for (query, expected) in [
        ("", (true, true)),
        ("?graph=broken", (false, true)),
        ("?status=succeeded", (true, false)),
        ("?version=1", (true, true)),
        ("?version=2", (false, false)),
        ("?state_version=1", (true, true)),
        ("?problem=DOES+not+fit", (false, true)),
        ("?problem=%25", (false, false)),
        ("?since=2026-01-01T00%3A00&until=2026-01-02T00%3A00", (false, false)),
    ] {
        let view = open(&api, &format!("/runs{query}")).await.expect(200).text;
        assert_eq!(shown(&view), expected, "{query}");
        let found = api
            .get(&format!("/v1/runs{}", query.replace("T00%3A00", "T00%3A00%3A00Z")))
            .await
            .expect(200)
            .text;
        assert_eq!((found.contains(&fine), found.contains(&failed)), expected, "{query}");
    }
    let long = "x".repeat(201);
    for wrong in ["problem=", &format!("problem={long}"), "version=0", "state_version=x"] {
        assert_eq!(
            api.get(&format!("/v1/runs?{wrong}")).await.expect(400).code(),
            "invalid_parameter",
            "{wrong}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_its_spans_prompts_answers_and_repairs() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let id = executed(&api, "support-reply", json!({"ticket": "<b>Where</b>?"})).await;
    let view = open(&api, &format!("/runs/{id}")).await.expect(200);
    let text = words(&view.text);
    for part in [
        "succeeded",
        "Inputs",
        "&lt;b&gt;Where&lt;/b&gt;?",
        "Dear customer",
        "node triage",
        "predictor reply.predict",
        "[[ ## ticket ## ]]",
        "Answer of the model",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(!view.text.contains("<b>Where"), "markup of a stranger");
    let origin = words(&open(&api, &format!("/runs/{id}?output=answer")).await.expect(200).text);
    assert!(
        origin.contains("Where answer comes from")
            && origin.contains("triage.mood")
            && origin.contains("reply.predict"),
        "{origin}"
    );
    let compared =
        words(&open(&api, &format!("/runs/compare?a={id}&b={id}")).await.expect(200).text);
    assert!(compared.contains("Compare two runs") && !compared.contains("differs"), "{compared}");
    assert_eq!(open(&api, &format!("/runs/compare?run={id}")).await.status, 400);
    assert_eq!(open(&api, "/runs/01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_gets_its_value_from_a_form() {
    let api = Api::new().await;
    let node = json!({"strategy": "await", "signature": "letter -> approved: bool, note: str"});
    api.post("/v1/graphs", json!({"name": "letter", "nodes": {"approve": node}})).await.expect(201);
    let id = executed(&api, "letter", json!({"letter": "Dear all"})).await;
    let view = open(&api, &format!("/runs/{id}")).await.expect(200).text;
    assert!(
        view.contains("name=\"/value/approved\"") && view.contains("name=\"/value/note\""),
        "{view}"
    );
    let path = format!("/runs/{id}/signal");
    let refused = submit(&api, &path, &[("node", "approve"), ("/value/note", "fine")]).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let form = refused.text.split("name=\"/value/approved\"").nth(1).unwrap();
    assert!(form.split("</label>").next().unwrap().contains("class=\"refusal\""), "{form}");
    assert!(form.contains(">\nfine</textarea>"), "what was filled in stays: {form}");
    let value = [("node", "approve"), ("/value/approved", "true"), ("/value/note", "fine")];
    submit(&api, &path, &value).await.expect(303);
    let run = api.ended(&id).await;
    assert_eq!(run["outputs"], json!({"approved": true, "note": "fine"}), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_an_agent_are_answered_in_a_form() {
    let step = |name: &str, args: &str| {
        sections([
            ("next_thought", "so"),
            ("next_tool_name", name),
            ("next_tool_args", args),
            ("more_tool_calls", "null"),
        ])
    };
    let lm = ScriptedLm::answering([
        step("look", r#"{"word": "hound"}"#),
        step("finish", "{}"),
        sections([("reasoning", "r"), ("answer", "a dog")]),
    ]);
    let api = Api::with_lm(lm).await;
    let tool = json!({"caller": {"name": "look", "description": "Looks a word up.",
        "arguments": {"type": "object", "properties": {"word": {"type": "string"}}}}});
    let node = json!({"strategy": "react", "signature": "question -> answer",
        "config": {"tools": [tool], "with_trajectory": true}});
    api.post("/v1/graphs", json!({"name": "agent", "nodes": {"work": node}})).await.expect(201);
    let id = executed(&api, "agent", json!({"question": "What is a hound?"})).await;
    let view = open(&api, &format!("/runs/{id}")).await.expect(200).text;
    assert!(view.contains("name=\"/value/1-1/result\""), "{view}");
    assert!(view.contains("look {&quot;word&quot;:&quot;hound&quot;}"), "{view}");
    let value = [("node", "work"), ("/value/1-1/result", r#"{"kind": "dog"}"#)];
    submit(&api, &format!("/runs/{id}/signal"), &value).await.expect(303);
    let run = api.ended(&id).await;
    let steps = run["outputs"]["trajectory"].as_str().unwrap();
    assert!(steps.contains(r#"result: {"kind":"dog"}"#), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_becomes_an_example_and_a_waiting_one_is_cancelled_and_resumed() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let id = executed(&api, "ask", json!({"question": "Where?"})).await;
    let added = submit(
        &api,
        &format!("/runs/{id}/example"),
        &[("dataset", "asked"), ("expected", "outputs")],
    )
    .await
    .expect(303);
    assert_eq!(added.header("location"), "/datasets/asked");
    let examples = api.get("/v1/datasets/asked/examples").await.expect(200).json();
    assert_eq!(examples["items"][0]["inputs"], json!({"question": "Where?"}));

    let node = json!({"strategy": "await", "signature": "letter -> approved: bool"});
    api.post("/v1/graphs", json!({"name": "letter", "nodes": {"approve": node}})).await.expect(201);
    let waiting = executed(&api, "letter", json!({"letter": "Dear all"})).await;
    submit(&api, &format!("/runs/{waiting}/cancel"), &[]).await.expect(303);
    assert_eq!(api.ended(&waiting).await["status"], "cancelled");
    submit(&api, &format!("/runs/{waiting}/resume"), &[]).await.expect(303);
    api.until(&format!("/v1/runs/{waiting}"), |answer: &Answer| {
        answer.json()["status"] == "waiting"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_thousands_of_spans_comes_in_portions() {
    let api = Api::new().await;
    let module = json!({"strategy": "predict", "signature": "question -> answer"});
    let graph = json!({
        "name": "many", "inputs": {"questions": "list[str]"},
        "nodes": {"each": {"strategy": "map", "config": {"module": module}}},
        "edges": [{"from": "input.questions", "to": "each.question"}], "outputs": {"answers": "each.answer"}
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let questions: Vec<String> = (0..400).map(|number| format!("question {number}")).collect();
    let id = executed(&api, "many", json!({"questions": questions})).await;
    let view = open(&api, &format!("/runs/{id}")).await.expect(200);
    assert!(view.text.len() < 60_000, "closed spans are not written: {} bytes", view.text.len());
    assert!(words(&view.text).contains("1,201 spans"), "{}", view.text);
    let opened = open(&api, &link(&view.text, "data-load href=\"")).await.expect(200);
    assert!(opened.text.len() < 200_000, "{} bytes", opened.text.len());
    assert!(words(&opened.text).contains("The next of 300 more"));
    let next = open(&api, &link(&opened.text, "<p class=\"portion\"><a href=\"")).await.expect(200);
    assert!(words(&next.text).contains("#150"), "the second portion");
    let address = link(next.text.split("#150").nth(1).unwrap(), "data-load href=\"");
    let inner = open(&api, &address).await.expect(200);
    assert!(
        inner.text.contains("#150") && words(&inner.text).contains("predictor each"),
        "a span deep within, with the portions around it: {}",
        words(&inner.text)
    );
}

/// The first address in a view after a text, without the part behind `#`.
fn link(view: &str, before: &str) -> String {
    let address = view.split(before).nth(1).unwrap().split(['"', '#']).next().unwrap();
    address.replace("&amp;", "&")
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_is_given_and_shown_on_the_page_of_a_run() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let run = executed(&api, "support-reply", json!({"ticket": "Where?"})).await;
    let path = format!("/runs/{run}/feedback");
    submit(&api, &path, &[("name", "thumb"), ("score", "1")]).await.expect(303);
    submit(&api, &path, &[("name", "thumb"), ("score", "0")]).await.expect(303);
    let recorded = api.get(&format!("/v1/runs/{run}")).await.expect(200).json();
    let mood = recorded["outputs"]["mood"].as_str().unwrap();
    let other = if mood == "calm" { "angry" } else { "calm" };
    let answer = recorded["outputs"]["answer"].as_str().unwrap();
    let corrected =
        [("comment", "Not <so>."), ("/outputs/answer", answer), ("/outputs/mood", other)];
    submit(&api, &path, &corrected).await.expect(303);
    let list = api.get(&format!("/v1/runs/{run}/feedback")).await.expect(200).json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(
        list["items"][0]["outputs"],
        json!({"mood": other}),
        "what is unchanged is not corrected"
    );
    assert_eq!(
        (&list["items"][1]["score"], &list["items"][1]["source"]),
        (&json!(0.0), &json!("reviewer"))
    );
    let view = open(&api, &format!("/runs/{run}")).await.expect(200).text;
    assert!(view.contains("Not &lt;so&gt;.") && view.contains("Corrected outputs"), "{view}");
    let wrong = submit(&api, &path, &[("/outputs/mood", "furious"), ("comment", "hm")]).await;
    let wrong = wrong.expect(422).text;
    assert!(wrong.contains(">\nhm<") && wrong.contains("furious"), "{wrong}");
    submit(&api, &path, &[("score", "3"), ("name", "x")]).await.expect(422);
    submit(&api, &path, &[]).await.expect(422);
    let shown = async |query: &str| {
        open(&api, &format!("/runs{query}"))
            .await
            .expect(200)
            .text
            .contains(&format!("/runs/{run}\""))
    };
    assert!(shown("").await && shown("?score=thumb&max_score=0.5").await);
    assert!(!shown("?score=thumb&min_score=0.5").await && !shown("?score=other").await);
    let list = open(&api, "/runs").await.expect(200).text;
    assert!(list.contains("thumb 0.00"), "{list}");
}
