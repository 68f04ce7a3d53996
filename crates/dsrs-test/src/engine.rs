//! The engine that the tests of background work run on: the database alone, or, if `DSRS_TEST_ENGINE` is
//! `restate`, one node of Restate for the whole run of this binary. Its servers have services of their own in it,
//! by their database, and all servers of a database share one address.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use dsrs_restate::{EngineEndpoint, Invocation, ServiceNames, Unfinished, Worker, listen};
use dsrs_shutdown::Shutdown;
use futures_util::future::BoxFuture;

use super::cluster::scratch_dir;
use super::{PATIENCE, fixed_port, http_client};

/// The settings of a server on this database, with the engine that the tests run on.
pub fn engine_settings(database: &str) -> Vec<(String, String)> {
    match std::env::var("DSRS_TEST_ENGINE").as_deref() {
        Err(_) | Ok("" | "postgres") => Vec::new(),
        Ok("restate") => restate_settings(database),
        Ok(other) => panic!("DSRS_TEST_ENGINE={other}: postgres or restate"),
    }
}

/// The settings of a server on this database, with Restate as its engine.
pub fn restate_settings(database: &str) -> Vec<(String, String)> {
    let node = restate_node();
    let (name, port) = place_of(node, database);
    [
        ("DSRS_ENGINE", "restate".to_owned()),
        ("DSRS_RESTATE_INGRESS", node.ingress.clone()),
        ("DSRS_RESTATE_ADMIN", node.admin.clone()),
        ("DSRS_RESTATE_BIND", format!("127.0.0.1:{port}")),
        ("DSRS_RESTATE_URL", format!("http://127.0.0.1:{port}")),
        ("DSRS_RESTATE_PREFIX", name),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text))
    .collect()
}

/// Registers the workers of a database before any of them listens: what answers the engine meanwhile makes no
/// attempt.
fn register_workers(node: &Node, name: &str, port: u16) {
    let (admin, name) = (node.admin.clone(), name.to_owned());
    let registering = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = listen(([127, 0, 0, 1], port).into()).unwrap();
            let endpoint = EngineEndpoint {
                worker: Arc::new(NoWorker),
                names: ServiceNames::new(&name),
                key: None,
                shutdown: Shutdown::new(),
            };
            let body = format!(r#"{{"uri":"http://127.0.0.1:{port}","force":true}}"#);
            let request = http_client().post(format!("{admin}/deployments")).body(body);
            let request = request.header("content-type", "application/json").send();
            tokio::select! {
                () = endpoint.serve(listener) => {}
                answer = request => {
                    let answer = answer.unwrap();
                    let status = answer.status();
                    assert!(status.is_success(), "{}", answer.text().await.unwrap());
                }
            }
        });
    });
    registering.join().unwrap();
}

struct NoWorker;

impl Worker for NoWorker {
    fn attempt(&self, _: Invocation) -> BoxFuture<'static, Result<(), Unfinished>> {
        Box::pin(async { Err(Unfinished::Elsewhere("this is no worker")) })
    }
}

/// The prefix of the services of a database, and the port of its workers.
fn place_of(node: &Node, database: &str) -> (String, u16) {
    static PORTS: Mutex<Option<HashMap<String, u16>>> = Mutex::new(None);
    // The databases of other clusters may have the same names.
    let mut hasher = DefaultHasher::new();
    database.hash(&mut hasher);
    let name = format!("test-{:x}", hasher.finish());
    let mut ports = PORTS.lock().unwrap();
    let ports = ports.get_or_insert_default();
    let port = *ports.entry(name.clone()).or_insert_with(|| {
        let port = fixed_port();
        register_workers(node, &name, port);
        port
    });
    (name, port)
}

/// A node of Restate.
pub struct Node {
    pub ingress: String,
    pub admin: String,
    _guard: Child,
}

/// The node of this run.
pub fn restate_node() -> &'static Node {
    static NODE: OnceLock<Node> = OnceLock::new();
    NODE.get_or_init(start)
}

/// Runs the engine and ends it with the input.
const GUARD: &str = r#"
"$1" -c "$2/restate.toml" --no-logo >"$2/log" 2>&1 &
read -r _
kill -KILL $!
rm -rf "$2"
"#;

fn start() -> Node {
    let program = std::env::var("RESTATE_SERVER").expect(
        "RESTATE_SERVER names the program of the engine: scripts/ensure-restate.sh prints it",
    );
    let directory = scratch_dir().join(format!("restate-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let [ingress, admin, peers] = [fixed_port(), fixed_port(), fixed_port()];
    std::fs::write(directory.join("restate.toml"), settings(&directory, ingress, admin, peers))
        .unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GUARD, "guard", &program]).arg(&directory);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let guard = command.spawn().unwrap();
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    wait_for(ingress, &directory);
    Node { ingress: url(ingress), admin: url(admin), _guard: guard }
}

fn settings(directory: &Path, ingress: u16, admin: u16, peers: u16) -> String {
    format!(
        r#"
cluster-name = "tests"
node-name = "one"
auto-provision = true
default-num-partitions = 4
bind-ip = "127.0.0.1"
bind-port = {peers}
listen-mode = "tcp"
advertised-host = "127.0.0.1"
rocksdb-total-memory-size = "256.0 MiB"
disable-telemetry = true
base-dir = "{}"
[ingress]
bind-port = {ingress}
[admin]
bind-port = {admin}
disable-web-ui = true
[worker.invoker]
concurrent-invocations-limit = 4000
http2-keep-alive-interval = "2s"
http2-keep-alive-timeout = "2s"
"#,
        directory.join("data").display()
    )
}

fn wait_for(port: u16, directory: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !is_healthy(port) {
        let log = || std::fs::read_to_string(directory.join("log")).unwrap_or_default();
        assert!(Instant::now() < deadline, "the engine does not start: {}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn is_healthy(port: u16) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = "GET /restate/health HTTP/1.1\r\nhost: engine\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read_to_string(&mut answer);
    answer.starts_with("HTTP/1.1 200")
}
