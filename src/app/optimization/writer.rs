//! The one who writes what an attempt at an optimization keeps: in groups and in order, each group
//! one transaction under the lease, with the candidates of which something is new and with what was
//! spent by then. Knows nothing of what optimizers do.

use std::sync::Arc;

use dsrs::lm::BudgetAccount;
use dsrs::optimize::{Trial, Workbench};
use dsrs::value::Payload;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::app::job::active::{ActiveGuard, StopReason};
use crate::app::optimization::progress::{Hearing, scored_json};
use crate::app::optimization::purchases::Item;
use crate::app::persist::persist;
use crate::store::StoreError;
use crate::store::batch::Spent;
use crate::store::job::Job;
use crate::store::optimization_candidate::CandidateRow;
use crate::store::optimization_work::{self, Kept};

/// What is written at a time, at most.
const GROUP: usize = 128;

/// Writes what comes, until nothing does.
pub(crate) struct Writer<'w> {
    pub(crate) app: &'w App,
    pub(crate) job: &'w Job,
    pub(crate) guard: &'w ActiveGuard,
    pub(crate) bench: &'w Workbench,
    pub(crate) account: &'w BudgetAccount,
    pub(crate) hearing: &'w Arc<Hearing>,
    /// How long earlier attempts took.
    pub(crate) earlier: f64,
    /// When this one began.
    pub(crate) begun: Instant,
}

impl Writer<'_> {
    /// Writes until the work is done and all of it is written, or the lease is lost.
    pub(crate) async fn write_all(
        &self,
        mut items: mpsc::Receiver<Item>,
        done: &CancellationToken,
    ) -> Result<(), StoreError> {
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let mut ends = false;
            tokio::select! {
                _ = items.recv_many(&mut group, GROUP) => {}
                () = self.hearing.news() => {}
                () = done.cancelled() => ends = true,
            }
            if ends {
                items.close();
                while items.recv_many(&mut group, GROUP).await > 0 {}
            }
            if !self.write(group.drain(..)).await? {
                self.guard.stop(StopReason::Lost);
                return Ok(());
            }
            if ends {
                return Ok(());
            }
        }
    }

    async fn write(&self, items: impl Iterator<Item = Item>) -> Result<bool, StoreError> {
        let mut kept = Kept {
            candidates: self.candidates(),
            spent: spent(self.account),
            seconds: self.earlier + self.begun.elapsed().as_secs_f64(),
            ..Kept::default()
        };
        let mut waiting = Vec::new();
        for item in items {
            match item {
                Item::Purchase(key, reply, written) => {
                    kept.purchases.push((key, reply.to_payload().to_json()));
                    waiting.push(written);
                }
                Item::Rollout(key, rollout) => {
                    kept.rollouts.push((key, rollout.to_payload().to_json()));
                }
            }
        }
        let (scope, db, lease) = (&self.job.scope, &self.app.db, self.job.lease);
        let held = persist(|| optimization_work::keep(scope, db, lease, &kept)).await?;
        if held {
            // Who does not wait any more need not be told.
            for written in waiting {
                let _ = written.send(());
            }
        }
        Ok(held)
    }

    /// The candidates of which something is new.
    fn candidates(&self) -> Vec<CandidateRow> {
        let news = self.hearing.take_news();
        if news.is_empty() {
            return Vec::new();
        }
        let trials = self.bench.trials();
        let news = news.into_iter().filter_map(|id| trials.get(id));
        news.map(|trial| candidate_row(self.bench, trial)).collect()
    }
}

/// What was spent, as it is stored.
pub(crate) fn spent(account: &BudgetAccount) -> Spent {
    let spent = account.spent();
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    Spent {
        lm_calls: count(spent.lm_calls),
        input_tokens: count(spent.input_tokens),
        output_tokens: count(spent.output_tokens),
        cached_tokens: count(spent.cached_tokens),
        cost: spent.cost,
    }
}

fn candidate_row(bench: &Workbench, trial: &Trial) -> CandidateRow {
    let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let (candidate, base) = (&trial.candidate, &bench.task().base);
    let changed = candidate.document != base.document;
    CandidateRow {
        number: number(trial.id.0),
        parents: trial.parents.iter().map(|parent| number(parent.0)).collect(),
        origin: Payload::Str(trial.origin.clone()).to_json(),
        scores: scores_json(trial),
        objective: trial.full.as_ref().map(|full| full.objective),
        state: candidate.state.to_payload().to_json(),
        definition: changed.then(|| candidate.document.to_json()),
    }
}

fn scores_json(trial: &Trial) -> String {
    let mut object = crate::app::json::JsonObject::new();
    object.raw_or_null("full", trial.full.as_ref().map(scored_json).as_deref());
    object.list("partial", trial.partial.iter().map(scored_json));
    object.finish()
}
