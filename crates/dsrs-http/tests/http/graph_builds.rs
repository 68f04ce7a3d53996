//! A definition is built once, however many nodes it has and whatever stored graphs it refers to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsrs::problem::{At, Problems};
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{BuildEnv, DynModule, StrategyFactory, StrategyRegistration, registry};
use dsrs::value::Payload;
use serde_json::{Map, Value, json};

use crate::Api;

const NODES: usize = 1_000;

/// The strategy of this file, which the server does not have.
pub(crate) const COUNTED: &str = "counted_predict";

static BUILT: AtomicUsize = AtomicUsize::new(0);

/// `predict`, which counts its modules.
struct CountedPredict;

dsrs::inventory::submit! { StrategyRegistration(&CountedPredict) }

impl StrategyFactory for CountedPredict {
    fn name(&self) -> &'static str {
        COUNTED
    }

    fn description(&self) -> &'static str {
        "As `predict`; counts how many modules are built."
    }

    fn config_schema(&self) -> Payload {
        Payload::from_json(r#"{"type": "object", "additionalProperties": false}"#).unwrap()
    }

    fn predictors(&self) -> &[&'static str] {
        &[""]
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        _: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        BUILT.fetch_add(1, Ordering::Relaxed);
        registry::create(env, "predict", base, None, at)
    }
}

/// A graph of `nodes` independent nodes that count their builds.
fn wide(name: &str, nodes: usize) -> Value {
    let node = json!({"strategy": COUNTED, "signature": "text -> answer"});
    let nodes: Map<String, Value> =
        (0..nodes).map(|number| (format!("n{number}"), node.clone())).collect();
    json!({"name": name, "nodes": nodes, "outputs": {"answer": "n0.answer"}})
}

// One test, because all tests of the process share the counter.
#[tokio::test(flavor = "multi_thread")]
async fn a_graph_of_a_thousand_nodes_is_built_once() {
    let api = Api::new().await;
    let built_by = |before: usize| BUILT.load(Ordering::Relaxed) - before;

    api.post("/v1/graphs", wide("wide", NODES)).await.expect(201);
    assert_eq!(built_by(0), NODES, "POST builds each node once");

    let before = built_by(0);
    api.post("/v1/graphs/validate", wide("wide", NODES)).await.expect(200);
    assert_eq!(built_by(before), NODES, "so does the check without storing");

    // A stored graph within another is built once too, though its signature is read first.
    api.post("/v1/graphs", wide("inner", 3)).await.expect(201);
    let mut outer = wide("outer", 2);
    outer["nodes"]["inside"] = json!({"strategy": "graph", "config": {"graph": "inner"}});
    let before = built_by(0);
    api.post("/v1/graphs", outer).await.expect(201);
    assert_eq!(built_by(before), 5, "two nodes of its own and three within");
}
