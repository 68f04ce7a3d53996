//! Which attempts count against `worker.attempts`: those whose worker died with the run in hand, and not those that lost
//! their connection to the engine.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::{NO_WORKER, id, line, question, service, until_empty};
use dsrs_test::{
    Does, FakeLm, Gate, ServerSetup, fixed_port, restate_settings, sections, test_database,
};

/// What the engine takes for a worker, in front of one.
struct EngineWire {
    cuts: watch::Sender<usize>,
}

impl EngineWire {
    /// At the address at which the workers of a database are registered.
    async fn to(database: &str, worker: u16) -> Self {
        let settings = restate_settings(database);
        let bind = settings.into_iter().find(|(name, _)| name == "DSRS_RESTATE_BIND").unwrap().1;
        let listener = TcpListener::bind(bind).await.unwrap();
        let (cuts, seen) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((mut engine, _)) = listener.accept().await {
                let mut cut = seen.clone();
                cut.mark_unchanged();
                tokio::spawn(async move {
                    let Ok(mut worker) = TcpStream::connect(("127.0.0.1", worker)).await else {
                        return;
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut engine, &mut worker) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self { cuts }
    }

    /// Ends every connection.
    fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

/// A worker at its own port that makes one attempt at a run.
fn worker(database: &str, lm: &FakeLm, port: u16) -> ServerSetup {
    let setup = ServerSetup::new().database(database).env("OPENAI_BASE_URL", &lm.url).worker();
    let settings = restate_settings(database).into_iter();
    let setup = settings.fold(setup, |setup, (name, text)| setup.env(&name, &text));
    setup.env("DSRS_RESTATE_BIND", &format!("127.0.0.1:{port}")).env("DSRS_WORKER_ATTEMPTS", "1")
}

/// Answers all but the first `held` requests.
async fn lm(held: usize) -> Arc<FakeLm> {
    let said = sections([("thought", "hm"), ("answer", "yes")]);
    let gate = Gate::new();
    FakeLm::by(move |number, _| match number < held {
        true => Does::Hold(gate.clone(), said.clone()),
        false => Does::Say(said.clone()),
    })
    .await
}

async fn started(database: &str) -> (crate::Api, Value) {
    let scripted = Arc::new(ScriptedLm::sections([("thought", "hm"), ("answer", "yes")]));
    let api = service(database, scripted, &[NO_WORKER]).await;
    api.post("/v1/graphs", line()).await.expect(201);
    let run = api.post("/v1/graphs/line/runs", question("?")).await.expect(202).json();
    (api, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_lose_their_connection_do_not_count_while_their_worker_lives() {
    const CUTS: usize = 3;
    let (database, lm, port) = (test_database().await, lm(CUTS).await, fixed_port());
    let wire = EngineWire::to(&database, port).await;
    let _worker = worker(&database, &lm, port).start();
    let (api, run) = started(&database).await;
    for cut in 1..=CUTS {
        lm.arrived(cut).await;
        wire.cut();
    }
    let run = api.ended(&id(&run)).await;
    assert_eq!(run["status"], "succeeded", "{}", run["error"]);
    until_empty(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_worker_died_counts() {
    let (database, lm, port) = (test_database().await, lm(1).await, fixed_port());
    let wire = EngineWire::to(&database, port).await;
    let first = worker(&database, &lm, port).start();
    let (api, run) = started(&database).await;
    lm.arrived(1).await;
    first.kill();
    let _second = worker(&database, &lm, port).start();
    let run = api.ended(&id(&run)).await;
    assert_eq!(
        (&run["status"], &run["error"]["code"]),
        (&json!("failed"), &json!("run_abandoned")),
        "{run}"
    );
    drop(wire);
}
