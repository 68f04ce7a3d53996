//! What runs add to the sums of usage, added up for a group of runs. `usage_insertion` writes it as a few rows. May not
//! know who ends a run. Runs that servers of the release before write are counted by triggers
//! (`migrations/0112_usage.sql`).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use dsrs::lm::Usage;
use uuid::Uuid;

use super::run::{RunRow, RunStatus};
use super::run_usage::SpentUsage;

/// The run that is counted.
#[derive(Clone, Debug)]
pub(crate) struct CountedRun<'r> {
    pub(crate) workspace: Uuid,
    /// On whose behalf.
    pub(crate) actor: &'r str,
    pub(crate) graph: Uuid,
    pub(crate) graph_name: &'r str,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) status: RunStatus,
    pub(crate) duration_ms: i64,
    pub(crate) tags: Vec<String>,
    pub(crate) user: Option<&'r str>,
}

impl<'r> CountedRun<'r> {
    pub(crate) fn of(workspace: Uuid, actor: &'r str, row: &'r RunRow) -> Self {
        Self {
            workspace,
            actor,
            graph: row.graph_id,
            graph_name: &row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
            created_at: row.created_at,
            status: row.status,
            duration_ms: row.duration_ms.unwrap_or(0),
            tags: row.labels.tags(),
            user: row.labels.user_id.as_deref(),
        }
    }
}

/// Where a sum is added.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SumKey<'r> {
    pub(crate) workspace: Uuid,
    /// When the run was created.
    pub(crate) hour: i64,
    pub(crate) graph: Uuid,
    pub(crate) graph_name: &'r str,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
    pub(crate) actor: &'r str,
    pub(crate) user: Option<&'r str>,
    pub(crate) dimension: &'static str,
    pub(crate) value: Option<String>,
}

/// Integers of a sum, in the order of [`NUMBERS`].
pub(crate) type Numbers = [i64; NUMBERS.len()];

/// The columns of the integers.
pub(crate) const NUMBERS: [&str; 10] = [
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
pub(crate) struct Sum {
    pub(crate) numbers: Numbers,
    /// The costs as decimal numbers, which the database adds up exactly.
    pub(crate) costs: String,
}

/// Sums to add.
#[derive(Debug, Default)]
pub(crate) struct UsageSums<'r>(BTreeMap<SumKey<'r>, Sum>);

/// Whether something is added or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SumSign {
    Plus,
    Minus,
}

impl SumSign {
    fn apply(self, number: i64) -> i64 {
        match self {
            Self::Plus => number,
            Self::Minus => -number,
        }
    }
}

impl<'r> UsageSums<'r> {
    /// Counts a run that has ended, without its usage.
    pub(crate) fn add_run(&mut self, run: &CountedRun<'r>, usage: &SpentUsage, sign: SumSign) {
        let counts = [
            1,
            i64::from(run.status == RunStatus::Failed),
            i64::from(run.status == RunStatus::Cancelled),
            run.duration_ms,
        ];
        let counts = counts.map(|count| sign.apply(count));
        self.for_each_key(run, usage, |sum, _| {
            for (number, count) in sum.numbers.iter_mut().zip(counts) {
                *number = number.saturating_add(count);
            }
        });
    }

    /// Adds the usage of a run.
    pub(crate) fn add_usage(&mut self, run: &CountedRun<'r>, usage: &SpentUsage, sign: SumSign) {
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
                *number = number.saturating_add(sign.apply(bounded(spent)));
            }
            if let Some(cost) = spent.cost {
                let sign = if sign == SumSign::Minus { "-" } else { "" };
                sum.costs.push_str(&format!(" {sign}{cost}"));
            }
        });
    }

    /// Its sum as a whole, those of its tags, and those of its models.
    fn for_each_key(
        &mut self,
        run: &CountedRun<'r>,
        usage: &SpentUsage,
        mut change: impl FnMut(&mut Sum, &Usage),
    ) {
        let key = |dimension, value| run.key(dimension, value);
        change(self.0.entry(key("whole", None)).or_default(), &usage.whole);
        for tag in &run.tags {
            change(self.0.entry(key("tag", Some(tag.clone()))).or_default(), &usage.whole);
        }
        for model in &usage.models {
            let sum = self.0.entry(key("model", Some(model.alias.clone()))).or_default();
            change(sum, &model.usage);
        }
    }

    /// The sums that are not of nothing, in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SumKey<'r>, &Sum)> {
        self.0.iter().filter(|(_, sum)| {
            sum.numbers.iter().any(|number| *number != 0) || !sum.costs.is_empty()
        })
    }
}

impl<'r> CountedRun<'r> {
    fn key(&self, dimension: &'static str, value: Option<String>) -> SumKey<'r> {
        SumKey {
            workspace: self.workspace,
            hour: self.created_at.timestamp().div_euclid(3600),
            graph: self.graph,
            graph_name: self.graph_name,
            version: self.version,
            state_version: self.state_version,
            actor: self.actor,
            user: self.user,
            dimension,
            value,
        }
    }
}

/// A count that a model may have made up: many of the largest one still have a sum.
fn bounded(count: u64) -> i64 {
    i64::try_from(count.min(1 << 50)).unwrap_or(i64::MAX)
}
