//! What runs add to the sums of usage: added up for a group of runs, then written as a few rows. May not know who ends a
//! run. Runs of the release before are counted by triggers (`migrations/0112_usage.sql`), and so are those that wait.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use dsrs::lm::Usage;
use sqlx::PgConnection;
use uuid::Uuid;

use super::StoreError;
use super::run::{RunRow, RunStatus};
use super::run_usage::RunUsage;

/// The run that is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedRun<'r> {
    pub(crate) workspace: Uuid,
    /// On whose behalf.
    pub(crate) actor: &'r str,
    pub(crate) row: &'r RunRow,
}

/// Where a sum is added.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SumKey<'r> {
    workspace: Uuid,
    /// When the run was created.
    hour: i64,
    graph: Uuid,
    graph_name: &'r str,
    version: i32,
    state_version: i32,
    actor: &'r str,
    user: Option<&'r str>,
    dimension: &'static str,
    value: Option<String>,
}

/// Integers of a sum, in the order of [`NUMBERS`].
type Numbers = [i64; NUMBERS.len()];

/// The columns of the integers.
const NUMBERS: [&str; 10] = [
    "runs",
    "failed",
    "cancelled",
    "duration_ms",
    "lm_calls",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "cache_write_tokens",
];

#[derive(Clone, Debug, Default)]
struct Sum {
    numbers: Numbers,
    /// The costs as decimal numbers, which the database adds up exactly.
    costs: String,
}

/// Sums to add.
#[derive(Debug, Default)]
pub(crate) struct UsageSums<'r>(BTreeMap<SumKey<'r>, Sum>);

/// Whether something is added or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

impl Sign {
    fn of(self, number: i64) -> i64 {
        match self {
            Self::Plus => number,
            Self::Minus => -number,
        }
    }
}

impl<'r> UsageSums<'r> {
    /// Counts a run that has ended, without its usage.
    pub(crate) fn add_run(&mut self, run: CountedRun<'r>, usage: &RunUsage, sign: Sign) {
        let row = run.row;
        let counts = [
            1,
            i64::from(row.status == RunStatus::Failed),
            i64::from(row.status == RunStatus::Cancelled),
            row.duration_ms.unwrap_or(0),
        ];
        let counts = counts.map(|count| sign.of(count));
        self.for_each_key(run, usage, |sum, _| {
            for (number, count) in sum.numbers.iter_mut().zip(counts) {
                *number += count;
            }
        });
    }

    /// Adds the usage of a run.
    pub(crate) fn add_usage(&mut self, run: CountedRun<'r>, usage: &RunUsage, sign: Sign) {
        self.for_each_key(run, usage, |sum, spent| {
            let spent_numbers = [
                spent.lm_calls,
                spent.input_tokens,
                spent.output_tokens,
                spent.reasoning_tokens,
                spent.cached_tokens,
                spent.cache_write_tokens,
            ];
            let numbers = sum.numbers.iter_mut().skip(NUMBERS.len() - spent_numbers.len());
            for (number, spent) in numbers.zip(spent_numbers) {
                *number += sign.of(i64::try_from(spent).unwrap_or(i64::MAX));
            }
            if let Some(cost) = spent.cost {
                let sign = if sign == Sign::Minus { "-" } else { "" };
                sum.costs.push_str(&format!(" {sign}{cost}"));
            }
        });
    }

    /// Its sum as a whole, those of its tags, and those of its models.
    fn for_each_key(
        &mut self,
        run: CountedRun<'r>,
        usage: &RunUsage,
        mut change: impl FnMut(&mut Sum, &Usage),
    ) {
        let key = |dimension, value| run.key(dimension, value);
        change(self.0.entry(key("whole", None)).or_default(), &usage.whole);
        for tag in run.row.labels.tags() {
            change(self.0.entry(key("tag", Some(tag))).or_default(), &usage.whole);
        }
        for model in &usage.models {
            let sum = self.0.entry(key("model", Some(model.alias.clone()))).or_default();
            change(sum, &model.usage);
        }
    }

    /// The rows as one array a column. A sum of nothing is no row.
    pub(crate) fn columns(&self) -> UsageColumns<'_> {
        let mut columns = UsageColumns::default();
        for (key, sum) in &self.0 {
            if sum.numbers.iter().any(|number| *number != 0) || !sum.costs.is_empty() {
                columns.push(key, sum);
            }
        }
        columns
    }
}

impl<'r> CountedRun<'r> {
    fn key(&self, dimension: &'static str, value: Option<String>) -> SumKey<'r> {
        let row = self.row;
        SumKey {
            workspace: self.workspace,
            hour: row.created_at.timestamp().div_euclid(3600),
            graph: row.graph_id,
            graph_name: &row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
            actor: self.actor,
            user: row.labels.user_id.as_deref(),
            dimension,
            value,
        }
    }
}

/// Sums as one array a column.
#[derive(Debug, Default)]
pub(crate) struct UsageColumns<'s> {
    workspace: Vec<Uuid>,
    hour: Vec<DateTime<Utc>>,
    dimension: Vec<&'s str>,
    value: Vec<Option<&'s str>>,
    graph: Vec<Uuid>,
    graph_name: Vec<&'s str>,
    version: Vec<i32>,
    state_version: Vec<i32>,
    actor: Vec<&'s str>,
    user: Vec<Option<&'s str>>,
    numbers: [Vec<i64>; NUMBERS.len()],
    costs: Vec<Option<&'s str>>,
}

impl<'s> UsageColumns<'s> {
    fn push(&mut self, key: &'s SumKey<'_>, sum: &'s Sum) {
        self.workspace.push(key.workspace);
        self.hour.push(DateTime::from_timestamp(key.hour * 3600, 0).unwrap_or_default());
        self.dimension.push(key.dimension);
        self.value.push(key.value.as_deref());
        self.graph.push(key.graph);
        self.graph_name.push(key.graph_name);
        self.version.push(key.version);
        self.state_version.push(key.state_version);
        self.actor.push(key.actor);
        self.user.push(key.user);
        for (column, number) in self.numbers.iter_mut().zip(sum.numbers) {
            column.push(number);
        }
        self.costs.push((!sum.costs.is_empty()).then(|| sum.costs.trim_start()));
    }

    /// Whether nothing is added.
    pub(crate) fn is_empty(&self) -> bool {
        self.workspace.is_empty()
    }

    /// Binds the parameters of [`insertion`].
    pub(crate) fn bind<'q>(&'q self, query: BoundQuery<'q>) -> BoundQuery<'q> {
        let query = query.bind(&self.workspace).bind(&self.hour).bind(&self.dimension);
        let query = query.bind(&self.value).bind(&self.graph).bind(&self.graph_name);
        let query = query.bind(&self.version).bind(&self.state_version).bind(&self.actor);
        let query = query.bind(&self.user);
        let query = self.numbers.iter().fold(query, |query, numbers| query.bind(numbers));
        query.bind(&self.costs)
    }
}

/// A statement whose parameters are bound one by one.
pub(crate) type BoundQuery<'q> =
    sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// The statement that adds sums, to be a part of another one or alone: its parameters begin after so many others.
/// `condition` is its `where` clause, or empty.
pub(crate) fn insertion(after: usize, condition: &str) -> String {
    const TYPES: [&str; 10] = [
        "uuid[]",
        "timestamptz[]",
        "text[]",
        "text[]",
        "uuid[]",
        "text[]",
        "int4[]",
        "int4[]",
        "text[]",
        "text[]",
    ];
    let kinds = TYPES.into_iter().chain([("int8[]"); NUMBERS.len()]).chain(["text[]"]);
    let parameters: Vec<String> =
        kinds.enumerate().map(|(at, kind)| format!("${}::{kind}", after + at + 1)).collect();
    let (parameters, numbers) = (parameters.join(", "), NUMBERS.join(", "));
    format!(
        "insert into usage_hours (workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version,
             state_version, created_by, user_id, {numbers}, cost)
         select workspace_id, hour, 'run', dimension, value, graph_id, graph_name, graph_version, state_version,
             created_by, user_id, {numbers},
             (select sum(cost::numeric) from unnest(string_to_array(costs, ' ')) as cost)
         from unnest({parameters}) as counted (workspace_id, hour, dimension, value, graph_id, graph_name,
             graph_version, state_version, created_by, user_id, {numbers}, costs) {condition}"
    )
}

/// Writes sums.
pub(crate) async fn add(
    connection: &mut PgConnection,
    sums: &UsageSums<'_>,
) -> Result<(), StoreError> {
    let columns = sums.columns();
    if columns.is_empty() {
        return Ok(());
    }
    let statement = insertion(0, "");
    columns.bind(sqlx::query(sqlx::AssertSqlSafe(statement))).execute(connection).await?;
    Ok(())
}
