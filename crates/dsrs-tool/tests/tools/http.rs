//! The `http` tool against a server of the test: requests, responses, and refused destinations.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use dsrs::lm::Models;
use dsrs::predict::{Ctx, ToolError};
use dsrs::value::Fields;
use futures_util::stream;
use serde_json::{Value, json};

use super::{call, http_tool, toolbox};

/// Echoes each request and records it.
#[derive(Clone, Default)]
struct RecordedRequests(Arc<Mutex<Vec<Value>>>);

/// A server on a port of its own, at `127.0.0.1:PORT`.
async fn server() -> (String, RecordedRequests) {
    let seen = RecordedRequests::default();
    let router = Router::new()
        .route("/echo/{*rest}", any(echo))
        .route("/text", get(|| async { "plain words" }))
        .route("/empty", get(|| async { StatusCode::NO_CONTENT }))
        .route("/image", get(|| async { ([("content-type", "image/png")], vec![0xff_u8, 0xd8]) }))
        .route("/packed", get(|| async { ([("content-encoding", "gzip")], "not unpacked") }))
        .route("/long", get(|| async { "é".repeat(100) }))
        .route("/endless", get(endless))
        .route("/missing", get(|| async { (StatusCode::NOT_FOUND, "no such parcel") }))
        .route("/stall", any(std::future::pending::<String>))
        .route("/status/{status}", any(status))
        .route("/to/{status}/{*url}", any(redirect))
        .with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, seen)
}

async fn echo(State(seen): State<RecordedRequests>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap());
    let asked = json!({
        "method": head.method.as_str(),
        "uri": head.uri.to_string(),
        "authorization": header("authorization"),
        "plain": header("x-plain"),
        "type": header("content-type"),
        "body": serde_json::from_slice::<Value>(&body).unwrap_or_default(),
    });
    seen.0.lock().unwrap().push(asked.clone());
    axum::Json(asked).into_response()
}

async fn endless() -> Body {
    Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>("more ")))
}

async fn redirect(Path((status, url)): Path<(u16, String)>, _: HeaderMap) -> Response {
    let mut response = Redirect::to(&url).into_response();
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// The description of a GET.
fn get_tool(url: &str) -> Value {
    json!({"name": "ask", "description": "Asks.", "method": "GET", "url": url})
}

/// The result of a GET if only the server at `address` is allowed.
async fn ask(address: &str, url: &str) -> Result<Value, String> {
    let toolbox = toolbox(&[("DSRS_TOOLS_ALLOW", address)]);
    call(&http_tool(&toolbox, &get_tool(url))?, &json!({})).await
}

#[tokio::test]
async fn arguments_go_to_path_query_and_body_and_json_returns_as_data() {
    let (address, _) = server().await;
    let toolbox = toolbox(&[("DSRS_TOOLS_ALLOW", &address)]);
    let mut entry = get_tool(&format!("http://{address}/echo/{{id}}?page={{page}}"));
    let args = json!({"id": "a/../b c", "page": 2, "tags": ["x", "y&z"]});
    let properties = json!({"id": {"type": "string"}, "page": {"type": "integer"}, "tags": {}});
    entry["arguments"] = json!({"type": "object", "properties": properties});
    let got = call(&http_tool(&toolbox, &entry).unwrap(), &args).await.unwrap();
    assert_eq!(got["uri"], "/echo/a%2F..%2Fb%20c?page=2&tags=x&tags=y%26z");
    entry["method"] = json!("POST");
    let got = call(&http_tool(&toolbox, &entry).unwrap(), &args).await.unwrap();
    assert_eq!(got["uri"], "/echo/a%2F..%2Fb%20c?page=2");
    assert_eq!((&got["method"], &got["type"]), (&json!("POST"), &json!("application/json")));
    assert_eq!(got["body"], json!({"tags": ["x", "y&z"]}));
}

#[tokio::test]
async fn a_secret_is_sent_in_its_header_and_nowhere_else() {
    let (address, seen) = server().await;
    let toolbox = toolbox(&[
        ("DSRS_TOOLS_ALLOW", &address),
        ("DSRS_SECRETS__PARCELS", "hush-7"),
        ("DSRS_SECRETS__PARCELS__HOSTS", &address),
    ]);
    let mut entry = get_tool(&format!("http://{address}/echo/x"));
    entry["headers"] = json!({
        "Authorization": {"secret": "PARCELS", "prefix": "Bearer "},
        "X-Plain": "as it is"
    });
    let got = call(&http_tool(&toolbox, &entry).unwrap(), &json!({})).await.unwrap();
    let asked = seen.0.lock().unwrap()[0].clone();
    assert_eq!(asked["authorization"], "Bearer hush-7");
    // The server sent it back; the LM and the trace do not get it.
    assert_eq!(got["authorization"], "Bearer (secret PARCELS)");
    assert_eq!(got["plain"], "as it is");
    entry["headers"]["Authorization"]["secret"] = json!("PARCEL");
    let refused = http_tool(&toolbox, &entry).err().unwrap();
    assert_eq!(
        refused,
        "header `authorization`: there is no secret \"PARCEL\"; the server's settings have \
         PARCELS; did you mean \"PARCELS\"?"
    );
}

#[tokio::test]
async fn a_secret_goes_to_the_hosts_of_its_setting_only() {
    let ((own, seen), (other, elsewhere)) = (server().await, server().await);
    let (allow, port) = (format!("{own},{other}"), other.rsplit(':').next().unwrap());
    let text = [("DSRS_TOOLS_ALLOW", allow.as_str()), ("DSRS_SECRETS__KEY", "hush-7")];
    let bound = [&text[..], &[("DSRS_SECRETS__KEY__HOSTS", own.as_str())]].concat();
    let (bound, unbound) = (toolbox(&bound), toolbox(&text));
    let entry = |url: &str| {
        let mut entry = get_tool(url);
        entry["headers"] = json!({"X-Key": {"secret": "KEY"}});
        entry
    };
    let refusal = |toolbox, url: &str| http_tool(toolbox, &entry(url)).err().unwrap();
    let got = http_tool(&bound, &entry(&format!("http://{own}/echo/{{path}}"))).unwrap();
    call(&got, &json!({"path": format!("//{other}/echo/x")})).await.unwrap();
    assert_eq!(seen.0.lock().unwrap().len(), 1);
    // Any other host is refused when the definition is checked, whatever the URL contains.
    for url in [
        format!("http://{other}/echo/x"),
        format!("http://{other}/{own}/echo/{{path}}?host={own}"),
        format!("http://127.1:{port}/echo/x"),
    ] {
        let refused = refusal(&bound, &url);
        let expected = format!(
            "header `x-key`: the secret \"KEY\" may not go to `127.0.0.1` (port {port}), which is not \
             in the server's `secrets.KEY.hosts`"
        );
        assert_eq!(refused, expected, "{url}");
    }
    // Without a list there is no host to go to.
    let refused = refusal(&unbound, &format!("http://{own}/echo/x"));
    assert!(refused.ends_with("the server's `secrets.KEY.hosts` lists no host"), "{refused}");
    assert!(elsewhere.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn responses_that_are_not_json_are_described() {
    let (address, _) = server().await;
    let at = |path: &str| format!("http://{address}{path}");
    assert_eq!(ask(&address, &at("/text")).await.unwrap(), "plain words");
    assert_eq!(ask(&address, &at("/empty")).await.unwrap(), "(status 204, no body)");
    assert_eq!(
        ask(&address, &at("/missing")).await.unwrap_err(),
        "the server responded with status 404: no such parcel"
    );
    assert_eq!(
        ask(&address, &at("/image")).await.unwrap_err(),
        "the response is not text (image/png, 2 bytes)"
    );
    let packed = ask(&address, &at("/packed")).await.unwrap_err();
    assert!(packed.contains("`gzip`"), "{packed}");
    let unreachable = ask("127.0.0.1:9", "http://127.0.0.1:9/").await.unwrap_err();
    assert!(unreachable.contains("cannot be reached"), "{unreachable}");
}

#[tokio::test]
async fn a_long_response_is_truncated_and_a_slow_one_times_out() {
    let (address, _) = server().await;
    let toolbox = toolbox(&[("DSRS_TOOLS_ALLOW", &address)]);
    let mut entry = get_tool(&format!("http://{address}/long"));
    entry["max_bytes"] = json!(5);
    let cut = call(&http_tool(&toolbox, &entry).unwrap(), &json!({})).await.unwrap();
    assert_eq!(cut, "éé\n… (truncated: the first 5 of 200 bytes)");
    entry["url"] = json!(format!("http://{address}/endless"));
    let cut = call(&http_tool(&toolbox, &entry).unwrap(), &json!({})).await.unwrap();
    assert_eq!(cut, "more \n… (truncated: the first 5 of more bytes)");
    entry["url"] = json!(format!("http://{address}/stall"));
    entry["timeout_ms"] = json!(50);
    let slow = call(&http_tool(&toolbox, &entry).unwrap(), &json!({})).await.unwrap_err();
    assert_eq!(slow, "no response within 50 ms (the tool's timeout_ms)");
}

#[tokio::test]
async fn redirects_are_followed_and_secrets_stay_with_their_origin() {
    let ((first, seen), (other, elsewhere)) = (server().await, server().await);
    let allow = format!("{first},{other}");
    // Even if the secret may go to both, a redirect does not take it along.
    let toolbox = toolbox(&[
        ("DSRS_TOOLS_ALLOW", &allow),
        ("DSRS_SECRETS__S", "hush-7"),
        ("DSRS_SECRETS__S__HOSTS", &allow),
    ]);
    let mut entry = get_tool("");
    entry["method"] = json!("POST");
    entry["headers"] = json!({"Authorization": {"secret": "S"}, "X-Plain": "as it is"});
    for (status, method) in [(303, "GET"), (302, "GET"), (307, "POST"), (308, "POST")] {
        entry["url"] = json!(format!("http://{first}/to/{status}//echo/x"));
        let got = call(&http_tool(&toolbox, &entry).unwrap(), &json!({})).await.unwrap();
        assert_eq!((&got["method"], status), (&json!(method), status));
        assert_eq!(seen.0.lock().unwrap().last().unwrap()["authorization"], "hush-7");
        entry["url"] = json!(format!("http://{first}/to/{status}/http://{other}/echo/x"));
        let got = call(&http_tool(&toolbox, &entry).unwrap(), &json!({})).await.unwrap();
        assert_eq!((&got["authorization"], &got["plain"]), (&Value::Null, &json!("as it is")));
        assert_eq!(elsewhere.0.lock().unwrap().last().unwrap()["authorization"], Value::Null);
    }
    let round = format!("http://{first}/to/302/{}", "/to/302/".repeat(6));
    let tired = ask(&first, &round).await.unwrap_err();
    assert!(tired.contains("redirect"), "{tired}");
}

#[tokio::test]
async fn no_spelling_of_an_address_bypasses_the_list() {
    let ((allowed, _), (hidden, seen)) = (server().await, server().await);
    let port = hidden.rsplit(':').next().unwrap();
    // Where nothing but the one server is allowed, no spelling of an address gets past the list.
    let spellings = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "localhost",
        "LOCALHOST",
        "①②⑦.⓪.⓪.①",
        "0",
    ];
    for host in spellings {
        let url = format!("http://{host}:{port}/echo/x");
        // Directly, even if every public host and `localhost` by name are allowed ...
        let refused = ask("*,localhost", &url).await.unwrap_err();
        assert!(refused.contains("tools.allow"), "{host}: {refused}");
        // ... and after a redirect of an allowed server.
        let redirects = [301, 302, 303, 307, 308];
        // A header cannot contain such digits.
        for status in redirects.into_iter().filter(|_| host.is_ascii()) {
            let url = format!("http://{allowed}/to/{status}/{url}");
            let refused = ask(&format!("{allowed},localhost"), &url).await.unwrap_err();
            assert!(refused.contains("tools.allow"), "{host}: {refused}");
        }
    }
    for other in ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://user:word@127.0.0.1/"] {
        let url = format!("http://{allowed}/to/302/{other}");
        let refused = ask(&format!("{allowed},127.0.0.1"), &url).await.unwrap_err();
        assert!(refused.contains("refused"), "{other}: {refused}");
    }
    assert!(seen.0.lock().unwrap().is_empty(), "the hidden server was asked");
}

#[tokio::test]
async fn nothing_is_allowed_by_default() {
    assert_eq!(
        ask("", "https://example.com/").await.unwrap_err(),
        "`example.com` (port 443) is not in the server's `tools.allow`"
    );
}

/// The failure of a request: whether the same call may succeed later, and after how long.
async fn failure(entry: &Value) -> (bool, Option<Duration>) {
    let toolbox = toolbox(&[("DSRS_TOOLS_ALLOW", "127.0.0.1")]);
    let tool = http_tool(&toolbox, entry).unwrap();
    let ctx = Ctx::within(Arc::new(Models::new(None, None)), Duration::from_secs(600));
    match tool.call(&ctx, Fields::new()).await.unwrap_err() {
        ToolError::Unavailable { retry_after, .. } => (true, retry_after),
        _ => (false, None),
    }
}

#[tokio::test]
async fn a_request_is_repeated_only_if_that_does_no_harm() {
    let (address, _) = server().await;
    let entry = |method: &str, path: &str| json!({"name": "ask", "description": "Asks.", "method": method, "url": format!("http://{address}{path}")});
    let wait = Some(Duration::from_secs(7));
    assert_eq!(failure(&entry("GET", "/status/503")).await, (true, wait));
    assert_eq!(failure(&entry("POST", "/status/429")).await, (true, wait));
    assert_eq!(failure(&entry("GET", "/status/502")).await, (true, wait));
    assert_eq!(failure(&entry("POST", "/status/502")).await, (false, None));
    let uncertain = {
        let toolbox = toolbox(&[("DSRS_TOOLS_ALLOW", "127.0.0.1")]);
        let tool = http_tool(&toolbox, &entry("POST", "/status/502")).unwrap();
        let ctx = Ctx::within(Arc::new(Models::new(None, None)), Duration::from_secs(600));
        tool.call(&ctx, Fields::new()).await.unwrap_err()
    };
    assert!(matches!(uncertain, ToolError::Unanswered(_)), "it may have been done: {uncertain:?}");
    assert_eq!(failure(&entry("GET", "/status/404")).await, (false, None));
    let mut search = entry("POST", "/status/502");
    search["idempotent"] = json!(true);
    assert_eq!(failure(&search).await, (true, wait));
    for (method, repeats) in [("GET", true), ("POST", false)] {
        let mut late = entry(method, "/stall");
        late["timeout_ms"] = json!(20);
        assert_eq!(failure(&late).await.0, repeats, "{method}");
        let gone = json!({"name": "ask", "description": "Asks.", "method": method, "url": "http://127.0.0.1:9/"});
        // Nothing was sent.
        assert!(failure(&gone).await.0, "{method}");
    }
}

async fn status(Path(status): Path<u16>) -> Response {
    (StatusCode::from_u16(status).unwrap(), [("retry-after", "7")], "later").into_response()
}
