//! Runs that are cancelled while they call the LM, by a request to another server.

use std::time::Instant;

use super::caller::{Ask, Caller};
use super::runs::{self, Accepted};
use super::world::World;
use dsrs_test::found;

/// Cancels runs, spread over the faults. How long each took is printed.
pub async fn cancelled(world: &World) -> Vec<Accepted> {
    let mut cancelled = Vec::new();
    for number in 0..world.size.cancelled {
        world.pace.turn(number, world.size.cancelled).await;
        let run = runs::endless(world, number).await;
        let working = world.lm.last(&run.mark).await.server;
        let (asked, begun) = (Caller::other(working), Instant::now());
        until_cancelled(world, asked, &format!("/v1/runs/{}", run.id)).await;
        let (mark, took) = (&run.mark, begun.elapsed());
        world.log(&format!("server {asked} cancelled {mark} on server {working} in {took:?}"));
        cancelled.push(run);
    }
    cancelled
}

async fn until_cancelled(world: &World, first: usize, path: &str) {
    let (cancel, mut number) = (format!("{path}/cancel"), first);
    found(&format!("a server to cancel {path}"), async || {
        let ask = Ask { path: &cancel, key: None, body: Some(serde_json::json!({})) };
        let reply = world.caller.send(number, &ask).await;
        number += 1;
        let reply = reply?;
        if reply.status == 409 {
            assert_eq!(reply.code(), "run_finished", "{reply:?}");
            let run = world.caller.read(number, path).await;
            assert_eq!(run["status"], "cancelled", "{run}");
            return Some(());
        }
        assert!(reply.is_success() || reply.status == 503, "{path}: {reply:?}");
        (reply.is_success() && reply.body["status"] == "cancelled").then_some(())
    })
    .await;
}
