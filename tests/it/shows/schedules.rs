//! Schedules with three servers, some of which are killed while they fire: each time starts its work exactly once.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{on, one_node, text};
use dsrs_test::{Dice, Does, FakeLm, Remote, Server, ServerSetup, found, sections, test_database};

/// The schedules, and the times that are caught up of each.
const SCHEDULES: usize = 6;
const TIMES: i64 = 60;

/// How often a server is killed.
const KILLS: usize = 8;

fn start(database: &str, lm: &FakeLm) -> Server {
    let setup: ServerSetup = on(database, lm).env("DSRS_WORKER_LEASE", "2s");
    setup.start()
}

async fn numbers(database: &str, sql: &str) -> Vec<i64> {
    let mut connection = PgConnection::connect(database).await.unwrap();
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(&mut connection).await.unwrap()
}

async fn execute(database: &str, sql: String) {
    let mut connection = PgConnection::connect(database).await.unwrap();
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
}

/// Schedules `s0`, `s1`, … of every ten minutes, which catch up everything.
async fn create(url: &str, count: usize) {
    let api = Remote::new(url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    for number in 0..count {
        let body = json!({
            "name": format!("s{number}"), "cron": "*/10 * * * *", "graph": "q", "target": "run",
            "overlap": "allow", "catch_up": "all", "request": {"inputs": {"question": format!("{number}")}}
        });
        api.post("/v1/schedules", body).await.expect(201);
    }
}

/// Pretends that no server has fired anything for some minutes.
async fn set_back(database: &str, minutes: i64) {
    let ago = format!(
        "update schedules set next_at = date_trunc('hour', clock_timestamp() - interval '{minutes} minutes')"
    );
    execute(database, ago).await;
}

/// Waits until at least so many times have fired and none waits.
async fn until_fired(database: &str, count: i64) {
    let waiting = "select count(*) from schedule_firings where status = 'pending'";
    let have_fired = async || {
        let fired = numbers(database, "select count(*) from schedule_firings").await[0];
        (fired >= count && numbers(database, waiting).await[0] == 0).then_some(())
    };
    found("the firings", have_fired).await;
}

/// Each firing has started one run, which no other has started, and there is no other run. Returns their number.
async fn check_once(api: &Remote, database: &str) -> usize {
    // Another time may come while this reads.
    execute(database, "update schedules set next_at = next_at + interval '1 year'".to_owned())
        .await;
    until_fired(database, 0).await;
    let (mut works, mut times) = (BTreeSet::new(), BTreeSet::new());
    let schedules = api.get("/v1/schedules").await.expect(200).json();
    for schedule in schedules["items"].as_array().unwrap() {
        let path = format!("/v1/schedules/{}/firings", text(schedule, "id"));
        for firing in api.pages(&path, "items", 50).await {
            assert_eq!(firing["status"], "succeeded", "{firing}");
            let is_new = works.insert(text(&firing, "work_id").to_owned());
            assert!(is_new, "{firing} started nothing new");
            let time = (text(schedule, "id").to_owned(), text(&firing, "scheduled_at").to_owned());
            assert!(times.insert(time), "{firing} is there twice");
        }
    }
    let runs = api.pages("/v1/runs", "items", 100).await;
    let started: BTreeSet<String> =
        runs.iter().map(|run: &Value| text(run, "id").to_owned()).collect();
    assert_eq!(started, works, "no run without a firing");
    works.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_time_starts_its_work_once_over_three_servers_that_are_killed_while_they_fire() {
    let database = test_database().await;
    let lm = FakeLm::doing([Does::Say(sections([("answer", "a")]))]).await;
    let mut servers: Vec<Server> = (0..3).map(|_| start(&database, &lm)).collect();
    create(&servers[0].url, SCHEDULES).await;
    set_back(&database, TIMES * 10 + 5).await;
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    println!("seed {seed}");
    let mut dice = Dice(seed);
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(dice.roll(250) as u64)).await;
        let number = dice.roll(3);
        servers.remove(number).kill();
        servers.push(start(&database, &lm));
    }
    until_fired(&database, TIMES * SCHEDULES as i64).await;
    let twice = "select count(*) from schedule_firings where attempts > 1";
    println!("firings with a second claim: {:?}", numbers(&database, twice).await);
    let fired = check_once(&Remote::new(&servers[0].url), &database).await;
    assert!(fired as i64 >= TIMES * SCHEDULES as i64, "{fired}");
}

#[tokio::test(flavor = "multi_thread")]
async fn times_at_which_all_servers_were_down_are_caught_up_once() {
    let database = test_database().await;
    let lm = FakeLm::doing([Does::Say(sections([("answer", "a")]))]).await;
    let servers: Vec<Server> = (0..3).map(|_| start(&database, &lm)).collect();
    create(&servers[0].url, 2).await;
    servers.into_iter().for_each(Server::kill);
    set_back(&database, 65).await;
    let servers: Vec<Server> = (0..3).map(|_| start(&database, &lm)).collect();
    until_fired(&database, 2 * 6).await;
    let fired = check_once(&Remote::new(&servers[1].url), &database).await;
    assert!((12..=26).contains(&fired), "{fired}");
}
