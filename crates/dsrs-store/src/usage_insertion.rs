//! The statement that adds sums of usage, alone or as a part of another one. May not know what is counted.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::StoreError;
use super::usage_count::{NUMBERS, Sum, SumKey, UsageSums};

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
    pub(crate) fn of(sums: &'s UsageSums<'_>) -> Self {
        let mut columns = Self::default();
        sums.iter().for_each(|(key, sum)| columns.push(key, sum));
        columns
    }

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
    let columns = UsageColumns::of(sums);
    if columns.is_empty() {
        return Ok(());
    }
    let statement = insertion(0, "");
    columns.bind(sqlx::query(sqlx::AssertSqlSafe(statement))).execute(connection).await?;
    Ok(())
}
