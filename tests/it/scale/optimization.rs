//! An optimization: its rollouts are shared by the servers, and its budget is counted by what the model was asked.

use serde_json::{Value, json};

use super::world::World;

/// Its trainset.
pub fn dataset(examples: usize) -> Value {
    let example = |number: usize| {
        json!({
            "inputs": {"run": format!("mark-o-{number}")},
            "expected": {"answer": format!("a{number}")}
        })
    };
    json!({"name": "optimized", "examples": (0..examples).map(example).collect::<Vec<_>>()})
}

/// Starts it; returns its id.
pub async fn optimization(world: &World) -> String {
    let body = |_| {
        json!({
            "optimizer": "bootstrap_random_search", "config": {"num_candidate_programs": 1},
            "trainset": "optimized", "metric": "exact", "seed": 5, "activate": "never",
            "budget": {"lm_calls": 20_000}
        })
    };
    world.caller.start(0, "/v1/graphs/optimized/optimizations", body).await.1.id()
}
