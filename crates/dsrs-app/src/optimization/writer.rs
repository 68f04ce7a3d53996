//! The one who writes what an attempt at an optimization keeps: in groups and in order, each group
//! one transaction under the lease, with the candidates of which something is new and with what was
//! spent by then. Knows nothing of what optimizers do.

use std::sync::Arc;

use dsrs::lm::BudgetAccount;
use dsrs::optimize::{FailureCause, Trial, Workbench};
use dsrs::value::Payload;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::App;
use crate::job::active::{ActiveGuard, StopReason};
use crate::optimization::progress::{OptimizationListener, scored_json};
use crate::optimization::recorded_replies::PendingRecord;
use crate::optimization::usage::totals;
use dsrs_store::StoreError;
use dsrs_store::job::Job;
use dsrs_store::optimization_candidate::CandidateRow;
use dsrs_store::optimization_work::{self, OptimizationRecords};
use dsrs_store::persist;

/// Records that are written at a time.
const GROUP: usize = 128;

/// Stores records in groups until the optimizer has finished.
pub(crate) struct RecordWriter<'w> {
    pub(crate) app: &'w App,
    pub(crate) job: &'w Job,
    pub(crate) guard: &'w ActiveGuard,
    pub(crate) bench: &'w Workbench,
    pub(crate) account: &'w BudgetAccount,
    pub(crate) listener: &'w Arc<OptimizationListener>,
    /// The seconds that earlier attempts took.
    pub(crate) earlier: f64,
    /// When this attempt began.
    pub(crate) begun: Instant,
}

impl RecordWriter<'_> {
    /// Writes until the work is finished and all records are stored, or the lease is lost.
    pub(crate) async fn write_all(
        &self,
        mut items: mpsc::Receiver<PendingRecord>,
        done: &CancellationToken,
    ) -> Result<(), StoreError> {
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let mut ends = false;
            tokio::select! {
                _ = items.recv_many(&mut group, GROUP) => {}
                () = self.listener.candidates_changed() => {}
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

    async fn write(&self, items: impl Iterator<Item = PendingRecord>) -> Result<bool, StoreError> {
        let mut records = OptimizationRecords {
            candidates: self.candidates(),
            seconds: self.earlier + self.begun.elapsed().as_secs_f64(),
            ..OptimizationRecords::default()
        };
        let mut waiting = Vec::new();
        for item in items {
            match item {
                PendingRecord::Purchase(key, reply, written) => {
                    records.purchases.push((key, reply.to_payload().to_json()));
                    waiting.push(written);
                }
                PendingRecord::Rollout(key, rollout) => {
                    records.rollouts.push((key, rollout.to_payload().to_json()));
                }
                PendingRecord::Offer { key, grant, spent } => {
                    // Counted here, so that it is stored in the transaction that removes the offer.
                    self.account.settle_grant(grant, spent);
                    records.counted.push(key);
                }
            }
        }
        records.spent = totals(&self.account.spent());
        let (scope, db, lease) = (&self.job.scope, &self.app.db, self.job.lease);
        let held = persist(|| optimization_work::record(scope, db, lease, &records)).await?;
        if held {
            // The receiver is gone if its task was stopped.
            for written in waiting {
                let _ = written.send(());
            }
        }
        Ok(held)
    }

    /// The candidates that are new or have changed.
    fn candidates(&self) -> Vec<CandidateRow> {
        let changed = self.listener.take_changed();
        if changed.is_empty() {
            return Vec::new();
        }
        let trials = self.bench.trials();
        let changed = changed.into_iter().filter_map(|id| trials.get(id));
        changed.map(|trial| candidate_row(self.bench, trial)).collect()
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
    let mut object = crate::json::JsonObject::new();
    object.raw_or_null("full", trial.full.as_ref().map(scored_json).as_deref());
    object.list("partial", trial.partial.iter().map(scored_json));
    object.raw_or_null("cause", trial.cause.as_ref().map(cause_json).as_deref());
    object.finish()
}

/// Why examples of a candidate failed.
fn cause_json(cause: &FailureCause) -> String {
    let FailureCause { failure, count } = cause;
    let mut object = crate::json::JsonObject::new();
    object.text("code", &failure.code).text("detail", &failure.message).shown("n", count);
    object.shown("unmeasured", failure.is_unmeasured);
    object.finish()
}
