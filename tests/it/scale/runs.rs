//! Background runs of the diamond: without a key, and with one whose request is repeated on every server.

use std::time::Duration;

use serde_json::{Value, json};

use super::caller::{Ask, Caller};
use super::servers::SERVERS;
use super::world::World;

const DIAMONDS: &str = "/v1/graphs/diamond/runs";

/// How the marks of runs begin whose first request to the model is never answered.
pub const ENDLESS: &str = "c-";

/// How long a repeated request waits for a key that is in use. The key of a server that was killed before it had
/// stored anything stays in use for longer.
const KEY_PATIENCE: usize = 40;

/// A run that a server has accepted.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub mark: String,
    pub id: String,
}

/// The body of a request to run a graph for a mark.
pub fn body(mark: &str) -> Value {
    // The label is for SQL, which cannot read the inputs of a run that has ended.
    json!({"inputs": {"run": format!("mark-{mark}")}, "session_id": mark})
}

/// Starts a run, whose marks begin like this.
pub async fn start(caller: &Caller, first: usize, path: &str, begin: &str) -> Accepted {
    let mark = |attempt| format!("{begin}-{attempt}");
    let (attempt, reply) = caller.start(first, path, |attempt| body(&mark(attempt))).await;
    Accepted { mark: mark(attempt), id: reply.id() }
}

/// Starts all diamonds, spread over the faults.
pub async fn diamonds(world: &World) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    for number in 0..world.size.diamonds {
        world.pace.turn(number, world.size.diamonds).await;
        accepted.push(start(&world.caller, number, DIAMONDS, &format!("d-{number}")).await);
    }
    accepted
}

/// Starts one that never ends by itself.
pub async fn endless(world: &World, number: usize) -> Accepted {
    start(&world.caller, number, DIAMONDS, &format!("{ENDLESS}{number}")).await
}

/// Starts runs with a key, and repeats each request on every server. All answers that arrive name one run. Returns
/// those of which an answer has arrived.
pub async fn keyed(world: &World) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    for number in 0..world.size.keyed {
        world.pace.turn(number, world.size.keyed).await;
        let mark = format!("k-{number}");
        let mut ids = Vec::new();
        for server in number..number + SERVERS {
            ids.extend(started_with_key(&world.caller, server, &mark).await);
        }
        assert!(ids.windows(2).all(|ids| ids[0] == ids[1]), "a key has several runs: {ids:?}");
        accepted.extend(ids.pop().map(|id| Accepted { mark, id }));
    }
    accepted
}

/// The run of a key, unless the key is in use by a request of a server that was killed.
async fn started_with_key(caller: &Caller, first: usize, mark: &str) -> Option<String> {
    for number in 0..KEY_PATIENCE {
        let ask = Ask { path: DIAMONDS, key: Some(mark), body: Some(body(mark)) };
        match caller.send(first + number / 2, &ask).await {
            Some(reply) if reply.is_success() => return Some(reply.id()),
            Some(reply) if reply.status == 409 => {
                assert_eq!(reply.code(), "idempotency_in_progress", "{reply:?}");
            }
            Some(reply) => assert_eq!(reply.status, 503, "{reply:?}"),
            None => {}
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}
