//! What an example of a graph will probably use: from its last evaluation, else from its recent runs, else only the
//! number of its predictors. An estimate says what it rests on.

use std::sync::Arc;

use dsrs::lm::Usage;

use crate::run::documents::usage_of_json;
use crate::{App, AppError};
use dsrs_store::batch::UsageTotals;
use dsrs_store::evaluation::{self, EvaluationRow};
use dsrs_store::graph::{GraphRef, VersionSelection};
use dsrs_store::run::{self, RunFilter, RunStatus};
use dsrs_store::{ListQuery, Scope};

/// The newest runs, or evaluations, that an estimate reads.
const NEWEST: u32 = 50;

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimateBasis {
    /// The examples of the last evaluation that has any.
    Evaluation { examples: i32 },
    /// Recent runs that succeeded.
    Runs { count: usize },
    /// The predictors of the graph, each called once; tokens and cost are not known.
    Predictors { count: usize },
}

/// What one example probably uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageEstimate {
    pub basis: EstimateBasis,
    pub lm_calls: f64,
    /// Input and output tokens.
    pub tokens: Option<f64>,
    /// The cost, if the prices are known.
    pub cost: Option<f64>,
}

impl App {
    /// What one example of a graph probably uses, without the metric.
    pub async fn usage_estimate(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
    ) -> Result<UsageEstimate, AppError> {
        let newest = VersionSelection { version: None, state_version: None };
        let (pin, program) = self.ready(scope, graph, newest).await?;
        let by_id = GraphRef::Id(pin.id);
        let list = ListQuery::new(None, NEWEST);
        let known = evaluation::list(scope, &self.db, Some(&by_id), list).await?;
        let measured =
            |row: &&EvaluationRow| row.tally.done > 0 && row.graph_version == pin.version;
        if let Some(row) = known.items.iter().find(measured) {
            return Ok(of_evaluation(row.spent, row.tally.done));
        }
        let filter = RunFilter {
            graph: Some(by_id),
            status: Some(RunStatus::Succeeded),
            ..RunFilter::default()
        };
        let runs = run::list(scope, &self.db, &filter, ListQuery::new(None, NEWEST)).await?;
        let own = runs.items.iter().filter(|run| run.graph_version == pin.version);
        let usages: Vec<Usage> = own.map(|run| usage_of_json(&run.usage)).collect();
        let count = program.predictors().len();
        Ok(of_runs(&usages).unwrap_or(UsageEstimate {
            basis: EstimateBasis::Predictors { count },
            lm_calls: count as f64,
            tokens: None,
            cost: None,
        }))
    }
}

fn of_evaluation(spent: UsageTotals, done: i32) -> UsageEstimate {
    let share = |total: f64| total / f64::from(done);
    UsageEstimate {
        basis: EstimateBasis::Evaluation { examples: done },
        // Lossless: counts of calls and tokens are far below 2^52.
        lm_calls: share(spent.lm_calls as f64),
        tokens: Some(share((spent.input_tokens + spent.output_tokens) as f64)),
        cost: spent.cost.map(share),
    }
}

fn of_runs(usages: &[Usage]) -> Option<UsageEstimate> {
    let count = usages.len();
    let mean = |of: &dyn Fn(&Usage) -> f64| usages.iter().map(of).sum::<f64>() / count as f64;
    let costs: Option<Vec<f64>> = usages.iter().map(|usage| usage.cost).collect();
    (count > 0).then(|| UsageEstimate {
        basis: EstimateBasis::Runs { count },
        lm_calls: mean(&|usage| usage.lm_calls as f64),
        tokens: Some(mean(&|usage| (usage.input_tokens + usage.output_tokens) as f64)),
        cost: costs.map(|costs| costs.iter().sum::<f64>() / count as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_of_runs_is_their_mean_and_a_missing_price_makes_the_cost_unknown() {
        let read = usage_of_json;
        let one = read(r#"{"lm_calls": 1, "input_tokens": 10, "output_tokens": 2, "cost": 0.5}"#);
        let two = read(r#"{"lm_calls": 2, "input_tokens": 20, "output_tokens": 4, "cost": 1.5}"#);
        let found = of_runs(&[one, two]).unwrap();
        assert_eq!((found.lm_calls, found.tokens, found.cost), (1.5, Some(18.0), Some(1.0)));
        let unpriced = read(r#"{"lm_calls": 2, "cost": null}"#);
        assert_eq!(of_runs(&[one, unpriced]).unwrap().cost, None);
        assert_eq!(of_runs(&[]), None);
    }
}
