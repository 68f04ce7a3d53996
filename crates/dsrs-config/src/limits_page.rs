//! The table of limits in Markdown, for `docs/limits.md`: the rows of the settings that are limits of
//! callers, and the answer to what exceeds each. Knows the words of answers, and nothing of HTTP.

use super::settings::all_settings;

/// Settings outside of `limits.` that limit callers, too.
const OTHERS: &[&str] = &[
    "uploads.max_spool_bytes",
    "uploads.max_spool_bytes_per_workspace",
    "uploads.max_concurrent",
    "uploads.max_concurrent_per_workspace",
    "worker.concurrency",
    "worker.batch_concurrency",
    "worker.evaluation_concurrency",
    "worker.attempts",
    "sandbox.time_s",
    "sandbox.memory_mib",
    "sandbox.output_kib",
    "sandbox.sessions",
    "models.*.max_connections",
    "models.*.max_concurrent",
];

/// The limits in Markdown, one row for each setting.
pub fn limits_markdown() -> String {
    let mut page =
        "| Setting | Default | Meaning | Answer to more |\n|---|---|---|---|\n".to_owned();
    let is_limit = |path: &str| path.starts_with("limits.") || OTHERS.contains(&path);
    for row in all_settings().filter(|row| is_limit(row.path)) {
        let path = row.path.replace('*', "NAME");
        let default = row.default.map_or_else(|| "none".to_owned(), |text| format!("`{text}`"));
        let (meaning, answer) = (row.meaning(), answer(row.path));
        page.push_str(&format!("| `{path}` | {default} | {meaning} | {answer} |\n"));
    }
    page
}

/// The answer to what exceeds a limit.
fn answer(path: &str) -> &'static str {
    match path {
        "limits.connections" | "models.*.max_connections" => "none: waits",
        "limits.write_timeout" => "none: the connection is closed",
        "limits.body_bytes" | "limits.batch_bytes" | "limits.dataset_bytes" => "`413 too_large`",
        "limits.body_memory"
        | "limits.body_memory_per_workspace"
        | "uploads.max_spool_bytes"
        | "uploads.max_spool_bytes_per_workspace"
        | "uploads.max_concurrent"
        | "uploads.max_concurrent_per_workspace" => "`503 unavailable` with `Retry-After`",
        "limits.batch_items" | "limits.dataset_examples" => "`422` with `too_large` in `errors`",
        "limits.run_timeout_ms" => "the run fails with `504 timeout`",
        "limits.max_concurrent_runs"
        | "limits.max_runs_per_workspace"
        | "limits.max_queued_runs"
        | "limits.max_waiting_runs"
        | "limits.max_followers"
        | "limits.max_followers_per_workspace" => "`429 rate_limited` with `Retry-After`",
        "limits.max_concurrent_lm_requests"
        | "limits.max_concurrent_lm_requests_per_run"
        | "models.*.max_concurrent" => "none: requests wait within the time limit of their run",
        "limits.run_lm_calls" | "limits.run_tokens" | "limits.run_cost" => {
            "the run fails with `422 budget_spent`"
        }
        "worker.concurrency" => "none: jobs wait in the queue",
        "worker.batch_concurrency" | "worker.evaluation_concurrency" => "none: items wait",
        "worker.attempts" => "the run fails with `500 run_abandoned`",
        "sandbox.sessions" => "none: nodes wait within the time limit of their run",
        "sandbox.time_s" | "sandbox.memory_mib" | "sandbox.output_kib" => {
            "an error that the model sees; after the last one `422 program_failed`"
        }
        _ => "`422` with `too_large` in `errors`",
    }
}
