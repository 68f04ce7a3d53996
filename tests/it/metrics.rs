//! The metrics of a server, the page about them, the dashboard and the alert rules name the same things.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use dsrs::lm::{LmErrorKind, ScriptedAnswer, ScriptedLm};
use dsrs_app::metrics::{ALL_METRICS, MetricKind};
use regex::Regex;
use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, Does, FakeLm, Remote, ServerSetup, one_node, sections, test_database};

const PAGE: &str = include_str!("../../docs/operations/metrics.md");
const RULES: &str = include_str!("../../deploy/prometheus/dsrs-server.rules.yml");
const DASHBOARD: &str = include_str!("../../deploy/grafana/dsrs-server.json");

/// The names of metrics in a text, without the suffixes of histograms.
fn names(text: &str) -> BTreeSet<String> {
    let name = Regex::new(r"\b(dsrs|process)_[a-z_]+").unwrap();
    let histograms: BTreeSet<&str> = ALL_METRICS
        .iter()
        .filter(|metric| metric.kind == MetricKind::Histogram)
        .map(|metric| metric.name)
        .collect();
    let plain = |found: &str| {
        let parts = ["_bucket", "_sum", "_count"];
        let short = parts.iter().find_map(|part| found.strip_suffix(part));
        short.filter(|short| histograms.contains(short)).unwrap_or(found).to_owned()
    };
    name.find_iter(text).map(|found| plain(found.as_str())).collect()
}

fn known() -> BTreeSet<String> {
    ALL_METRICS.iter().map(|metric| metric.name.to_owned()).collect()
}

/// Runs promtool with this input; `None` if it is not installed. The rules are checked by scripts/alerts-check.sh.
fn promtool(arguments: &[&str], input: &str) -> Option<(bool, String)> {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn dashboard_and_alerts_use_metrics_of_the_catalogue_and_the_dashboard_shows_all_of_them() {
    let unknown: Vec<_> = names(RULES).difference(&known()).cloned().collect();
    assert!(unknown.is_empty(), "the rules use unknown metrics: {unknown:?}");
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let (mut shown, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have one id: {panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            shown.extend(names(target["expr"].as_str().unwrap()));
        }
    }
    assert_eq!(shown, known());
}

#[test]
fn the_page_explains_every_alert_and_no_other() {
    let alerts = Regex::new(r"(?m)^      - alert: (\w+)$").unwrap();
    let alerts: BTreeSet<&str> =
        alerts.captures_iter(RULES).map(|found| found.extract::<1>().1[0]).collect();
    let explained = Regex::new(r"(?m)^### (Dsrs\w+)$").unwrap();
    let explained: BTreeSet<&str> =
        explained.captures_iter(PAGE).map(|found| found.extract::<1>().1[0]).collect();
    assert_eq!(explained, alerts);
}

/// The types and the label names of the metrics in a text.
fn served(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut found: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    let label = Regex::new(r#"([a-z_]+)="(?:[^"\\]|\\.)*""#).unwrap();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').unwrap();
            found.entry(name.to_owned()).or_default().0 = kind.to_owned();
        } else if !line.starts_with('#') {
            let name = names(line.split(['{', ' ']).next().unwrap()).pop_first().unwrap();
            let labels = label.captures_iter(line).map(|found| found[1].to_owned());
            let labels = labels.filter(|name| name != "le");
            found.entry(name).or_default().1.extend(labels);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_renders_the_metrics_of_the_catalogue_with_their_types_and_labels() {
    let limited = ScriptedAnswer::fail(LmErrorKind::RateLimited, "later");
    let limited = limited.status(429).retry_after(Duration::ZERO);
    let lm = ScriptedLm::answering([limited, "[[ ## count ## ]]\n1,000".into()]);
    let api = Api::with_lm(lm).await;
    let graph = json!({"name": "count", "nodes": {"count": {
        "strategy": "predict", "signature": "question -> count: int", "retries": 2
    }}});
    api.post("/v1/graphs", graph).await.expect(201);
    api.post("/v1/graphs", one_node("other", "question -> answer")).await.expect(201);
    let asked = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/count/execute", &asked).await.expect(200).json();
    assert_eq!(run["outputs"]["count"], 1000);
    let feedback = format!("/v1/runs/{}/feedback", run["id"].as_str().unwrap());
    api.post(&feedback, json!({"name": "exact", "score": 1})).await.expect(201);
    let text = api.get("/metrics").await.expect(200).text;

    let served = served(&text);
    for (name, (kind, labels)) in &served {
        let known = ALL_METRICS.iter().find(|metric| metric.name == name);
        let known = known.unwrap_or_else(|| panic!("{name} is not in the catalogue"));
        assert_eq!(kind, known.kind.as_str(), "{name}");
        let declared: BTreeSet<String> = known.labels.iter().map(|name| name.to_string()).collect();
        assert_eq!(*labels, declared, "{name}");
    }
    // What only other systems have, and what did not happen here.
    let absent = ["process_cpu", "process_resident", "process_open", "dsrs_sandbox"];
    let silent = ["dsrs_lm_queue_duration_seconds", "dsrs_lm_time_to_first_token_seconds"];
    let missing: Vec<String> = known()
        .into_iter()
        .filter(|name| !served.contains_key(name) && !silent.contains(&name.as_str()))
        .filter(|name| !absent.iter().any(|start| name.starts_with(start)))
        .collect();
    assert!(missing.is_empty(), "not rendered: {missing:?}\n{text}");
    for line in [
        r#"dsrs_lm_requests_total{alias="default",graph="count"} 2"#,
        r#"dsrs_lm_retries_total{alias="default",graph="count"} 1"#,
        r#"dsrs_lm_errors_total{alias="default",graph="count",kind="rate_limited"} 1"#,
        r#"dsrs_parse_repairs_total{kind="number"} 1"#,
        r#"dsrs_runs_total{graph="count",outcome="succeeded"} 1"#,
        "dsrs_run_overhead_seconds_count 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    if let Some((accepted, problems)) = promtool(&["check", "metrics"], &text) {
        assert!(accepted, "{problems}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn background_work_evaluations_and_streams_are_counted_for_their_graph() {
    let api = Api::with_lm(ScriptedLm::always("[[ ## answer ## ]]\nParis")).await;
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let items = json!({"name": "cities", "examples": [
        {"id": "1", "inputs": {"question": "1"}, "expected": {"answer": "Paris"}},
        {"id": "2", "inputs": {"question": "2"}, "expected": {"answer": "Paris"}},
    ]});
    api.post("/v1/datasets", items).await.expect(201);
    let asked = json!({"inputs": {"question": "?"}});
    let run = api.post("/v1/graphs/qa/runs", &asked).await.expect(202).json();
    let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
    api.until(&path, |run| run.json()["status"] == "succeeded").await;
    let evaluation = json!({"dataset": "cities", "metric": "exact"});
    let started = api.post("/v1/graphs/qa/evaluations", evaluation).await.expect(202).json();
    let path = format!("/v1/evaluations/{}", started["id"].as_str().unwrap());
    api.until(&path, |found| found.json()["status"] == "succeeded").await;
    let events = [("accept", "text/event-stream")];
    let path = "/v1/graphs/qa/execute";
    api.send(Method::POST, path, &events, Some(asked.to_string())).await.expect(200);
    let text = api.get("/metrics").await.expect(200).text;
    for line in [
        r#"dsrs_lm_requests_total{alias="default",graph="qa"} 4"#,
        r#"dsrs_lm_time_to_first_token_seconds_count{alias="default",graph="qa"} "#,
        r#"dsrs_runs_total{graph="qa",outcome="succeeded"} 2"#,
        r#"dsrs_queue_jobs{kind="evaluation"} 0"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// A chat completion whose input was read from a cache and whose output is mostly reasoning.
fn reasoned(text: &str) -> Does {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 40},
    });
    let message = json!({"role": "assistant", "content": sections([("answer", text)])});
    let answer = json!({
        "model": "small-1", "usage": usage, "choices": [{"message": message, "finish_reason": "stop"}],
    });
    Does::Answer(200, vec![], answer.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn fallbacks_tokens_cost_and_cached_replies_of_a_server_are_counted_by_alias() {
    let down = FakeLm::doing([Does::Answer(503, vec![], "{}".to_owned())]).await;
    let good = FakeLm::doing([reasoned("42")]).await;
    let setup = ServerSetup::new()
        .database(&test_database().await)
        .env("DSRS_MODELS__BIG__MODEL", "big-1")
        .env("DSRS_MODELS__BIG__BASE_URL", &down.url)
        .env("DSRS_MODELS__BIG__FALLBACK", "small")
        .env("DSRS_MODELS__SMALL__MODEL", "small-1")
        .env("DSRS_MODELS__SMALL__BASE_URL", &good.url)
        .env("DSRS_MODELS__SMALL__CACHE_BYTES", "1MiB")
        .env("DSRS_MODELS__SMALL__INPUT_PRICE", "1000000")
        .env("DSRS_MODELS__SMALL__OUTPUT_PRICE", "0")
        .env("DSRS_DEFAULT_MODEL", "big");
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let asked = json!({"inputs": {"question": "?"}});
    for _ in 0..2 {
        api.post("/v1/graphs/qa/execute", &asked).await.expect(200);
    }
    // A heartbeat may be late on a busy machine.
    let confirmed = |metrics: &Answer| metrics.text.contains("dsrs_changes_confirmed 1");
    let text = api.until("/metrics", confirmed).await.expect(200).text;
    for line in [
        r#"dsrs_lm_errors_total{alias="big",graph="qa",kind="provider"} 2"#,
        r#"dsrs_lm_requests_total{alias="big",graph="qa"} 2"#,
        r#"dsrs_lm_requests_total{alias="small",graph="qa"} 1"#,
        r#"dsrs_lm_fallbacks_total{alias="small",graph="qa"} 1"#,
        r#"dsrs_lm_fallbacks_total{alias="big",graph="qa"} 0"#,
        r#"dsrs_lm_stored_replies_total{alias="small",graph="qa"} 1"#,
        r#"dsrs_lm_tokens_total{alias="small",graph="qa",type="input"} 100"#,
        r#"dsrs_lm_tokens_total{alias="small",graph="qa",type="cached"} 60"#,
        r#"dsrs_lm_tokens_total{alias="small",graph="qa",type="output"} 50"#,
        r#"dsrs_lm_tokens_total{alias="small",graph="qa",type="reasoning"} 40"#,
        r#"dsrs_lm_cost_total{alias="small",graph="qa"} 100"#,
        concat!(r#"dsrs_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
        r#"dsrs_database_connections_max{pool="requests"} "#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let unlike_routes = text.lines().filter(|line| line.contains("/v1/graphs/qa"));
    assert_eq!(unlike_routes.count(), 0, "routes, not paths");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_background_run_is_counted_once_by_its_outcome() {
    let api = Api::with_settings(&[("DSRS_WORKER__CONCURRENCY", "1")]).await;
    let stuck =
        json!({"name": "stuck", "nodes": {"ask": {"strategy": "await", "signature": "q -> a"}}});
    api.post("/v1/graphs", stuck).await.expect(201);
    api.post("/v1/graphs", one_node("fails", "question -> nothing: int")).await.expect(201);
    let asked = json!({"inputs": {"question": "?"}});
    let failing = api.post("/v1/graphs/fails/runs", &asked).await.expect(202).json();
    let path = format!("/v1/runs/{}", failing["id"].as_str().unwrap());
    api.until(&path, |run| run.json()["status"] == "failed").await;
    let parked = api.post("/v1/graphs/stuck/runs", json!({"inputs": {"q": "?"}})).await;
    let path = format!("/v1/runs/{}", parked.expect(202).json()["id"].as_str().unwrap());
    api.until(&path, |run| run.json()["status"] == "waiting").await;
    api.post(&format!("{path}/cancel"), json!({})).await.expect(200);
    let counted = [
        r#"dsrs_runs_total{graph="fails",outcome="failed"} 1"#,
        r#"dsrs_runs_total{graph="stuck",outcome="cancelled"} 1"#,
        r#"dsrs_runs_total{graph="stuck",outcome="waiting"} 0"#,
        r#"dsrs_run_duration_seconds_count{graph="fails"} 1"#,
    ];
    // The record is stored before its run is counted.
    let all = |metrics: &Answer| counted.iter().all(|line| metrics.text.contains(line));
    api.until("/metrics", all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_answers_monitoring_alone_and_counts_what_it_does() {
    let lm = FakeLm::doing([Does::Say(sections([("answer", "yes")]))]).await;
    let database = test_database().await;
    let setup = || {
        let setup = ServerSetup::new().database(&database);
        let setup = setup.env("DSRS_MODELS__FAST__MODEL", "small");
        setup.env("DSRS_MODELS__FAST__BASE_URL", &lm.url)
    };
    let front = setup().env("DSRS_WORKER_ENABLED", "false");
    let serving = front.start();
    let api = Remote::new(&serving.url);
    let working = setup().env("DSRS_MONITOR_BIND", "127.0.0.1:0").worker();
    let worker = working.start();
    let shown = worker.block.lines().find_map(|line| line.trim().strip_prefix("monitor"));
    let address = shown.unwrap().trim().trim_end_matches("/metrics");
    let monitor = Remote::new(address);

    api.post("/v1/graphs", one_node("qa", "question -> answer")).await.expect(201);
    let body = json!({"inputs": {"question": "?"}});
    let id = api.post("/v1/graphs/qa/runs", body).await.expect(202).json()["id"].clone();
    assert_eq!(api.ended(id.as_str().unwrap()).await["status"], "succeeded");
    let text = monitor.get("/metrics").await.expect(200).text;
    let counted = r#"dsrs_runs_total{graph="qa",outcome="succeeded"} 1"#;
    assert!(text.contains(counted), "{text}");
    assert!(
        !api.get("/metrics").await.expect(200).text.contains(counted),
        "the server ran nothing"
    );

    assert_eq!(monitor.get("/healthz").await.expect(200).json()["status"], "ok");
    assert_eq!(monitor.get("/readyz").await.expect(200).json()["status"], "ready");
    assert_eq!(monitor.get("/v1/graphs").await.expect(404).code(), "not_found");
    let body = json!({});
    assert_eq!(monitor.post("/metrics", body).await.expect(405).code(), "method_not_allowed");
    let foreign = [("host", "evil.example")];
    let refused = monitor.send(Method::GET, "/metrics", &foreign, None).await.expect(403);
    assert_eq!(refused.code(), "forbidden_host");
}
