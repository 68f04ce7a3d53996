//! Runs that wait for a value. It is sent to another server than the one that accepted the run, after a fault.

use futures_util::future::join_all;
use serde_json::json;

use super::caller::Ask;
use super::runs::{self, Accepted};
use super::world::World;
use dsrs_test::found;

/// How the marks of these runs begin.
pub const WAITING: &str = "w-";

const APPROVALS: &str = "/v1/graphs/approval/runs";

/// A run and the value that it was sent.
#[derive(Clone, Debug)]
pub struct Signalled {
    pub run: Accepted,
    pub value: usize,
}

/// Starts the runs, spread over the faults, and sends each its value.
pub async fn waiting(world: &World) -> Vec<Signalled> {
    join_all((0..world.size.waiting).map(|number| one(world, number))).await
}

async fn one(world: &World, number: usize) -> Signalled {
    world.pace.turn(number, world.size.waiting).await;
    let run = runs::start(&world.caller, number, APPROVALS, &format!("{WAITING}{number}")).await;
    let path = format!("/v1/runs/{}", run.id);
    world.caller.until_status(number, &path, &["waiting"]).await;
    world.pace.next().await;
    let value = 1000 + number;
    signal(world, number + 1, &format!("{path}/signal"), value).await;
    Signalled { run, value }
}

/// Sends a value until it has arrived. A repeat whose first answer was lost finds that the node does not wait, or
/// that the run has ended.
async fn signal(world: &World, first: usize, path: &str, value: usize) {
    let mut number = first;
    found(&format!("a server to accept {path}"), async || {
        let body = Some(json!({"node": "approve", "value": value}));
        let reply = world.caller.send(number, &Ask { path, key: None, body }).await;
        number += 1;
        match reply? {
            reply if reply.is_success() => Some(()),
            reply if reply.status == 409 => {
                assert!(number > first + 1, "{path}: {reply:?}");
                Some(())
            }
            reply => {
                assert_eq!(reply.status, 503, "{path}: {reply:?}");
                None
            }
        }
    })
    .await;
}
