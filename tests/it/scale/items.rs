//! Work with many items: batches, and two evaluations over one dataset.

use serde_json::{Value, json};

use super::world::World;

/// The graphs that are evaluated.
pub const EVALUATED: [&str; 2] = ["first", "second"];

/// The dataset of the evaluations. Of three examples two are right.
pub fn dataset(examples: usize) -> Value {
    let example = |number| json!({"inputs": {"run": format!("mark-e-{number}")}, "expected": {"answer": "yes"}});
    json!({"name": "evaluated", "examples": (0..examples).map(example).collect::<Vec<_>>()})
}

/// Starts the batches, spread over the faults; returns their ids.
pub async fn batches(world: &World) -> Vec<String> {
    let mut accepted = Vec::new();
    for number in 0..world.size.batches {
        world.pace.turn(number, world.size.batches).await;
        let body = |attempt| {
            let item = |item| json!({"run": format!("mark-b-{number}-{attempt}-{item}")});
            json!({"items": (0..world.size.items).map(item).collect::<Vec<_>>()})
        };
        let (_, reply) = world.caller.start(number, "/v1/graphs/item/batches", body).await;
        accepted.push(reply.id());
    }
    accepted
}

/// Starts the evaluations, spread over the faults; returns their ids.
pub async fn evaluations(world: &World) -> Vec<String> {
    let mut accepted = Vec::new();
    for (number, graph) in EVALUATED.into_iter().enumerate() {
        world.pace.turn(number, EVALUATED.len()).await;
        let path = format!("/v1/graphs/{graph}/evaluations");
        let body = |_| json!({"dataset": "evaluated", "metric": "exact"});
        accepted.push(world.caller.start(number, &path, body).await.1.id());
    }
    accepted
}
