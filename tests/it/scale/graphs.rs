//! The graphs of the workload. The prompt of every node names the node, and its input `run` names the work.

use serde_json::{Value, json};

/// Every node that calls the LM.
pub const NODES: [&str; 10] =
    ["top", "left", "right", "join", "draft", "send", "item", "first", "second", "optimized"];

/// Those that ask for a number.
pub const NUMBERS: [&str; 4] = ["top", "left", "right", "join"];

/// Those of jobs with many items.
pub const NODES_OF_ITEMS: [&str; 4] = ["item", "first", "second", "optimized"];

/// The predecessors of nodes that have some: before such a node calls the LM, they have checkpoints.
pub const AFTER: [(&str, &[&str]); 4] =
    [("left", &["top"]), ("right", &["top"]), ("join", &["left", "right"]), ("send", &["draft"])];

/// All graphs.
pub fn graphs() -> Vec<Value> {
    let alone =
        |name: &str| json!({"name": name, "nodes": {name: node(name, &[], ("answer", "str"))}});
    let alone = NODES_OF_ITEMS.map(alone);
    [diamond(), approval()].into_iter().chain(alone).collect()
}

fn diamond() -> Value {
    json!({
        "name": "diamond",
        "inputs": {"run": "str"},
        "nodes": {
            "top": node("top", &[], ("seed", "int")),
            // Computed again in every attempt, while nodes after it may be completed.
            "same": {"strategy": "add", "config": {"right": 0}},
            "left": node("left", &["seed"], ("l", "int")),
            "right": node("right", &["seed"], ("r", "int")),
            "join": node("join", &["l", "r"], ("done", "int"))
        },
        "edges": [
            {"from": "top.seed", "to": "same.left"}, {"from": "same.value", "to": "left.seed"},
            {"from": "top.seed", "to": "right.seed"},
            {"from": "left.l", "to": "join.l"}, {"from": "right.r", "to": "join.r"}
        ],
        "outputs": {"done": "join.done"}
    })
}

fn approval() -> Value {
    json!({
        "name": "approval",
        "inputs": {"run": "str"},
        "nodes": {
            "draft": node("draft", &[], ("draft", "str")),
            "approve": {"strategy": "await", "signature": "draft -> approved: int"},
            "send": node("send", &["approved"], ("sent", "str"))
        },
        "edges": [
            {"from": "draft.draft", "to": "approve.draft"},
            {"from": "approve.approved", "to": "send.approved"}
        ],
        "outputs": {"approved": "approve.approved", "sent": "send.sent"}
    })
}

/// A node that survives the failures of the model.
fn node(name: &str, inputs: &[&str], (output, kind): (&str, &str)) -> Value {
    let numbers = inputs.iter().map(|input| json!({"name": input, "type": "int"}));
    let inputs: Vec<_> =
        [json!({"name": "run", "type": "str"})].into_iter().chain(numbers).collect();
    let signature = json!({
        "instructions": format!("Node {name}."),
        "inputs": inputs, "outputs": [{"name": output, "type": kind}]
    });
    // A request that is not answered ends with the next fault, however late that is.
    json!({
        "strategy": "predict", "signature": signature, "retries": 10, "parse_retries": 5,
        "timeout_ms": 3_600_000
    })
}
