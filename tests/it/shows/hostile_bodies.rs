//! Hostile requests for every route: no failure of the server, every refusal a problem document, the
//! same process at the end, and bounded memory.

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::json;

use super::on;
use dsrs_test::hostile::{HostileRequest, Random, operations};
use dsrs_test::{
    Answer, Does, FakeLm, Remote, check_documented, http_client, sections, support_reply,
    test_database,
};

/// Requests for each operation.
const REQUESTS: usize = 40;

/// Requests at the same time.
const CONCURRENCY: usize = 6;

/// The key of the client.
const KEY: &str = "key-of-hostile-requests";

/// The most memory that the process may ever have used: the figure that is promised of a build with
/// optimization. One without uses 120 MiB.
const PEAK_MIB: u64 = 300;

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_request_for_any_route_is_a_failure_of_the_server() {
    let said = sections([("mood", "calm"), ("topics", "[]"), ("reasoning", "-"), ("answer", "-")]);
    let lm = FakeLm::by(move |_, _| Does::Say(said.clone())).await;
    // Without workers nothing that a request starts outlives it.
    let setup = on(&test_database().await, &lm).env("DSRS_WORKER_ENABLED", "false");
    // A request may create a key, which would close a server without one.
    let setup = setup.env("DSRS_API_KEYS", KEY);
    let mut server = setup.start();
    let remote = Remote::with_key(&server.url, KEY);
    remote.post("/v1/graphs", support_reply()).await.expect(201);
    let examples = json!([{"inputs": {"ticket": "Where is it?"}, "expected": {"mood": "calm"}}]);
    remote.post("/v1/datasets", json!({"name": "tickets", "examples": examples})).await.expect(201);

    let document = dsrs_http::openapi();
    let mut random = Random(15);
    let requests: Vec<HostileRequest> = operations(document)
        .iter()
        .flat_map(|operation| {
            (0..REQUESTS).map(|_| operation.request(&mut random)).collect::<Vec<_>>()
        })
        .collect();
    let client = http_client();
    let url = server.url.clone();
    let failures: Vec<String> = stream::iter(requests)
        .map(|request| failure_of(&client, &url, request))
        .buffer_unordered(CONCURRENCY)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));

    remote.get("/healthz").await.expect(200);
    assert!(!server.has_ended(), "{}", std::fs::read_to_string(setup.log()).unwrap());
    if let Some(peak) = server.peak_mib() {
        assert!(peak < PEAK_MIB, "{peak} MiB");
    }
}

/// What is wrong with the answer to a request, if anything is.
async fn failure_of(
    client: &reqwest::Client,
    url: &str,
    request: HostileRequest,
) -> Option<String> {
    let HostileRequest { method, path, headers, body } = request;
    let shown = body.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let shown: String = shown.chars().take(300).collect();
    let mut sent = client.request(method.clone(), format!("{url}{path}"));
    let has_own_key = headers.iter().any(|(name, _)| *name == "authorization");
    if !has_own_key {
        sent = sent.bearer_auth(KEY);
    }
    for (name, value) in &headers {
        sent = sent.header(*name, value);
    }
    let sent = sent.body(body.unwrap_or_default());
    let again = sent.try_clone().unwrap();
    let sent = match sent.send().await {
        // The server may close an idle connection at the moment at which the client uses it.
        Err(_) => again.send().await,
        answered => answered,
    };
    let failure =
        |what: &str| Some(format!("{method} {path:.300} {headers:.300?} {shown}: {what}"));
    let answer = match sent {
        Ok(answer) => answer,
        Err(error) => return failure(&format!("{error:?}")),
    };
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let text = match answer.text().await {
        Ok(text) => text,
        Err(error) => return failure(&format!("{error:?}")),
    };
    let answer = Answer { status, headers, text };
    let is_openai = path.starts_with("/openai/") && answer.text.starts_with("{\"error\":{");
    let problem = is_openai || answer.header("content-type") == "application/problem+json";
    if status >= 400 && !problem && method != Method::HEAD {
        return failure(&format!("{status} without a problem: {}", answer.text));
    }
    if status == 401 && !has_own_key {
        return failure("the key is refused");
    }
    if status >= 500 && status != 503 {
        return failure(&answer.text);
    }
    // 503 is documented where it may be answered.
    check_documented(&method, &path, &answer);
    None
}
