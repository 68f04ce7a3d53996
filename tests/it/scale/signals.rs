//! Runs that wait for a value. It is sent to another server than the one that accepted the run, after a fault.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::caller::Ask;
use super::runs::{self, Accepted};
use super::world::World;

/// How the marks of these runs begin.
pub const WAITING: &str = "w-";

const APPROVALS: &str = "/v1/graphs/approval/runs";

/// How often a signal is sent.
const TRIES: usize = 600;

/// A run and the value that it was sent.
#[derive(Clone, Debug)]
pub struct Signalled {
    pub run: Accepted,
    pub value: usize,
}

/// Starts the runs, spread over the faults, and sends each its value.
pub async fn waiting(world: &Arc<World>) -> Vec<Signalled> {
    let mut tasks = Vec::new();
    for number in 0..world.size.waiting {
        world.pace.turn(number, world.size.waiting).await;
        tasks.push(tokio::spawn(one(world.clone(), number)));
    }
    let mut signalled = Vec::new();
    for task in tasks {
        signalled.push(task.await.unwrap());
    }
    signalled
}

async fn one(world: Arc<World>, number: usize) -> Signalled {
    let run = runs::start(&world.caller, number, APPROVALS, &format!("{WAITING}{number}")).await;
    let path = format!("/v1/runs/{}", run.id);
    world.caller.until_status(number, &path, &["waiting"]).await;
    world.pace.next().await;
    let value = 1000 + number;
    signal(&world, number + 1, &format!("{path}/signal"), value).await;
    Signalled { run, value }
}

/// Sends a value until it has arrived. A repeat whose first answer was lost finds that the node does not wait, or
/// that the run has ended.
async fn signal(world: &World, first: usize, path: &str, value: usize) {
    let mut is_repeat = false;
    for number in first..first + TRIES {
        let body = Some(json!({"node": "approve", "value": value}));
        match world.caller.send(number, &Ask { path, key: None, body }).await {
            Some(reply) if reply.is_success() => return,
            Some(reply) if reply.status == 409 => {
                assert!(is_repeat, "{path}: {reply:?}");
                return;
            }
            Some(reply) => assert_eq!(reply.status, 503, "{path}: {reply:?}"),
            None => {}
        }
        is_repeat = true;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no server accepts {path}");
}
