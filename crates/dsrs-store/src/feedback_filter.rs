//! Runs by their feedback: what lists of runs read instead of all runs. May not know the other filters of a list.

use sqlx::{Postgres, QueryBuilder};

use super::graph_ref::GraphRef;
use super::{Cursor, Scope};

/// Which feedback a run has, in one piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedbackFilter {
    /// A score of this name.
    pub score: Option<String>,
    /// A number of this or more.
    pub min: Option<f64>,
    /// A number of this or less.
    pub max: Option<f64>,
    /// This category.
    pub category: Option<String>,
    /// From this source.
    pub source: Option<String>,
    /// Corrected outputs.
    pub is_corrected: bool,
}

impl FeedbackFilter {
    /// Reads the runs that have such feedback, instead of `runs`, in the order of the list: an index of
    /// `run_feedback` has them in that order, as `feedback.created_at` and `feedback.id`.
    pub(super) fn push_source(
        &self,
        sql: &mut QueryBuilder<Postgres>,
        scope: &Scope,
        graph: Option<&GraphRef>,
        after: Option<Cursor>,
    ) {
        sql.push(
            " from (select distinct run_created_at as created_at, run_id as id from run_feedback where workspace_id = ",
        );
        sql.push_bind(scope.workspace);
        if let Some(name) = graph.and_then(GraphRef::name) {
            sql.push(" and graph_name = ").push_bind(name.to_owned());
        }
        self.push_conditions(sql);
        if let Some(after) = after {
            sql.push(" and (run_created_at, run_id) < (").push_bind(after.created_at);
            sql.push(", ").push_bind(after.id).push(")");
        }
        sql.push(" order by run_created_at desc, run_id desc) as feedback");
        // With a limit the planner looks up each run, and so it does not read the others.
        sql.push(" cross join lateral (select * from runs where id = feedback.id limit 1) as runs");
    }

    fn push_conditions(&self, sql: &mut QueryBuilder<Postgres>) {
        if let Some(name) = &self.score {
            // A partial index is only used where its condition is written.
            sql.push(" and name is not null and name = ").push_bind(name.clone());
        }
        if let Some(least) = self.min {
            sql.push(" and score >= ").push_bind(least);
        }
        if let Some(most) = self.max {
            sql.push(" and score <= ").push_bind(most);
        }
        if let Some(category) = &self.category {
            sql.push(" and category = ").push_bind(category.clone());
        }
        if let Some(source) = &self.source {
            sql.push(" and source = ").push_bind(source.clone());
        }
        if self.is_corrected {
            sql.push(" and outputs is not null");
        }
    }
}
