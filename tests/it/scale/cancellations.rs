//! Runs that are cancelled while they ask the model, by a request to another server, and how long that takes.

use std::time::{Duration, Instant};

use super::caller::{Ask, Caller};
use super::faults::Faults;
use super::runs::{self, Accepted};
use super::world::World;

/// How often one run is looked at.
const LOOKS: usize = 3000;

/// A cancellation that takes longer is printed.
const SLOW: Duration = Duration::from_millis(600);

/// A cancelled run.
#[derive(Clone, Debug)]
pub struct Cancelled {
    pub run: Accepted,
    /// From the request until its status was `cancelled`.
    pub took: Duration,
    /// Whether a fault concerned it.
    pub is_excused: bool,
}

/// Cancels runs, spread over the faults, until enough of them concerned no fault.
pub async fn cancelled(world: &World) -> Vec<Cancelled> {
    let mut cancelled: Vec<Cancelled> = Vec::new();
    let mut measured = 0;
    while measured < world.size.cancelled {
        world.pace.turn(measured, world.size.cancelled).await;
        let one = one(world, cancelled.len()).await;
        measured += usize::from(!one.is_excused);
        cancelled.push(one);
    }
    cancelled
}

async fn one(world: &World, number: usize) -> Cancelled {
    let run = runs::endless(world, number).await;
    let request = loop {
        match world.lm.last(&run.mark) {
            Some(request) => break request,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let asked = Caller::other(request.server);
    let (path, begun) = (format!("/v1/runs/{}", run.id), Instant::now());
    let took = until_cancelled(world, asked, &path, begun).await;
    // Another server may have continued the run since.
    let last = world.lm.last(&run.mark).unwrap();
    let is_excused =
        last.server != request.server || concerns(&world.faults, [last.server, asked], request.at);
    if took > SLOW {
        let working = request.server;
        world.log(&format!(
            "server {asked} cancelled {} on server {working} in {took:?}, {}",
            run.mark,
            if is_excused { "beside a fault" } else { "without a fault" }
        ));
    }
    Cancelled { run, took, is_excused }
}

/// Whether one of the servers, or their database, was away from then on.
fn concerns(faults: &Faults, servers: [usize; 2], from: Instant) -> bool {
    servers.into_iter().any(|server| faults.concerned(server, from))
}

async fn until_cancelled(world: &World, first: usize, path: &str, begun: Instant) -> Duration {
    let cancel = format!("{path}/cancel");
    for number in first..first + LOOKS {
        let ask = Ask { path: &cancel, key: None, body: Some(serde_json::json!({})) };
        match world.caller.send(number, &ask).await {
            Some(reply) if reply.is_success() && reply.body["status"] == "cancelled" => {
                return begun.elapsed();
            }
            Some(reply) if reply.status == 409 => {
                assert_eq!(reply.code(), "run_finished", "{reply:?}");
                let run = world.caller.read(number, path).await;
                assert_eq!(run["status"], "cancelled", "{run}");
                return begun.elapsed();
            }
            Some(reply) => assert!(reply.is_success() || reply.status == 503, "{path}: {reply:?}"),
            None => {}
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} is not cancelled");
}
