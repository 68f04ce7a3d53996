//! How an answer ended, from the bytes of a provider to the answer, the record and the clients of OpenAI's API.

use serde_json::{Value, json};

use super::{on, one_node, text};
use dsrs_test::{Answer, Does, FakeLm, Remote, Server, test_database};

const CUT: &str = "[[ ## answer ## ]]\nParis is the cap";

/// A chat completion whose answer ended for this reason.
fn ending(content: &str, reason: &str) -> Does {
    let choice = json!({"index": 0, "finish_reason": reason,
        "message": {"role": "assistant", "content": content}});
    let usage = json!({"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39});
    completion(&json!({"model": "m-1", "choices": [choice], "usage": usage}))
}

fn completion(body: &Value) -> Does {
    Does::Answer(200, vec![], body.to_string())
}

/// A graph of one node with these settings of its model, on a provider.
async fn graph(lm: &FakeLm, settings: Value) -> (Server, Remote) {
    let server = on(&test_database().await, lm).start();
    let api = Remote::new(&server.url);
    let node = json!({"lm": settings});
    api.post("/v1/graphs", one_node("q", "question -> answer", node)).await.expect(201);
    (server, api)
}

async fn execute(api: &Remote) -> Answer {
    api.post("/v1/graphs/q/execute", json!({"inputs": {"question": "?"}})).await
}

/// The spans of requests in the record of a run.
async fn requests(api: &Remote, answer: &Answer) -> Vec<Value> {
    let answered = answer.json();
    let id = text(&answered, if answered["run_id"].is_null() { "id" } else { "run_id" });
    let run = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    let spans = run["trace"]["spans"].as_array().unwrap().iter();
    spans.filter(|span| span["kind"] == "lm").cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_no_answer_and_its_reason_is_recorded() {
    let lm = FakeLm::doing([ending(CUT, "length")]).await;
    let (_server, api) = graph(&lm, json!({"max_tokens": 9})).await;
    let answer = execute(&api).await.expect(422);
    let problem = answer.json();
    assert_eq!(text(&problem, "code"), "answer_incomplete");
    assert_eq!((text(&problem, "field"), text(&problem, "raw")), ("answer", CUT));
    let spans = requests(&api, &answer).await;
    assert_eq!((spans.len(), lm.asked().len()), (1, 1), "the same request would be cut again");
    assert_eq!(text(&spans[0], "finish_reason"), "length");
    assert_eq!(spans[0]["usage"]["output_tokens"], 9, "it was paid for");
    let page = api.get(&format!("/runs/{}", text(&problem, "run_id"))).await;
    assert!(page.text.contains("ended by"), "{}", page.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predictor_accepts_a_part_or_asks_for_the_rest() {
    let lm = FakeLm::doing([ending(CUT, "length")]).await;
    let (_server, api) = graph(&lm, json!({"on_length": "accept"})).await;
    let run = execute(&api).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"answer": "Paris is the cap"}));

    let rest = ending("ital\n\n[[ ## completed ## ]]", "stop");
    let lm = FakeLm::doing([ending(CUT, "length"), rest]).await;
    let (_server, api) = graph(&lm, json!({"on_length": "continue"})).await;
    let run = execute(&api).await.expect(200).json();
    assert_eq!(run["outputs"], json!({"answer": "Paris is the capital"}));
    assert_eq!(run["usage"]["output_tokens"], 18);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_openai_learn_that_an_accepted_part_is_no_whole() {
    let lm = FakeLm::doing([ending(CUT, "length")]).await;
    let (_server, api) = graph(&lm, json!({"on_length": "accept"})).await;
    let messages = json!([{"role": "user", "content": "Where?"}]);
    let body = json!({"model": "q", "messages": messages});
    let answer = api.post("/openai/v1/chat/completions", body.clone()).await.expect(200).json();
    let choice = &answer["choices"][0];
    assert_eq!(text(choice, "finish_reason"), "length");
    assert_eq!(text(&choice["message"], "content"), "Paris is the cap");
    let mut streaming = body;
    streaming["stream"] = true.into();
    let stream = api.post("/openai/v1/chat/completions", streaming).await.expect(200).text;
    assert!(stream.contains("\"finish_reason\":\"length\""), "{stream}");

    let body = json!({"model": "q", "input": "Where?"});
    let found = api.post("/openai/v1/responses", body.clone()).await.expect(200).json();
    assert_eq!(text(&found, "status"), "incomplete");
    assert_eq!(text(&found["incomplete_details"], "reason"), "max_output_tokens");
    assert_eq!(text(&found["output"][0]["content"][0], "text"), "Paris is the cap");
    let mut streaming = body;
    streaming["stream"] = true.into();
    let stream = api.post("/openai/v1/responses", streaming).await.expect(200).text;
    assert!(stream.contains("event: response.incomplete"), "{stream}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_choice_is_refused_with_the_known_ones() {
    let lm = FakeLm::doing([ending(CUT, "length")]).await;
    let server = on(&test_database().await, &lm).start();
    let node = json!({"lm": {"on_length": "stop"}});
    let api = Remote::new(&server.url);
    let refused = api.post("/v1/graphs", one_node("q", "question -> answer", node)).await;
    let problem = refused.expect(422).json();
    let detail = text(&problem["errors"][0], "detail");
    assert_eq!(detail, "expected fail, accept, continue; found `stop`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_said_as_it_was_and_not_repeated() {
    let refusal = json!({"choices": [{"finish_reason": "stop",
        "message": {"role": "assistant", "content": null, "refusal": "I will not."}}]});
    for (does, said) in [
        (ending("", "content_filter"), "(`content_filter`)"),
        (completion(&refusal), "I will not."),
    ] {
        let lm = FakeLm::doing([does]).await;
        let (_server, api) = graph(&lm, json!({})).await;
        let problem = execute(&api).await.expect(422).json();
        assert_eq!(text(&problem, "code"), "answer_filtered");
        assert!(text(&problem, "detail").ends_with(said), "{problem}");
        assert_eq!(lm.asked().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_quota_is_no_limit_of_the_rate() {
    let body = json!({"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota",
        "code": "insufficient_quota"}});
    let lm = FakeLm::doing([Does::Answer(429, vec![], body.to_string())]).await;
    let (_server, api) = graph(&lm, json!({})).await;
    let problem = execute(&api).await.expect(402).json();
    assert_eq!(text(&problem, "code"), "provider_quota_exhausted");
    assert_eq!(lm.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_an_answer_is_retried_and_never_cached() {
    let error = json!({"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "gone"},
        "message": {"role": "assistant", "content": CUT}}]});
    let good = ending("[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]", "stop");
    let lm = FakeLm::doing([completion(&error), good]).await;
    let setup = on(&test_database().await, &lm)
        .env("DSRS_MODELS__DEFAULT__MODEL", "m-1")
        .env("DSRS_MODELS__DEFAULT__CACHE_BYTES", "1000000");
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    for _ in 0..2 {
        let run = execute(&api).await.expect(200).json();
        assert_eq!(run["outputs"], json!({"answer": "Paris"}));
    }
    assert_eq!(lm.asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_openai_get_the_reason() {
    let question = json!({"model": "q", "messages": [{"role": "user", "content": "?"}]});
    let input = json!({"model": "q", "input": "?"});
    for (does, reason, detail) in [
        (ending(CUT, "length"), "length", "max_output_tokens"),
        (ending("", "content_filter"), "content_filter", "content_filter"),
    ] {
        let lm = FakeLm::doing([does]).await;
        let (_server, api) = graph(&lm, json!({})).await;
        let whole = api.post("/openai/v1/chat/completions", question.clone()).await;
        let choice = whole.expect(200).json()["choices"][0].clone();
        assert_eq!(
            (text(&choice, "finish_reason"), &choice["message"]["content"]),
            (reason, &Value::Null)
        );
        let mut streaming = question.clone();
        streaming["stream"] = json!(true);
        let streamed = api.post("/openai/v1/chat/completions", streaming).await;
        assert!(
            streamed.text.contains(&format!(r#""finish_reason":"{reason}""#)),
            "{}",
            streamed.text
        );
        assert!(streamed.text.trim_end().ends_with("data: [DONE]"), "{}", streamed.text);
        let response = api.post("/openai/v1/responses", input.clone()).await.expect(200).json();
        assert_eq!(text(&response, "status"), "incomplete");
        assert_eq!(text(&response["incomplete_details"], "reason"), detail);
        let mut streaming = input.clone();
        streaming["stream"] = json!(true);
        let streamed = api.post("/openai/v1/responses", streaming).await;
        assert!(streamed.text.contains("event: response.incomplete"), "{}", streamed.text);
    }
}
