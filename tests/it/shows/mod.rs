//! What the whole is for, shown from outside: the built program as a process, real HTTP on both of
//! its sides, a real Postgres.

mod answer_ends;
mod background;
mod background_faults;
mod batches;
mod caller_tools;
mod computation;
mod concurrency;
mod constrained;
mod datasets;
mod divided_batches;
mod divided_optimizations;
mod dspy;
mod evaluations;
mod example_prompts;
mod hostile_bodies;
mod indexes;
mod key_faults;
mod keys;
mod leases;
mod lm_faults;
mod models;
mod nearest_demos;
mod optimizations;
mod real_lm;
mod recording;
mod restart;
mod schedules;
mod secrets;
mod shared_limits;
mod shutdown;
mod silent_connections;
mod strategies;
mod streams;
mod support_reply;
mod uploads;
mod usage;
mod webhooks;

use serde_json::{Value, json};

use dsrs_test::{FakeLm, ServerSetup, holds};

/// A server on this database, with this provider as `default`.
fn on(database: &str, lm: &FakeLm) -> ServerSetup {
    ServerSetup::new().database(database).env("OPENAI_BASE_URL", &lm.url)
}

/// A graph of one node, `ask`, whose settings come last.
fn one_node(name: &str, signature: &str, settings: Value) -> Value {
    let mut node = json!({"strategy": "predict", "signature": signature});
    node.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    json!({"name": name, "nodes": {"ask": node}})
}

/// Waits until a process has written something to its log.
async fn logged(setup: &ServerSetup, text: &str) {
    let has_text = || std::fs::read_to_string(setup.log()).is_ok_and(|log| log.contains(text));
    holds(text, has_text).await;
}

/// What a process logs when it has received SIGTERM.
const STOPPING: &str = "stopping";

/// Time for work in progress to end, however slow the machine is.
const PATIENT_SHUTDOWN: (&str, &str) = ("DSRS_SHUTDOWN_TIMEOUT", "300s");

/// A text member; a test that finds none fails.
fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("no text `{member}` in {value}"))
}
