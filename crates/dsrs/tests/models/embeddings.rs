//! Embedding models: the client of OpenAI-compatible endpoints against a small server, retries, and
//! the synthetic one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::lm::retry::{RetryPolicy, embed};
use dsrs::lm::{
    Embedder, EmbeddingModel, Embeddings, Gates, Lane, LmError, LmErrorKind, Models, OpenAiConfig,
    OpenAiEmbedder, RequestTrace, Usage,
};
use dsrs::predict::{DynPredictor, SchemaPredictor};
use dsrs::value::Payload;
use dsrs_synthetic::{SyntheticEmbedder, SyntheticTask};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fake_server::{Reaction, http, server, whole};

const KEY: &str = "sk-very-secret";

fn client(url: &str) -> OpenAiEmbedder {
    let key = Some(KEY.to_owned());
    OpenAiEmbedder::new(&OpenAiConfig { api_key: key, ..OpenAiConfig::new(url, "e") }).unwrap()
}

fn texts(count: usize) -> Vec<Arc<str>> {
    (0..count).map(|number| format!("text {number}").into()).collect()
}

/// Two vectors in reverse order.
const TWO: &str = r#"{"object":"list","model":"e-1","data":[
    {"object":"embedding","index":1,"embedding":[0.5,-1e-3,3]},
    {"object":"embedding","index":0,"embedding":[1,0,0]}],"usage":{"prompt_tokens":6,"total_tokens":6}}"#;

async fn ask(does: Reaction) -> Result<Embeddings, LmError> {
    let (url, _) = server(does).await;
    client(&url).embed(&texts(2), None).await
}

#[tokio::test]
async fn texts_are_posted_with_the_key_and_vectors_are_in_order() {
    let (url, seen) = server(http("200 OK", "", TWO)).await;
    let found = client(&url).embed(&texts(2), None).await.unwrap();
    let vectors: Vec<&[f32]> = found.vectors.iter().map(|vector| &**vector).collect();
    assert_eq!(vectors, [&[1.0, 0.0, 0.0][..], &[0.5, -0.001, 3.0]]);
    let usage = Usage { lm_calls: 1, input_tokens: 6, ..Usage::default() };
    assert_eq!(found.usage, usage);

    let sent = seen.requests.lock().unwrap()[0].clone();
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer sk-very-secret"), "{head}");
    assert_eq!(body, r#"{"model":"e","input":["text 0","text 1"]}"#);
}

/// A vector for each text: the number in it.
fn numbers(request: &str) -> String {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let input = body.split_once("\"input\":[").unwrap().1;
    let item = |text: &str| {
        let number: String = text.chars().filter(char::is_ascii_digit).collect();
        format!(r#"{{"embedding":[{number},1]}}"#)
    };
    let items: Vec<String> = input.split(',').map(item).collect();
    whole(&format!(r#"{{"data":[{}],"usage":{{"prompt_tokens":2}}}}"#, items.join(",")))
}

#[tokio::test]
async fn many_texts_go_in_batches_and_no_texts_send_no_request() {
    let (url, seen) = server(Reaction::Answer(numbers)).await;
    let embedder = client(&url);
    let found = embedder.embed(&texts(600), None).await.unwrap();
    let firsts: Vec<usize> = found.vectors.iter().map(|vector| vector[0] as usize).collect();
    assert_eq!(firsts, (0..600).collect::<Vec<_>>());
    assert_eq!((found.usage.lm_calls, found.usage.input_tokens), (3, 6));
    assert_eq!(embedder.embed(&[], None).await.unwrap(), Embeddings::default());
    assert_eq!(seen.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn an_error_has_kind_status_wait_and_the_message_of_the_provider() {
    let too_long = "this model's maximum context length is 8192 tokens";
    let cases = [
        ("429 Too Many Requests", "slow down", LmErrorKind::RateLimited),
        ("503 Service Unavailable", "loading", LmErrorKind::Provider),
        ("404 Not Found", "no such model", LmErrorKind::Refused),
        ("400 Bad Request", too_long, LmErrorKind::ContextOverflow),
        ("200 OK", "overloaded", LmErrorKind::Provider),
    ];
    for (status, said, kind) in cases {
        let words = format!(r#"{{"error":{{"message":"{said} {KEY}"}}}}"#);
        let error = ask(http(status, "retry-after: 7\r\n", &words)).await.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, status[..3].parse().ok()), "{status}");
        assert!(error.message.ends_with(&format!("answered {status}: {said} ***")), "{error}");
        if status.starts_with("429") {
            assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_list_of_vectors_is_malformed() {
    let cases = [
        ("so sorry", "expected"),
        ("[]", "0 vectors for 2 texts"),
        (r#"{"data":[]}"#, "0 vectors for 2 texts"),
        (r#"{"data":[{"index":0,"embedding":[1]}]}"#, "1 vectors for 2 texts"),
        (
            r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
            "vector 1 has 2 numbers, another one 1",
        ),
        (r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#, "has 0 numbers"),
        (
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            "two vectors of index 0",
        ),
        (
            r#"{"data":[{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            "index 2 for 2 texts",
        ),
        (r#"{"data":[{"embedding":[1e39]},{"embedding":[1]}]}"#, "number"),
        (r#"{"data":[{"embedding":"AACAPw=="},{"embedding":"AACAPw=="}]}"#, "invalid type"),
    ];
    for (body, why) in cases {
        let error = ask(http("200 OK", "", body)).await.unwrap_err();
        assert_eq!((error.kind, error.status), (LmErrorKind::Malformed, Some(200)), "{body}");
        assert!(error.message.contains("is not a list of embeddings: "), "{error}");
        assert!(error.message.contains(why), "{error}");
    }
}

/// Fails a given number of times at the second batch.
struct Shaky {
    failures: AtomicUsize,
    asked: Mutex<Vec<usize>>,
    kind: LmErrorKind,
}

impl Embedder for Shaky {
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        _: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(texts.len());
        let left = |left: usize| left.checked_sub(1);
        let count = if asked.len() > 1 { &self.failures } else { &AtomicUsize::new(0) };
        let fails = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok();
        let dimension = if self.kind == LmErrorKind::Malformed { texts.len() } else { 2 };
        let usage = Usage { lm_calls: 1, ..Usage::default() };
        let vectors = vec![vec![1.0; dimension].into(); texts.len()];
        let error =
            LmError { kind: self.kind, message: "no".into(), status: None, retry_after: None };
        async move { if fails { Err(error) } else { Ok(Embeddings { vectors, usage }) } }.boxed()
    }
}

async fn with_retries(
    kind: LmErrorKind,
    failures: usize,
) -> (Result<Embeddings, LmError>, Vec<usize>) {
    let (cancelled, lane) = (CancellationToken::new(), Lane::default());
    let gates = Gates { lane: &lane, model: None, all: None };
    let deadline = Instant::now() + Duration::from_secs(600);
    let policy =
        RetryPolicy { retries: 2, deadline, cancelled: &cancelled, is_streamed: false, gates };
    let shaky = Shaky { failures: failures.into(), asked: Mutex::default(), kind };
    let found = embed(&shaky, &texts(300), None, &policy).await;
    (found, shaky.asked.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn only_the_batch_with_a_transient_failure_is_retried() {
    let (found, asked) = with_retries(LmErrorKind::RateLimited, 2).await;
    assert_eq!((found.unwrap().vectors.len(), asked), (300, vec![256, 44, 44, 44]));
    let (found, asked) = with_retries(LmErrorKind::Connection, 3).await;
    assert_eq!((found.unwrap_err().kind, asked.len()), (LmErrorKind::Connection, 4));
    let (found, asked) = with_retries(LmErrorKind::Refused, 1).await;
    assert_eq!((found.unwrap_err().kind, asked.len()), (LmErrorKind::Refused, 2));
    let (found, _) = with_retries(LmErrorKind::Malformed, 0).await;
    assert!(found.unwrap_err().message.contains("256 numbers for some texts and of 44"));
}

#[tokio::test]
async fn an_embedding_model_refuses_to_answer_with_a_reason() {
    let model = EmbeddingModel::of("vectors", Arc::new(SyntheticEmbedder));
    let models = Models::new([], Some("vectors".into())).with_embedding([model]);
    assert!(models.get("vectors").is_none() && models.embedding("default").is_some());
    let ctx = crate::story::over(models);
    let predictor =
        SchemaPredictor::new(crate::story::signature("{}", "\"question -> answer\""), "p");
    let error = predictor.forward(&ctx, crate::story::fields(r#"{"question": "2 + 2?"}"#)).await;
    let message = error.unwrap_err().to_string();
    assert!(message.contains("`vectors` is an embedding model"), "{message}");
}

#[tokio::test]
async fn the_synthetic_embedder_finds_messages_of_the_same_kind() {
    let rows = SyntheticTask::named("triage").unwrap().rows(1, 300);
    let messages: Vec<Arc<str>> =
        rows.iter().map(|row| row.inputs["message"].as_str().unwrap().into()).collect();
    let found = SyntheticEmbedder.embed(&messages, None).await.unwrap();
    assert_eq!(found, SyntheticEmbedder.embed(&messages, None).await.unwrap());
    assert_eq!((found.vectors.len(), found.dimension()), (300, Some(256)));
    let queue = |number: usize| -> &Payload { &rows[number].expected["queue"] };
    let nearest = |number: usize| {
        let others = (0..300).filter(|other| *other != number);
        others.max_by(|one, other| {
            found.likeness(number, *one).total_cmp(&found.likeness(number, *other))
        })
    };
    let same = (0..300).filter(|number| queue(*number) == queue(nearest(*number).unwrap())).count();
    assert!(same > 280, "{same} of 300");
}
