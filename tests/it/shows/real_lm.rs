//! A real language model, if its package is installed: checks that its answer is valid, never its
//! content.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::text;
use dsrs_test::{Remote, ServerSetup, scratch, test_database};

fn script(words: &[&str]) -> std::process::Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/real-lm.sh");
    let owner = std::process::id().to_string();
    Command::new(path).args(words).env("REAL_LM_OWNER", owner).output().unwrap()
}

fn example(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The running model server of a test.
struct RealLm {
    url: String,
    directory: tempfile::TempDir,
}

impl RealLm {
    fn start() -> Self {
        let directory = scratch();
        let started = script(&["start", directory.path().to_str().unwrap()]);
        let url = String::from_utf8(started.stdout).unwrap().trim().to_owned();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Self { url, directory }
    }
}

impl Drop for RealLm {
    fn drop(&mut self) {
        script(&["stop", self.directory.path().to_str().unwrap()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_returns_a_valid_answer() {
    if !script(&["installed"]).status.success() {
        // Past the test harness, which hides what a passing test prints.
        let message = "\nSKIPPED: a_real_model_returns_a_valid_answer: the small real model is not \
                    installed; `scripts/real-lm.sh install` gets it\n\n";
        std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes()).unwrap();
        return;
    }
    let lm = RealLm::start();
    let setup = ServerSetup::new().database(&test_database().await);
    let server = setup.env("OPENAI_BASE_URL", &lm.url).start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", example("graphs/capital.json")).await.expect(201);
    api.put("/v1/graphs/capital/state", example("states/capital.json")).await.expect(200);
    let body = json!({"inputs": {"country": "France"}, "trace": true});
    let run = api.post("/v1/graphs/capital/execute", body).await.expect(200).json();
    assert_eq!(text(&run, "status"), "succeeded");
    assert!(!text(&run["outputs"], "capital").trim().is_empty(), "{run}");
    assert!(run["usage"]["output_tokens"].as_u64().unwrap() > 0, "{run}");
    let recorded = api.get(&format!("/v1/runs/{}", text(&run, "id"))).await.expect(200).json();
    let spans = recorded["trace"]["spans"].as_array().unwrap();
    let lm_span = spans.iter().find(|span| span["kind"] == "lm").unwrap();
    assert!(matches!(lm_span["raw"], Value::String(_)), "{lm_span}");
}
