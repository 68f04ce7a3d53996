//! Large JSON and text is compressed for clients that accept it. Entity tags distinguish the
//! compressed form, and conditions accept both.

use std::io::Read;

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{http_client, one_node};

const GZIP: (&str, &str) = ("accept-encoding", "gzip");

struct Reader<'a>(&'a Api, Client);

/// A graph whose definition is larger than what is compressed.
fn large_graph() -> Value {
    let mut graph = one_node("large", "question -> answer");
    let text = "Answer in one sentence. ".repeat(800);
    graph["nodes"]["ask"]["signature"] = json!({"instructions": text, "inputs": [{"name": "question"}], "outputs": [{"name": "answer"}]});
    graph
}

impl Reader<'_> {
    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = self.1.request(method, format!("{}{path}", self.0.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        self.send(Method::GET, path, headers).await
    }
}

fn header<'r>(answer: &'r Response, name: &str) -> &'r str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn decompressed(answer: Response) -> String {
    let bytes = answer.bytes().await.unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_ref()).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_are_compressed_for_clients_that_accept_it() {
    let api = Api::new().await;
    let client = Reader(&api, http_client());
    for path in ["/v1/strategies", "/openapi.json", "/docs/swagger-ui.css", "/metrics"] {
        let plain = client.get(path, &[]).await;
        assert_eq!((header(&plain, "content-encoding"), plain.status().as_u16()), ("", 200));
        let vary = header(&plain, "vary").to_owned();
        let plain = plain.text().await.unwrap();
        let is_large = plain.len() > 8 << 10;
        assert_eq!(vary, if is_large { "accept-encoding" } else { "" }, "{path}");
        let answer = client.get(path, &[GZIP]).await;
        assert_eq!(header(&answer, "vary"), vary, "{path}");
        if !is_large {
            assert_eq!(header(&answer, "content-encoding"), "", "{path}");
            continue;
        }
        assert_eq!(header(&answer, "content-encoding"), "gzip", "{path}");
        assert_eq!(header(&answer, "content-length"), "", "{path}");
        if path != "/metrics" {
            assert_eq!(decompressed(answer).await, plain, "{path}");
        }
        for refused in ["gzip;q=0", "identity", "br"] {
            let answer = client.get(path, &[("accept-encoding", refused)]).await;
            assert_eq!(header(&answer, "content-encoding"), "", "{path} {refused}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_answers_and_event_streams_are_sent_as_they_are() {
    let api = Api::new().await;
    api.post("/v1/graphs", large_graph()).await.expect(201);
    let client = Reader(&api, http_client());
    for path in ["/healthz", "/v1/models", "/v1/graphs", "/v1/nowhere"] {
        let answer = client.get(path, &[GZIP]).await;
        let found = (header(&answer, "content-encoding"), header(&answer, "vary"));
        assert_eq!(found, ("", ""), "{path}");
        assert_ne!(header(&answer, "content-length"), "", "{path}");
    }
    let execute = client.1.post(format!("{}/v1/graphs/large/execute", api.url));
    let body = json!({"inputs": {"question": "Why? ".repeat(4000)}});
    let execute = execute.json(&body).header(GZIP.0, GZIP.1);
    let answer = execute.header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(header(&answer, "content-type"), "text/event-stream");
    assert_eq!((header(&answer, "content-encoding"), header(&answer, "vary")), ("", ""));
    assert!(answer.text().await.unwrap().contains("event: run.completed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tag_of_a_compressed_answer_is_its_own_and_conditions_accept_both() {
    let api = Api::new().await;
    let created = api.post("/v1/graphs", large_graph()).await.expect(201);
    let plain = created.header("etag").to_owned();
    let client = Reader(&api, http_client());
    let answer = client.get("/v1/graphs/large", &[GZIP]).await;
    let packed = header(&answer, "etag").to_owned();
    assert_eq!(packed, format!("{}-gzip\"", plain.strip_suffix('"').unwrap()));
    let read: Value = serde_json::from_str(&decompressed(answer).await).unwrap();
    assert_eq!(read["name"], "large");
    let head = client.send(Method::HEAD, "/v1/graphs/large", &[GZIP]).await;
    assert_eq!((header(&head, "etag"), header(&head, "content-encoding")), (&*packed, "gzip"));
    for (known, coding, tag) in [
        (&packed, "gzip", &packed),
        (&packed, "identity", &packed),
        (&plain, "identity", &plain),
        (&plain, "gzip", &plain),
    ] {
        let headers = [("accept-encoding", coding), ("if-none-match", known.as_str())];
        let answer = client.get("/v1/graphs/large", &headers).await;
        assert_eq!((answer.status().as_u16(), header(&answer, "etag")), (304, tag.as_str()));
        assert_eq!(header(&answer, "vary"), "accept-encoding");
        assert_eq!(header(&answer, "content-encoding"), "");
    }
    let weak = format!("W/{packed}");
    let answer = client.get("/v1/graphs/large", &[GZIP, ("if-none-match", &weak)]).await;
    assert_eq!(answer.status(), 304);
    let body = || Some(large_graph().to_string());
    let put = |tag: &str| {
        let api = &api;
        let tag = tag.to_owned();
        async move { api.send(Method::PUT, "/v1/graphs/large", &[("if-match", &tag)], body()).await }
    };
    put(&packed).await.expect(200);
    put(&plain).await.expect(200);
    put(&packed.replace("gzip", "br")).await.expect(412);
    put(&weak).await.expect(412);
}

#[tokio::test(flavor = "multi_thread")]
async fn compression_can_be_turned_off() {
    let api = Api::with_settings(&[("DSRS_HTTP_COMPRESS", "false")]).await;
    let client = Reader(&api, http_client());
    let answer = client.get("/v1/strategies", &[GZIP]).await;
    assert_eq!((header(&answer, "content-encoding"), header(&answer, "vary")), ("", ""));
}
