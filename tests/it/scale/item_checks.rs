//! Promises of batches and evaluations: every item has one result, and what is summed equals the rows.

use serde_json::{Value, json};
use sqlx::Row;

use super::world::World;

impl World {
    pub(super) async fn batches_have_one_result_for_each_item(&self, ids: &[String]) {
        for id in ids {
            let batch = self.caller.read(0, &format!("/v1/batches/{id}")).await;
            let items = self.size.items;
            let counts = json!({"total": items, "pending": 0, "succeeded": items, "failed": 0, "cancelled": 0});
            assert_eq!(
                (&batch["status"], &batch["counts"]),
                (&json!("succeeded"), &counts),
                "{batch}"
            );
            let sums = "sum((usage->>'lm_calls')::bigint)::bigint as lm_calls,
                        sum((usage->>'input_tokens')::bigint)::bigint as input_tokens,
                        sum((usage->>'output_tokens')::bigint)::bigint as output_tokens";
            let results = format!(
                "select count(*) as count, count(distinct position) as positions,
                        count(distinct run_id) as runs, min(position)::bigint as least,
                        max(position)::bigint as most, {sums}
                 from batch_results where batch_id = '{id}'"
            );
            let row = &self.postgres.rows(&results).await[0];
            let numbers =
                ["count", "positions", "runs", "least", "most"].map(|name| row.get::<i64, _>(name));
            let all = items as i64;
            assert_eq!(numbers, [all, all, all, 0, all - 1]);
            for name in ["lm_calls", "input_tokens", "output_tokens"] {
                assert_eq!(batch["usage"][name], row.get::<i64, _>(name), "{name} of {batch}");
            }
            self.results_have_records(id, all).await;
        }
        // No item has a record beside that of its result.
        let beside = "select count(*) from runs where graph_name = 'item'
                      and id not in (select run_id from batch_results)";
        assert_eq!(
            self.postgres.count(beside).await,
            0,
            "records of items that have another result"
        );
    }

    /// Each result has the record of its run, with the inputs of the item.
    async fn results_have_records(&self, batch: &str, all: i64) {
        let records = format!(
            "select runs.id::text as run, item.inputs->>'run' as mark
             from batch_results result join batch_items item using (batch_id, position)
             join runs on runs.id = result.run_id and runs.status = result.status
             where batch_id = '{batch}'"
        );
        let records = self.postgres.rows(&records).await;
        assert_eq!(records.len() as i64, all, "results without a record");
        for record in records {
            let (run, mark): (String, String) = (record.get("run"), record.get("mark"));
            let run = self.caller.read(0, &format!("/v1/runs/{run}")).await;
            assert_eq!(run["inputs"]["run"], mark, "{run}");
        }
    }

    pub(super) async fn sums_of_evaluations_equal_their_rows(&self, ids: &[String]) {
        for id in ids {
            let evaluation = self.caller.read(1, &format!("/v1/evaluations/{id}")).await;
            let examples = self.size.examples;
            let counts = json!({"total": examples, "done": examples, "failed": 0, "unmeasured": 0});
            assert_eq!(
                (&evaluation["status"], &evaluation["counts"]),
                (&json!("succeeded"), &counts),
                "{evaluation}"
            );
            let results = format!(
                "select count(*) as count, count(distinct example_id) as examples, sum(score) as score,
                        sum((usage->>'lm_calls')::bigint)::bigint as lm_calls
                 from evaluation_results where evaluation_id = '{id}'"
            );
            let row = &self.postgres.rows(&results).await[0];
            let numbers = ["count", "examples"].map(|name| row.get::<i64, _>(name));
            assert_eq!(numbers, [examples as i64; 2]);
            assert_eq!(
                evaluation["usage"]["lm_calls"],
                row.get::<i64, _>("lm_calls"),
                "{evaluation}"
            );
            let score: f64 = row.get("score");
            let right = (examples - examples.div_ceil(3)) as f64;
            assert_eq!(score, right);
            let mean: &Value = &evaluation["mean_score"];
            assert!(
                (mean.as_f64().unwrap() - score / examples as f64).abs() < 1e-9,
                "{evaluation}"
            );
        }
    }
}
