//! Text that the database cannot hold, and forged cursors, on every route: refused, never a failure of
//! the server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Api;
use dsrs_test::{one_node, support_reply, test_database};

/// Every operation of the document: method, path template, declaration.
fn operations() -> Vec<(Method, String, Value)> {
    let document = dsrs_http::openapi();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().filter_map(|(method, operation)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
            operation.is_object().then(|| (method, path.clone(), operation.clone()))
        })
    });
    operations.collect()
}

/// A path with each parameter replaced.
fn fill(template: &str, value: impl Fn(&str) -> &'static str) -> String {
    let segments = template.split('/').map(|segment| {
        let parameter = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match parameter {
            Some(name) => value(name),
            None => segment,
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

/// A value that fits a path parameter of this name.
fn fitting(parameter: &str) -> &'static str {
    match parameter {
        "graph" => "support-reply",
        "id" => "01890a5d-ac96-774b-bcce-b302099a8057",
        "version" | "number" => "1",
        _ => "some",
    }
}

fn body(method: &Method) -> Option<String> {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH).then(|| "{}".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn u0000_in_a_path_or_a_query_is_refused_by_every_route() {
    let api = Api::new().await;
    api.post("/v1/graphs", support_reply()).await.expect(201);
    let mut tried = 0;
    for (method, template, operation) in operations() {
        let mut paths = Vec::new();
        if template.contains('{') {
            paths.push(fill(&template, |_| "a%00b"));
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            paths.push(format!("{}?{name}=a%00b", fill(&template, fitting)));
        }
        for path in paths {
            let headers = [("idempotency-key", "zero")];
            let answer = api.send(method.clone(), &path, &headers, body(&method)).await;
            let refused = (400..500).contains(&answer.status);
            assert!(refused, "{method} {path}: {} {}", answer.status, answer.text);
            tried += 1;
        }
    }
    assert!(tried > 80, "{tried}");
}

/// A cursor as the server makes it, with any content.
fn forged(list: &str, key: &str) -> String {
    let digest = Sha256::new().chain_update(list).chain_update([0]).chain_update(key).finalize();
    URL_SAFE_NO_PAD.encode([key.as_bytes(), &digest[..6]].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_cursor_is_refused_or_moves_the_page() {
    let api = Api::new().await;
    let graph = api.post("/v1/graphs", support_reply()).await.expect(201).json();
    let id = graph["id"].as_str().unwrap();
    let timed = ["runs", "graphs", "batches", "datasets", "evaluations", "optimizations"];
    let nil = "00000000000000000000000000000000";
    for name in timed {
        let list = if name == "evaluations" { "evaluations ".to_owned() } else { name.to_owned() };
        let ask = |key: String| {
            let path = format!("/v1/{name}?cursor={}", forged(&list, &key));
            let api = &api;
            async move { api.get(&path).await }
        };
        for time in [i64::MIN, i64::MAX, -300_000_000_000_000_000, 8_210_000_000_000_000_000] {
            assert_eq!(ask(format!("{time}.{nil}")).await.expect(400).code(), "invalid_parameter");
        }
        for key in ["", "x", ".", "1.x", "\0", "1"] {
            assert_eq!(ask(key.to_owned()).await.expect(400).code(), "invalid_parameter");
        }
        for time in [0_i64, 1_700_000_000_000_000, 200_000_000_000_000_000] {
            ask(format!("{time}.{nil}")).await.expect(200);
        }
    }
    for (path, list) in [("versions", "graph_versions"), ("state/versions", "state_versions")] {
        let ask = |key: &str| {
            let cursor = forged(&format!("{list}/{id}"), key);
            let (api, path) = (&api, format!("/v1/graphs/{id}/{path}?cursor={cursor}"));
            async move { api.get(&path).await }
        };
        for key in ["-1", "2147483648", "99999999999999999999", "1.5", "NaN"] {
            assert_eq!(ask(key).await.expect(400).code(), "invalid_parameter", "{path} {key}");
        }
        for key in ["0", "1", "2147483647"] {
            ask(key).await.expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_accept_the_cursors_of_each_other() {
    let database = test_database().await;
    let one = Api::start(&database, None, &[]).await;
    let two = Api::start(&database, None, &[]).await;
    for name in ["first", "second"] {
        one.post("/v1/graphs", one_node(name, "q -> answer")).await.expect(201);
    }
    let page = one.get("/v1/graphs?limit=1").await.expect(200).json();
    let path = format!("/v1/graphs?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    one.stop().await;
    let rest = two.get(&path).await.expect(200).json();
    assert_eq!((&rest["items"][0]["name"], &rest["next_cursor"]), (&"first".into(), &Value::Null));
}
