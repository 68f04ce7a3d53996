//! Five hundred background runs on three servers that are killed at random, with a provider
//! that fails, stalls and disconnects: every run ends exactly once, and no completed node calls the LM
//! again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{on, text};
use crate::support::{
    Asked, Dice, Does, FakeLm, Server, ServerSetup, http_client, sections, test_database,
};

const RUNS: usize = 500;
const SERVERS: usize = 3;
const KILLS: usize = 12;
/// The number of concurrent background runs per server.
const AT_ONCE: usize = 16;

/// The predecessors of each node.
const NODES: [(&str, &[&str]); 4] =
    [("top", &[]), ("left", &["top"]), ("right", &["top"]), ("join", &["left", "right"])];

/// A diamond. The prompt of every node names its run and itself.
fn diamond() -> Value {
    let node = |name: &str, inputs: &[&str], output: &str| {
        let field =
            |name: &&str| json!({"name": name, "type": if *name == "run" { "str" } else { "int" }});
        let inputs: Vec<_> = ["run"].iter().chain(inputs).map(field).collect();
        let signature = json!({
            "instructions": format!("Node {name}."),
            "inputs": inputs, "outputs": [{"name": output, "type": "int"}]
        });
        json!({"strategy": "predict", "signature": signature, "retries": 10, "parse_retries": 2})
    };
    json!({
        "name": "diamond",
        "inputs": {"run": "str"},
        "nodes": {
            "top": node("top", &[], "seed"),
            // Computed again in every attempt, while nodes after it may be completed.
            "same": {"strategy": "add", "config": {"right": 0}},
            "left": node("left", &["seed"], "l"),
            "right": node("right", &["seed"], "r"),
            "join": node("join", &["l", "r"], "done")
        },
        "edges": [
            {"from": "top.seed", "to": "same.left"}, {"from": "same.value", "to": "left.seed"},
            {"from": "top.seed", "to": "right.seed"},
            {"from": "left.l", "to": "join.l"}, {"from": "right.r", "to": "join.r"}
        ],
        "outputs": {"done": "join.done"}
    })
}

/// The run and the node that a request is for.
fn marks(asked: &Asked) -> (String, &'static str) {
    let all = asked.text();
    let run = all.split("run-").nth(1).unwrap().chars().take_while(char::is_ascii_digit);
    let (node, _) = NODES.iter().find(|(node, _)| all.contains(&format!("Node {node}."))).unwrap();
    (run.collect(), node)
}

/// A provider that fails one request in eight.
async fn bad_provider() -> Arc<FakeLm> {
    let dice = Mutex::new(Dice(7));
    let said = sections([("seed", "1"), ("l", "2"), ("r", "3"), ("done", "4")]);
    FakeLm::by(move |_, _| match dice.lock().unwrap().roll(64) {
        0..4 => Does::Answer(500, Vec::new(), "{}".to_owned()),
        4 => Does::BreakOff,
        5 => Does::HangUp,
        6 => Does::Stall,
        7 => Does::Say("nothing of use".to_owned()),
        _ => Does::SayLate(Duration::from_millis(20), said.clone()),
    })
    .await
}

fn setup(database: &str, lm: &FakeLm) -> ServerSetup {
    on(database, lm)
        .env("DSRS_MODELS__DEFAULT__MODEL", "fake")
        .env("DSRS_MODELS__DEFAULT__TIMEOUT_MS", "1500")
        .env("DSRS_WORKER_CONCURRENCY", &AT_ONCE.to_string())
        .env("DSRS_WORKER_ATTEMPTS", "100")
        // Longer than a heartbeat is delayed on a busy machine.
        .env("DSRS_WORKER_LEASE", "8s")
        .env("DSRS_DATABASE_MAX_CONNECTIONS", "8")
}

/// Three servers that are killed and restarted.
struct Servers {
    setups: Vec<ServerSetup>,
    running: Mutex<Vec<Option<Server>>>,
}

impl Servers {
    fn start(setups: Vec<ServerSetup>) -> Arc<Self> {
        let running = setups.iter().map(|setup| Some(setup.start())).collect();
        Arc::new(Self { setups, running: Mutex::new(running) })
    }

    fn url(&self, number: usize) -> Option<String> {
        self.running.lock().unwrap()[number % SERVERS].as_ref().map(|server| server.url.clone())
    }

    fn kill_one(&self, dice: &mut Dice) {
        let number = dice.roll(SERVERS);
        let victim = self.running.lock().unwrap()[number].take();
        victim.unwrap().kill();
        let next = self.setups[number].start();
        self.running.lock().unwrap()[number] = Some(next);
    }
}

/// Sends a request to one server after the other until one answers with this status. `body` is made
/// for each try: a request whose answer is lost may have been accepted.
async fn ask(
    servers: &Servers,
    status: u16,
    path: &str,
    body: Option<&dyn Fn(usize) -> Value>,
) -> Value {
    let client = http_client();
    for number in 0.. {
        assert!(number < 2000, "nobody answers {path}");
        if let Some(url) = servers.url(number) {
            let request = match body {
                Some(body) => client
                    .post(format!("{url}{path}"))
                    .header("content-type", "application/json")
                    .body(body(number).to_string()),
                None => client.get(format!("{url}{path}")),
            };
            if let Ok(answer) = request.timeout(Duration::from_secs(20)).send().await
                && answer.status().as_u16() == status
                && let Ok(text) = answer.text().await
            {
                return serde_json::from_str(&text).unwrap();
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    unreachable!()
}

/// Records each end of a run.
const AUDIT: &str = "
    create table ends (run uuid);
    create function note_end() returns trigger language plpgsql as $$
    begin insert into ends values (new.id); return new; end $$;
    create trigger noted after update of status on runs for each row
    when (old.status <> new.status and new.status in ('succeeded', 'failed', 'cancelled'))
    execute function note_end()";

#[tokio::test(flavor = "multi_thread")]
async fn every_run_ends_once_and_no_completed_node_is_repeated() {
    let (database, lm) = (test_database().await, bad_provider().await);
    let mut connection = PgConnection::connect(&database).await.unwrap();
    sqlx::raw_sql(AUDIT).execute(&mut connection).await.unwrap();
    let setups = (0..SERVERS).map(|_| setup(&database, &lm)).collect();
    let servers = tokio::task::spawn_blocking(|| Servers::start(setups)).await.unwrap();
    ask(&servers, 201, "/v1/graphs", Some(&|_| diamond())).await;

    let done = Arc::new(AtomicBool::new(false));
    let (prey, over) = (servers.clone(), done.clone());
    let killing = tokio::task::spawn_blocking(move || {
        let mut dice = Dice(11);
        for kill in 0..KILLS {
            std::thread::sleep(Duration::from_millis(300));
            if over.load(Ordering::SeqCst) {
                return kill;
            }
            prey.kill_one(&mut dice);
        }
        KILLS
    });
    let mut accepted = Vec::with_capacity(RUNS);
    for number in 0..RUNS {
        let body = |attempt| {
            let mark = number * 10_000 + attempt;
            json!({"inputs": {"run": format!("run-{mark}")}})
        };
        let run = ask(&servers, 202, "/v1/graphs/diamond/runs", Some(&body)).await;
        accepted.push(text(&run, "id").to_owned());
    }
    loop {
        let left: i64 = sqlx::query_scalar("select count(*) from jobs")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    done.store(true, Ordering::SeqCst);
    let kills = killing.await.unwrap();

    let mut succeeded = 0;
    for id in &accepted {
        let run = ask(&servers, 200, &format!("/v1/runs/{id}"), None).await;
        match text(&run, "status") {
            "succeeded" => {
                succeeded += 1;
                assert_eq!(run["outputs"], json!({"done": 4}));
                let nodes = run["nodes"].as_object().unwrap();
                assert!(nodes.values().all(|node| node["status"] == "succeeded"), "{run}");
                assert!(run["usage"]["lm_calls"].as_u64().unwrap() >= 4, "{run}");
            }
            "failed" => assert!(!run["error"].is_null(), "{run}"),
            other => panic!("a run has not ended: {other}"),
        }
    }
    let ends: Vec<String> =
        sqlx::query_scalar("select run::text from ends").fetch_all(&mut connection).await.unwrap();
    let ended: HashSet<&String> = ends.iter().collect();
    assert_eq!(ends.len(), ended.len(), "a run ended twice");
    assert!(accepted.iter().all(|id| ended.contains(id)), "an accepted run has not ended");
    let left: i64 = sqlx::query_scalar("select count(*) from run_nodes")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(left, 0, "nodes are left of runs that are done");
    let asked = assert_none_bought_again(&lm);
    println!("{kills} kills, {succeeded} of {RUNS} succeeded, {asked} requests");
    assert!(kills >= 3, "the runs were over before the killing began");
    assert!(succeeded > RUNS * 9 / 10, "{succeeded} succeeded");
}

/// The requests of a run, with their milliseconds since the first request of all runs.
fn asked_for(asked: &[Asked], run: &str) -> Vec<String> {
    let of_run = asked.iter().filter(|request| marks(request).0 == run);
    of_run.map(|request| format!("{:?} {}", request.at - asked[0].at, marks(request).1)).collect()
}

/// When a node calls the LM, its predecessors have checkpoints and never call it again.
fn assert_none_bought_again(lm: &FakeLm) -> usize {
    let mut seen: HashMap<(String, &str), ()> = HashMap::new();
    let asked = lm.asked();
    for request in &asked {
        let (run, node) = marks(request);
        let after = NODES.iter().filter(|(_, waits_for)| waits_for.contains(&node));
        for (later, _) in after {
            let again = seen.contains_key(&(run.clone(), *later));
            assert!(
                !again,
                "`{node}` is bought again after `{later}`: {:#?}",
                asked_for(&asked, &run)
            );
        }
        seen.insert((run, node), ());
    }
    asked.len()
}
