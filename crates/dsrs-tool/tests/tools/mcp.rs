//! The tools of MCP servers: the example server of the official SDK as a child process and over HTTP.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use dsrs::predict::Tool;
use dsrs_config::{Config, Environment, Flags};
use dsrs_tool::ToolSource;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::call;
use dsrs_test::{PATIENCE, found, holds, mcp_example, scratch};

/// The tools that a settings file allows, with connected MCP servers while the test runs. `EXAMPLE`
/// is replaced by the path of the example.
async fn connected(file: &str) -> Arc<ToolSource> {
    let example = mcp_example().await.display().to_string();
    let directory = scratch();
    let path = directory.path().join("dsrs.toml");
    std::fs::write(&path, file.replace("EXAMPLE", &example)).unwrap();
    let flags = Flags { config: Some(path), ..Flags::default() };
    let env = Environment::from_iter([("PATH", "/usr/bin:/bin"), ("OPENAI_API_KEY", "hush-8")]);
    let config = Config::load(&flags, &env).unwrap_or_else(|error| panic!("{error}"));
    let toolbox = Arc::new(ToolSource::new(&config.tools));
    let maintained = toolbox.clone();
    tokio::spawn(async move { maintained.maintain().await });
    toolbox.attempted(PATIENCE).await;
    toolbox
}

/// The same, once a server is connected: a slow machine needs more than one try.
async fn connected_to(server: &str, file: &str) -> Arc<ToolSource> {
    let toolbox = connected(file).await;
    holds("the tools", || toolbox.mcp(server).is_ok()).await;
    toolbox
}

/// One tool of a server.
fn tool(toolbox: &ToolSource, server: &str, name: &str) -> Arc<dyn Tool> {
    let tools = toolbox.mcp(server).unwrap_or_else(|error| panic!("{error}"));
    tools.into_iter().find(|tool| &*tool.spec().name == name).unwrap()
}

/// What every connection to the example is good for.
async fn parcels_are_tracked(toolbox: &ToolSource) {
    let names = toolbox.mcp("office").unwrap();
    let mut names: Vec<_> = names.iter().map(|tool| tool.spec().name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["close", "distance", "span", "track", "variables", "wait"]);
    let track = tool(toolbox, "office", "track");
    assert_eq!(&*track.spec().description, "Where a parcel is.");
    let parameters: Value = serde_json::from_str(track.spec().parameters.get()).unwrap();
    assert_eq!(parameters["properties"]["number"]["description"], "its number, such as `P-7`");
    let found = call(&track, &json!({"number": "P-7"})).await;
    assert_eq!(found, Ok(json!({"number": "P-7", "town": "Turku"})));
    let lost = call(&track, &json!({"number": "7"})).await;
    assert_eq!(lost, Err("`7` is no number of a parcel; they begin with P-".to_owned()));
    let distance = tool(toolbox, "office", "distance");
    let apart = call(&distance, &json!({"from_km": 5, "to_km": 2})).await;
    assert_eq!(apart, Ok(json!("3 km")));
    let outside = call(&tool(toolbox, "office", "span"), &json!({})).await;
    assert_eq!(outside, Ok(json!("none")), "only a run in a trace has a span");
    let unfit = call(&distance, &json!({"from_km": "five"})).await.unwrap_err();
    assert!(unfit.contains("invalid type: string \"five\""), "{unfit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_process_is_started_called_and_restarted() {
    let toolbox = connected_to(
        "office",
        "[secrets.PARCELS]\nvalue = 'hush-7'\nmcp = ['office']\n[mcp.office]\ncommand = ['EXAMPLE']\n\
         env = { OFFICE_TOKEN = 'key ${PARCELS}' }\ntimeout_ms = 30000",
    )
    .await;
    parcels_are_tracked(&toolbox).await;
    // Of our own variables it has what programs need, and no key of ours.
    let variables = call(&tool(&toolbox, "office", "variables"), &json!({})).await;
    assert_eq!(variables, Ok(json!("OFFICE_TOKEN PATH")));
    let track = tool(&toolbox, "office", "track");
    let closed = call(&tool(&toolbox, "office", "close"), &json!({})).await.unwrap_err();
    assert!(closed.starts_with("the MCP server `office` did not respond"), "{closed}");
    let again = call(&track, &json!({"number": "P-8"})).await;
    assert_eq!(again, Ok(json!({"number": "P-8", "town": "Turku"})));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_call_times_out_and_the_server_continues() {
    let settings = "[mcp.office]\ncommand = ['EXAMPLE']\ntimeout_ms = 500";
    let toolbox = connected_to("office", settings).await;
    let slow = call(&tool(&toolbox, "office", "wait"), &json!({})).await;
    let expected = "the MCP server `office` did not respond within 500 ms (its timeout_ms)";
    assert_eq!(slow, Err(expected.to_owned()));
    // On a slow machine other calls may need longer, too.
    let track = tool(&toolbox, "office", "track");
    let answered = found("an answer", async || call(&track, &json!({"number": "P-7"})).await.ok());
    assert_eq!(answered.await, json!({"number": "P-7", "town": "Turku"}));
}

/// A process that is killed at the end of the test.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_http_receives_its_headers() {
    let example = mcp_example().await;
    let mut served = Command::new(example);
    served.args(["http", "hush-7"]).stdout(Stdio::piped());
    let mut served = KilledOnDrop(served.spawn().unwrap());
    let mut url = String::new();
    BufReader::new(served.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim();
    let settings = format!(
        "[secrets.PARCELS]\nvalue = 'hush-7'\nmcp = ['office']\n[mcp.office]\nurl = '{url}'\n\
         headers = {{ Authorization = 'Bearer ${{PARCELS}}' }}\n[mcp.stranger]\nurl = '{url}'"
    );
    let toolbox = connected_to("office", &settings).await;
    parcels_are_tracked(&toolbox).await;
    let refused = toolbox.mcp("stranger").err().unwrap();
    assert!(refused.starts_with("the MCP server `stranger` cannot be reached: "), "{refused}");
    assert!(!refused.contains("hush") && !refused.contains(url), "{refused}");
}

/// An old server over HTTP, and the methods of the messages that it has read.
async fn old_server(refuses: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    let read = Arc::new(Mutex::new(Vec::new()));
    let log = read.clone();
    let answer = move |Json(message): Json<Value>| async move {
        let method = message["method"].as_str().unwrap().to_owned();
        log.lock().unwrap().push(method.clone());
        let result = match method.as_str() {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"}}),
            "tools/list" => json!({"tools": [{"name": "old", "inputSchema": {"type": "object"}}]}),
            "server/discover" if refuses => {
                return (StatusCode::BAD_REQUEST, "there is no session").into_response();
            }
            "server/discover" => std::future::pending().await,
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, read)
}

#[tokio::test(flavor = "multi_thread")]
async fn old_servers_over_http_connect_whether_they_refuse_or_ignore_the_newest_handshake() {
    let ((refusing, refused), (ignoring, ignored)) =
        tokio::join!(old_server(true), old_server(false));
    let settings =
        format!("[mcp.refusing]\nurl = '{refusing}'\n[mcp.ignoring]\nurl = '{ignoring}'");
    let toolbox = connected_to("refusing", &settings).await;
    holds("the tools", || toolbox.mcp("ignoring").is_ok()).await;
    for read in [refused, ignored] {
        let read = read.lock().unwrap().clone();
        assert_eq!(read[..2], ["server/discover", "initialize"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_server_is_named() {
    let toolbox = connected("[mcp.gone]\ncommand = ['/nowhere/at-all']").await;
    let gone = toolbox.mcp("gone").err().unwrap();
    assert_eq!(
        gone,
        "the MCP server `gone` cannot be reached: `/nowhere/at-all` cannot be started: No such \
         file or directory (os error 2)"
    );
    let unknown = toolbox.mcp("gon").err().unwrap();
    assert_eq!(unknown, "there is no MCP server `gon`; configured are gone");
}

const ODD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/odd_server.py");

/// A server of the older protocol, with the methods of the messages that each of its processes has read.
async fn odd(seconds: &str) -> (Arc<ToolSource>, impl Fn() -> Vec<Vec<String>>) {
    let log = scratch();
    let path = log.path().join("read");
    let command = format!("['python3', '{ODD}', '{seconds}', '{}']", path.display());
    let settings = format!("[mcp.odd]\ncommand = {command}\nprefix = 'odd_'\ntimeout_ms = 60000");
    let toolbox = connected_to("odd", &settings).await;
    let read = move || {
        let _directory = &log;
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut processes: IndexMap<String, Vec<String>> = IndexMap::new();
        for (process, method) in text.lines().filter_map(|line| line.split_once(' ')) {
            processes.entry(process.to_owned()).or_default().push(method.to_owned());
        }
        processes.into_values().collect()
    };
    (toolbox, read)
}

/// A server that a handshake finds asleep reads only one when it wakes.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_slow_to_start_reads_one_handshake() {
    let (_toolbox, read) = odd("13").await;
    let processes = read();
    let connected = processes.last().unwrap();
    assert_eq!(connected[0], "initialize", "{processes:?}");
    assert!(!connected.contains(&"server/discover".to_owned()), "{processes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_servers_leave_out_or_repeat_does_not_hold_them_up() {
    let (toolbox, _read) = odd("0").await;
    let tools = toolbox.mcp("odd").unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.to_string()).collect();
    assert_eq!(names, ["odd_bare", "odd_tagged"]);
    let schema =
        |tool: &Arc<dyn Tool>| serde_json::from_str::<Value>(tool.spec().parameters.get()).unwrap();
    assert_eq!(schema(&tools[0]), json!({"type": "object", "properties": {}}));
    assert_eq!(schema(&tools[1])["properties"]["tags"], json!({"type": "array", "items": {}}));
    let failed = call(&tools[0], &json!({})).await;
    assert_eq!(failed, Err(r#"{"reason":"no such parcel"}"#.to_owned()));
}
