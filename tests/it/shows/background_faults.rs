//! Five hundred background runs on three servers that are killed at random, with a provider
//! that fails, stalls and disconnects: every run ends exactly once, and no completed node calls the LM
//! again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::leases::{expire_some, leased, sessions_ended};
use super::{on, text};
use dsrs_test::{
    Asked, Dice, Does, FakeLm, PATIENCE, Server, ServerSetup, found, http_client, sections,
    test_database, within,
};

const RUNS: usize = 500;
const SERVERS: usize = 3;
const KILLS: usize = 12;
/// The requests to the model before each kill: all kills are over before the least that the runs need.
const REQUESTS_EACH: usize = RUNS * NODES.len() / (KILLS + 1);
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
        json!({"strategy": "predict", "signature": signature, "retries": 10, "parse_retries": 2,
               "timeout_ms": 300_000})
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

/// A provider that fails one request in eight, and stalls at few, because the timeout is long enough for the others.
async fn bad_provider() -> Arc<FakeLm> {
    let dice = Mutex::new(Dice(7));
    let said = sections([("seed", "1"), ("l", "2"), ("r", "3"), ("done", "4")]);
    FakeLm::by(move |_, _| match dice.lock().unwrap().roll(256) {
        0..16 => Does::Answer(500, Vec::new(), "{}".to_owned()),
        16..21 => Does::BreakOff,
        21..26 => Does::HangUp,
        26 | 27 => Does::Stall,
        28..32 => Does::Say("nothing of use".to_owned()),
        _ => Does::SayLate(Duration::from_millis(20), said.clone()),
    })
    .await
}

/// Its leases do not expire before the server is killed, however slow the machine is.
async fn setup(database: &str, lm: &FakeLm, number: usize) -> ServerSetup {
    leased(on(database, lm), database, &name(number))
        .await
        .env("DSRS_MODELS__DEFAULT__MODEL", "fake")
        .env("DSRS_MODELS__DEFAULT__TIMEOUT_MS", "10000")
        .env("DSRS_WORKER_CONCURRENCY", &AT_ONCE.to_string())
        .env("DSRS_WORKER_ATTEMPTS", "100")
        .env("DSRS_DATABASE_MAX_CONNECTIONS", "8")
}

fn name(number: usize) -> String {
    format!("server_{number}")
}

/// Notes which session has claimed a job.
const CLAIMS: &str = "
    create table claims (holder uuid, server text);
    create function note_claim() returns trigger language plpgsql security definer as $$
    begin insert into claims values (new.holder, session_user); return new; end $$;
    create trigger claimed after update of holder on jobs for each row
    when (new.holder is not null and new.holder is distinct from old.holder)
    execute function note_claim()";

/// Three servers that are killed and restarted.
struct Servers {
    database: String,
    setups: Vec<ServerSetup>,
    running: Mutex<Vec<Option<Server>>>,
}

impl Servers {
    fn start(database: String, setups: Vec<ServerSetup>) -> Arc<Self> {
        let running = setups.iter().map(|setup| Some(setup.start())).collect();
        Arc::new(Self { database, setups, running: Mutex::new(running) })
    }

    fn url(&self, number: usize) -> Option<String> {
        self.running.lock().unwrap()[number % SERVERS].as_ref().map(|server| server.url.clone())
    }

    /// Kills a server, as long before the next one starts as its leases need to expire.
    async fn kill_one(self: &Arc<Self>, dice: &mut Dice) {
        let number = dice.roll(SERVERS);
        let victim = self.running.lock().unwrap()[number].take().unwrap();
        tokio::task::spawn_blocking(|| victim.kill()).await.unwrap();
        sessions_ended(&self.database, &name(number)).await;
        let its = format!("select holder from claims where server = '{}'", name(number));
        expire_some(&self.database, &format!("holder in ({its})")).await;
        let servers = self.clone();
        let next = tokio::task::spawn_blocking(move || servers.setups[number].start());
        self.running.lock().unwrap()[number] = Some(next.await.unwrap());
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
    let mut numbers = 0..;
    let asked = async || {
        let number = numbers.next().unwrap();
        if let Some(url) = servers.url(number) {
            let request = match body {
                Some(body) => client
                    .post(format!("{url}{path}"))
                    .header("content-type", "application/json")
                    .body(body(number).to_string()),
                None => client.get(format!("{url}{path}")),
            };
            if let Ok(answer) = request.timeout(PATIENCE).send().await
                && answer.status().as_u16() == status
                && let Ok(text) = answer.text().await
            {
                return Some(serde_json::from_str(&text).unwrap());
            }
        }
        None
    };
    found(path, asked).await
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
    for triggers in [AUDIT, CLAIMS] {
        sqlx::raw_sql(triggers).execute(&mut connection).await.unwrap();
    }
    let mut setups = Vec::new();
    for number in 0..SERVERS {
        setups.push(setup(&database, &lm, number).await);
    }
    let start = move || Servers::start(database, setups);
    let servers = tokio::task::spawn_blocking(start).await.unwrap();
    ask(&servers, 201, "/v1/graphs", Some(&|_| diamond())).await;

    let (prey, provider) = (servers.clone(), lm.clone());
    let killing = tokio::spawn(async move {
        let mut dice = Dice(11);
        for kill in 1..=KILLS {
            provider.arrived(kill * REQUESTS_EACH).await;
            prey.kill_one(&mut dice).await;
        }
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
    killing.await.unwrap();
    within("the end of all jobs", async {
        let left = "select count(*) from jobs";
        while sqlx::query_scalar::<_, i64>(left).fetch_one(&mut connection).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;

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
    println!("{succeeded} of {RUNS} succeeded, {asked} requests");
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
