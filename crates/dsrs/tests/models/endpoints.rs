//! OpenAI-compatible endpoints, each with the answers and refusals that its documentation describes. No
//! endpoint itself is called.

use dsrs::lm::{
    Chat, DeltaSink, Lm, LmErrorKind, LmParams, LmReply, LmRequest, Message, OpenAi, OpenAiConfig,
    Prefix, ReasoningEffort,
};

use crate::fake_server::{Reaction, server, whole};

fn request() -> LmRequest {
    let chat = Chat {
        prefix: Prefix::of([Message::system("Be brief.")]),
        turns: vec![Message::user("2+2?")],
    };
    let params = LmParams {
        temperature: Some(0.2),
        max_tokens: Some(64),
        seed: Some(7),
        reasoning_effort: Some(ReasoningEffort::Low),
        ..LmParams::default()
    };
    LmRequest::new(chat, params)
}

/// The reply of an endpoint, and its last request.
async fn ask(answer: fn(&str) -> String) -> (LmReply, String) {
    let (url, seen) = server(Reaction::Answer(answer)).await;
    let lm = OpenAi::new(OpenAiConfig::new(url, "m")).unwrap();
    let reply = lm.complete(&request(), DeltaSink::closed()).await.unwrap();
    let last = seen.requests.lock().unwrap().last().unwrap().clone();
    (reply, last)
}

fn refusal(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn has(request: &str, member: &str) -> bool {
    request.contains(&format!("\"{member}\":"))
}

fn omitted(reply: &LmReply) -> Vec<&'static str> {
    reply.omitted.names().collect()
}

#[tokio::test]
async fn mistral_refuses_members_that_it_does_not_know() {
    let (reply, _) = ask(|request| {
        for member in ["seed", "reasoning_effort"] {
            if has(request, member) {
                let body = format!(
                    r#"{{"object":"error","message":{{"detail":[{{"type":"extra_forbidden","loc":["body","{member}"],"msg":"Extra inputs are not permitted","input":7}}]}},"type":"invalid_request_error","code":null}}"#
                );
                return refusal("422 Unprocessable Entity", &body);
            }
        }
        whole(r#"{"id":"c","object":"chat.completion","model":"mistral-small-latest","usage":{"prompt_tokens":16,"total_tokens":20,"completion_tokens":4},"choices":[{"index":0,"message":{"role":"assistant","tool_calls":null,"content":"4"},"finish_reason":"stop"}]}"#)
    })
    .await;
    assert_eq!(omitted(&reply), ["seed", "reasoning_effort"]);
    assert_eq!((&*reply.text, reply.usage.input_tokens), ("4", 16));
}

#[tokio::test]
async fn groq_reports_reasoning_and_refuses_an_effort_of_other_models() {
    let (reply, _) = ask(|request| match has(request, "reasoning_effort") {
        true => refusal(
            "400 Bad Request",
            r#"{"error":{"message":"`reasoning_effort` is not supported with this model","type":"invalid_request_error"}}"#,
        ),
        false => whole(
            r#"{"model":"qwen/qwen3-32b","choices":[{"index":0,"message":{"role":"assistant","content":"4","reasoning":"Two and two."},"logprobs":null,"finish_reason":"stop"}],"usage":{"queue_time":0.1,"prompt_tokens":20,"completion_tokens":30,"completion_tokens_details":{"reasoning_tokens":25}},"x_groq":{"id":"r"}}"#,
        ),
    })
    .await;
    assert_eq!(omitted(&reply), ["reasoning_effort"]);
    assert_eq!(reply.reasoning.unwrap().text(), "Two and two.");
    assert_eq!(reply.usage.reasoning_tokens, 25);
}

#[tokio::test]
async fn openrouter_reports_reasoning_cached_tokens_and_cost() {
    let (reply, sent) = ask(|_| {
        whole(
            r#"{"id":"g","provider":"Anthropic","model":"anthropic/claude-sonnet-4.5","object":"chat.completion","choices":[{"logprobs":null,"finish_reason":"stop","native_finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4","refusal":null,"reasoning":"Sum.","reasoning_details":[{"type":"reasoning.text","text":"Sum.","signature":"s"}]}}],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"cost":0.00014,"prompt_tokens_details":{"cached_tokens":12,"cache_write_tokens":3}}}"#,
        )
    })
    .await;
    assert_eq!((omitted(&reply), reply.reasoning.unwrap().text()), (vec![], "Sum.".to_owned()));
    assert_eq!((reply.usage.cached_tokens, reply.usage.cache_write_tokens), (12, 3));
    assert_eq!(reply.usage.cost, Some(0.00014));
    assert!(sent.contains(r#""reasoning_effort":"low""#));
}

#[tokio::test]
async fn vllm_sglang_and_llama_cpp_report_reasoning_beside_the_text() {
    for answer in [
        // vLLM, with its reasoning parser.
        r#"{"id":"c","object":"chat.completion","model":"Qwen/Qwen3-8B","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"Sum.","content":"4","tool_calls":[]},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":{"prompt_tokens":9,"total_tokens":14,"completion_tokens":5,"prompt_tokens_details":null},"prompt_logprobs":null}"#,
        // SGLang.
        r#"{"id":"c","object":"chat.completion","model":"Qwen/Qwen3-8B","choices":[{"index":0,"message":{"role":"assistant","content":"4","reasoning_content":"Sum.","tool_calls":null},"logprobs":null,"finish_reason":"stop","matched_stop":151645}],"usage":{"prompt_tokens":9,"total_tokens":14,"completion_tokens":5,"prompt_tokens_details":null,"reasoning_tokens":0}}"#,
        // llama.cpp.
        r#"{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","reasoning_content":"Sum.","content":"4"}}],"created":1,"model":"qwen3","system_fingerprint":"b1","object":"chat.completion","usage":{"completion_tokens":5,"prompt_tokens":9,"total_tokens":14},"timings":{"prompt_n":9}}"#,
        // Ollama and LM Studio.
        r#"{"id":"chatcmpl-1","object":"chat.completion","model":"qwen3:8b","system_fingerprint":"fp_ollama","choices":[{"index":0,"message":{"role":"assistant","content":"4","reasoning":"Sum."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}"#,
    ] {
        let (url, _) = server(Reaction::Say(whole(answer))).await;
        let lm = OpenAi::new(OpenAiConfig::new(url, "m")).unwrap();
        let reply = lm.complete(&request(), DeltaSink::closed()).await.unwrap();
        assert_eq!((&*reply.text, reply.reasoning.unwrap().text()), ("4", "Sum.".to_owned()));
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 5));
    }
}

#[tokio::test]
async fn deepseek_counts_the_tokens_of_its_cache() {
    let (reply, _) = ask(|_| {
        whole(
            r#"{"id":"c","object":"chat.completion","model":"deepseek-chat","choices":[{"index":0,"message":{"role":"assistant","content":"4","reasoning_content":"Sum."},"finish_reason":"stop"}],"usage":{"prompt_tokens":70,"completion_tokens":5,"total_tokens":75,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":6,"completion_tokens_details":{"reasoning_tokens":3}}}"#,
        )
    })
    .await;
    assert_eq!((reply.usage.cached_tokens, reply.usage.reasoning_tokens), (64, 3));
}

#[tokio::test]
async fn azure_expects_its_version_in_the_query_and_limits_completions() {
    let (url, seen) = server(Reaction::Answer(|request| match has(request, "max_tokens") {
        true => refusal(
            "400 Bad Request",
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
        ),
        false => whole(
            r#"{"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"finish_reason":"stop","index":0,"message":{"content":"4","role":"assistant"}}],"model":"gpt-5-mini-2025-08-07","prompt_filter_results":[],"usage":{"completion_tokens":5,"prompt_tokens":9,"total_tokens":14,"completion_tokens_details":{"reasoning_tokens":0}}}"#,
        ),
    }))
    .await;
    let lm = OpenAi::new(OpenAiConfig::new(format!("{url}?api-version=preview"), "m")).unwrap();
    let reply = lm.complete(&request(), DeltaSink::closed()).await.unwrap();
    assert_eq!(&*reply.text, "4");
    let sent = seen.requests.lock().unwrap();
    assert!(sent[0].starts_with("POST /v1/chat/completions?api-version=preview "));
    assert!(has(&sent[1], "max_completion_tokens"));
}

#[tokio::test]
async fn together_refuses_too_long_prompts_in_its_own_words() {
    let (url, _) = server(Reaction::Say(refusal(
        "422 Unprocessable Entity",
        r#"{"id":"o","error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193: maximum context length exceeded","type":"invalid_request_error","param":"max_tokens","code":null}}"#,
    )))
    .await;
    let lm = OpenAi::new(OpenAiConfig::new(url, "m")).unwrap();
    let refused = lm.complete(&request(), DeltaSink::closed()).await.unwrap_err();
    assert_eq!(refused.kind, LmErrorKind::ContextOverflow);
}
