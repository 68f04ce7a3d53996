//! A cluster of three nodes of Restate, each a process on free ports of this machine, which are killed and started
//! again with their files. The program is the one of its npm package (`scripts/ensure-restate.sh`).

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use dsrs_test::{fixed_port, found, http_client, scratch};

pub const NODES: usize = 3;

/// A request that has no answer by then is repeated: a node that has lost its leader may never answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Ends all nodes when its input ends, which this process has open.
const GUARD: &str = r#"
read -r _
for pid in "$1"/*.pid; do kill -9 "$(cat "$pid")" 2>/dev/null; done
"#;

pub struct Restate {
    nodes: Vec<Node>,
    /// Dropped behind the nodes.
    directory: TempDir,
    _guard: ChildStdin,
}

struct Node {
    /// Between nodes, of clients, of operators.
    ports: [u16; 3],
    process: Mutex<Option<Child>>,
}

impl Restate {
    /// Starts and provisions a cluster, and waits until it answers.
    pub async fn start() -> Self {
        let directory = scratch();
        let node = |_| Node { ports: [(); 3].map(|()| fixed_port()), process: Mutex::new(None) };
        let nodes: Vec<Node> = (0..NODES).map(node).collect();
        let guard = guard(directory.path());
        let restate = Self { nodes, directory, _guard: guard };
        for number in 0..NODES {
            std::fs::write(restate.file(number, "toml"), restate.config(number)).unwrap();
        }
        let all: Vec<usize> = (0..NODES).collect();
        restate.restart(&all).await;
        restate
    }

    /// Where a node accepts work.
    pub fn ingress(&self, node: usize) -> SocketAddr {
        local(self.nodes[node].ports[1])
    }

    /// The address of a node for operators.
    pub fn admin(&self, node: usize) -> String {
        format!("http://{}", local(self.nodes[node].ports[2]))
    }

    /// Ends nodes as a power cut would.
    pub fn kill(&self, nodes: &[usize]) {
        for node in nodes {
            let mut process = self.nodes[*node].process.lock().unwrap().take().unwrap();
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Starts nodes that do not run, and waits until the cluster answers.
    pub async fn restart(&self, nodes: &[usize]) {
        for node in nodes {
            let process = self.spawn(*node);
            std::fs::write(self.file(*node, "pid"), process.id().to_string()).unwrap();
            *self.nodes[*node].process.lock().unwrap() = Some(process);
        }
        for node in nodes {
            self.until(*node, "/health", None).await;
        }
        // A query reads every partition, so each has a leader.
        self.count("state").await;
    }

    /// The rows of a table of the engine.
    pub async fn count(&self, table: &str) -> u64 {
        self.count_by(0, table).await
    }

    /// The same, as a node knows it.
    pub async fn count_by(&self, node: usize, table: &str) -> u64 {
        let query = json!({"query": format!("select count(*) as rows from {table}")});
        let answer = self.until(node, "/query", Some(query)).await;
        let rows = answer["rows"][0]["rows"].as_u64();
        rows.unwrap_or_else(|| panic!("{answer}"))
    }

    /// Repeats a request to operators' addresses until it is answered.
    async fn until(&self, node: usize, path: &str, body: Option<Value>) -> Value {
        let (client, url) = (http_client(), format!("{}{path}", self.admin(node)));
        let ask = async || {
            let request = match &body {
                Some(body) => client
                    .post(&url)
                    .header("content-type", "application/json")
                    .body(body.to_string()),
                None => client.get(&url),
            };
            let request = request.header("accept", "application/json").timeout(ANSWER);
            let answer = request.send().await.ok()?.error_for_status().ok()?;
            Some(serde_json::from_str(&answer.text().await.ok()?).unwrap_or_default())
        };
        found(&format!("an answer of {url}"), async || {
            let answer = ask().await;
            if answer.is_none() {
                self.assert_running();
            }
            answer
        })
        .await
    }

    /// A node that has ended by itself is a failure.
    fn assert_running(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            let mut process = node.process.lock().unwrap();
            let ended =
                process.as_mut().is_some_and(|process| process.try_wait().unwrap().is_some());
            assert!(!ended, "node {number} has ended: {}", self.log(number));
        }
    }

    fn spawn(&self, node: usize) -> Child {
        let log = std::fs::File::options().append(true).create(true).open(self.file(node, "log"));
        let log = log.unwrap();
        let mut command = Command::new(program());
        command.arg("-c").arg(self.file(node, "toml")).arg("--no-logo");
        command.env_clear().env("DO_NOT_TRACK", "1").env("RUST_LOG", "warn");
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().unwrap()
    }

    /// The last lines that a node has written.
    fn log(&self, node: usize) -> String {
        let log = std::fs::read_to_string(self.file(node, "log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn file(&self, node: usize, extension: &str) -> PathBuf {
        self.directory.path().join(format!("{node}.{extension}"))
    }

    fn config(&self, node: usize) -> String {
        let [port, ingress, admin] = self.nodes[node].ports;
        let addresses: Vec<String> =
            self.nodes.iter().map(|node| format!("\"http://{}\"", local(node.ports[0]))).collect();
        format!(
            r#"
cluster-name = "scale"
node-name = "n{node}"
auto-provision = {provisions}
default-num-partitions = 8
default-replication = 2
bind-ip = "127.0.0.1"
bind-port = {port}
listen-mode = "tcp"
advertised-host = "127.0.0.1"
rocksdb-total-memory-size = "256.0 MiB"
disable-telemetry = true
base-dir = "{base}"
[metadata-client]
addresses = [{addresses}]
[ingress]
bind-port = {ingress}
[admin]
bind-port = {admin}
disable-web-ui = true
[worker.invoker]
concurrent-invocations-limit = 2000
http2-keep-alive-interval = "2s"
http2-keep-alive-timeout = "5s"
"#,
            provisions = node == 0,
            base = self.file(node, "data").display(),
            addresses = addresses.join(", ")
        )
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        for node in &self.nodes {
            if let Some(mut process) = node.process.lock().unwrap().take() {
                let _ = process.kill();
                let _ = process.wait();
            }
        }
    }
}

pub fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn guard(directory: &Path) -> ChildStdin {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GUARD, "guard"]).arg(directory);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap().stdin.take().unwrap()
}

fn program() -> String {
    let program = std::env::var("RESTATE_SERVER").unwrap_or_default();
    assert!(!program.is_empty(), "RESTATE_SERVER names no program: see scripts/ensure-restate.sh");
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn three_engine_nodes_answer_again_after_one_and_all_were_killed() {
    let restate = Restate::start().await;
    restate.kill(&[1]);
    assert_eq!(restate.count("state").await, 0);
    restate.restart(&[1]).await;
    restate.kill(&[0, 1, 2]);
    restate.restart(&[0, 1, 2]).await;
    assert_eq!(restate.count("sys_invocation").await, 0);
}
