//! Usage over time: read for clients, and merged by the hour in the background. May not know SQL.

mod merge;

use dsrs::problem::{At, Code, Problems};

use crate::{App, AppError, Invalid};
use dsrs_store::Scope;
use dsrs_store::usage::{self, UsageQuery, UsageRow, UsageScoreRow};

pub(crate) use merge::merge_always;

/// The most rows of an answer.
pub(crate) const MOST_ROWS: usize = 5_000;

/// The mean of the scores of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageScore {
    pub name: String,
    pub mean: f64,
    pub count: i64,
}

/// Sums, and the scores that were given to the same runs.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageItem {
    pub row: UsageRow,
    pub scores: Vec<UsageScore>,
}

impl App {
    /// The usage of a workspace, oldest first.
    pub async fn usage(
        &self,
        scope: &Scope,
        query: &UsageQuery,
    ) -> Result<Vec<UsageItem>, AppError> {
        let most = i64::try_from(MOST_ROWS).unwrap_or(i64::MAX).saturating_add(1);
        let rows = usage::read(scope, &self.db, query, most).await?;
        let scores = usage::read_scores(scope, &self.db, query, most).await?;
        if rows.len() > MOST_ROWS || scores.len() > MOST_ROWS {
            let detail = format!(
                "the usage has more than {MOST_ROWS} rows; ask for less time, longer intervals, or fewer of `by`"
            );
            let mut problems = Problems::new();
            problems.add(&At::Root, Code::TooLarge, detail);
            return Err(AppError::invalid(Invalid::Request, problems));
        }
        Ok(with_scores(rows, scores))
    }
}

/// Adds each score to the row with the same values. Both lists have the same order.
fn with_scores(rows: Vec<UsageRow>, scores: Vec<UsageScoreRow>) -> Vec<UsageItem> {
    let mut scores = scores.into_iter().peekable();
    let item = |row: UsageRow| {
        let mut own = Vec::new();
        while let Some(found) = scores.next_if(|found| has_same_values(&row, &found.usage)) {
            let count = found.usage.feedback;
            own.push(UsageScore { name: found.score, mean: found.mean, count });
        }
        UsageItem { row, scores: own }
    };
    rows.into_iter().map(item).collect()
}

fn has_same_values(one: &UsageRow, other: &UsageRow) -> bool {
    one.start == other.start
        && one.graph_name == other.graph_name
        && one.graph_version == other.graph_version
        && one.state_version == other.state_version
        && one.created_by == other.created_by
        && one.user_id == other.user_id
        && one.work == other.work
}
