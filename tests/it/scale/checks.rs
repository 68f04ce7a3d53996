//! The promises, checked when everything has ended.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use sqlx::Row;

use super::attempts::Attempts;
use super::runs::Accepted;
use super::servers::SERVERS;
use super::size::ITEMS_AT_ONCE;
use super::world::{Done, World};
use super::{audit, clock};
use dsrs_test::found;

impl World {
    pub async fn check(&self, done: &Done) {
        self.clocks_differ().await;
        self.everything_has_ended_once().await;
        self.nothing_is_left_of_work_in_progress().await;
        self.every_accepted_run_has_one_record(done).await;
        self.runs_have_their_outputs(done).await;
        self.signals_have_arrived(done).await;
        self.batches_have_one_result_for_each_item(&done.batches).await;
        self.sums_of_evaluations_equal_their_rows(&done.evaluations).await;
        let attempts = Attempts::read(&self.postgres).await;
        self.the_optimization_has_ended_within_what_was_asked(&done.optimization, &attempts).await;
        self.no_node_asks_again_after_a_successor(&attempts);
        self.only_another_attempt_asks_again(&attempts);
        self.work_was_continued_by_other_servers();
    }

    /// The clocks of the servers are as far apart as they are set.
    async fn clocks_differ(&self) {
        for (server, shift) in clock::SHIFTS.into_iter().enumerate().filter(|_| clock::CAN_SHIFT) {
            let date = self.caller.date(server).await;
            let ahead = date - chrono::Utc::now().timestamp();
            assert!((ahead - shift).abs() < 30, "the clock of server {server} is {ahead} s ahead");
        }
    }

    async fn everything_has_ended_once(&self) {
        let wrong = self.postgres.rows(&audit::wrong_ends()).await;
        let show = |row: &sqlx::postgres::PgRow| {
            let ends: Vec<Option<String>> = row.get("ends");
            format!("{} {} {ends:?}", row.get::<String, _>(0), row.get::<String, _>("status"))
        };
        let wrong: Vec<_> = wrong.iter().map(show).collect();
        assert!(wrong.is_empty(), "work has not ended once: {wrong:#?}");
        // No end is of work that has no row.
        let lost = "select count(*) from ends where id not in (select id from runs)
            and id not in (select id from batches) and id not in (select id from evaluations)
            and id not in (select id from optimizations)";
        assert_eq!(self.postgres.count(lost).await, 0, "work that has ended has no record");
    }

    async fn nothing_is_left_of_work_in_progress(&self) {
        for table in audit::IN_PROGRESS {
            let left = self.postgres.count(&format!("select count(*) from {table}")).await;
            assert_eq!(left, 0, "{table} has rows of work that has ended");
        }
        // An attempt reports its end to the engine after its work has ended.
        found("the engine to have no rows of work in progress", async || {
            let rows = self.engine.rows_in_progress().await;
            rows.iter().all(|(_, left)| *left == 0).then_some(())
        })
        .await;
    }

    /// Accepted runs have the records that their answers named. A request whose answer was lost has one record or none.
    async fn every_accepted_run_has_one_record(&self, done: &Done) {
        let mut records: HashMap<String, Vec<String>> = HashMap::new();
        let marked = "select session_id as mark, id::text from runs where session_id is not null";
        for row in self.postgres.rows(marked).await {
            records.entry(row.get("mark")).or_default().push(row.get("id"));
        }
        let twice: Vec<_> = records.iter().filter(|(_, ids)| ids.len() > 1).collect();
        assert!(twice.is_empty(), "requests have several records: {twice:?}");
        let accepted: Vec<&Accepted> = done.accepted().collect();
        for run in &accepted {
            assert_eq!(records.get(&run.mark), Some(&vec![run.id.clone()]), "{}", run.mark);
        }
        let ids: HashSet<&String> = accepted.iter().map(|run| &run.id).collect();
        assert_eq!(ids.len(), accepted.len(), "two requests were answered with one run");
        let unknown = records.len() - ids.len();
        println!("{} runs were accepted, and {unknown} whose answer was lost", ids.len());
    }

    async fn runs_have_their_outputs(&self, done: &Done) {
        for run in done.diamonds.iter().chain(&done.keyed) {
            let record = self.caller.read(0, &format!("/v1/runs/{}", run.id)).await;
            assert_eq!(record["status"], "succeeded", "{record}");
            assert_eq!(record["outputs"], json!({"done": 4}), "{record}");
            let nodes = record["nodes"].as_object().unwrap();
            assert_eq!(nodes.len(), 5, "{record}");
            assert!(nodes.values().all(|node| node["status"] == "succeeded"), "{record}");
            assert!(record["usage"]["lm_calls"].as_u64().unwrap() >= 4, "{record}");
        }
    }

    async fn signals_have_arrived(&self, done: &Done) {
        for one in &done.signalled {
            let record = self.caller.read(1, &format!("/v1/runs/{}", one.run.id)).await;
            let outputs = json!({"approved": one.value, "sent": "ok"});
            assert_eq!((&record["status"], &record["outputs"]), (&json!("succeeded"), &outputs));
        }
    }

    /// The usage is what the model was asked, but for requests that were in flight when an attempt was lost: one whose
    /// server was killed is not counted, and one that was given up is, although the model may not have read it.
    async fn the_optimization_has_ended_within_what_was_asked(
        &self,
        id: &str,
        attempts: &Attempts,
    ) {
        let ended: Value = self.caller.read(2, &format!("/v1/optimizations/{id}")).await;
        assert_eq!(ended["status"], "succeeded", "{ended}");
        // A request whose answer was lost may have started another one.
        let spent = "select sum(lm_calls)::bigint from optimizations";
        let spent = self.postgres.count(spent).await as usize;
        let asked = self.lm.requests().iter().filter(|one| one.node == "optimized").count();
        let lost = attempts.lost_about("optimized");
        println!("{spent} of {asked} requests are counted, after {lost} lost attempts");
        // An attempt ends those of its helpers.
        assert!(
            asked.abs_diff(spent) <= lost * SERVERS * ITEMS_AT_ONCE,
            "{asked} requests were sent, {spent} are counted, {lost} attempts were lost"
        );
        let right = ended["result"]["best"]["mean_score"]
            .as_f64()
            .or_else(|| ended["result"]["best"]["score"].as_f64());
        assert!(right.is_none_or(|score| score > 0.9), "{ended}");
    }
}

impl Done {
    /// Every run that a server has accepted.
    fn accepted(&self) -> impl Iterator<Item = &Accepted> {
        let runs = self.diamonds.iter().chain(&self.keyed);
        let waited = self.signalled.iter().map(|one| &one.run);
        runs.chain(waited).chain(&self.cancelled)
    }
}
