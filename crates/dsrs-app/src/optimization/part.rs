//! Helping with an optimization: a part of its job makes rollouts that the holder offers, each within the grant of
//! its offer, and records replies and rollouts where the holder finds them. May not know optimizers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{Budget, BudgetAccount, BudgetedReplies};
use dsrs::optimize::{Candidate, EarlyStop, Evaluator, Example, ExampleSets, Rollout};
use dsrs::problem::Problems;
use dsrs::value::Payload;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep};

use crate::AppError;
use crate::job::active::{ActiveGuard, StopReason};
use crate::job::attempt::JobAttempt;
use crate::optimization::example_sets::ExampleSources;
use crate::optimization::offers::read_variation;
use crate::optimization::part_records::{OfferReplies, PartRecord, write_records};
use crate::optimization::plan::{OptimizationPlan, read_budget};
use crate::optimization::program_builder::CandidateBuilder;
use crate::optimization::rollout_spans::RolloutSpans;
use crate::optimization::usage::usage;
use crate::program::read_state;
use dsrs_store::optimization::OptimizationRow;
use dsrs_store::optimization_part::{self, ClaimedOffer, OfferStep};
use dsrs_store::optimization_record::{self, RecordKey};
use dsrs_store::persist;

/// How often a helper with a free place looks for offers.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a helper waits for offers before it ends its part: between two evaluations, an optimizer calls an LM
/// for proposals.
const LINGER: Duration = Duration::from_secs(5);

/// Records that may wait for the writer. A sender of more waits.
const WAITING: usize = 256;

/// A loaded part of an optimization.
pub struct OptimizationPart {
    row: OptimizationRow,
    builder: CandidateBuilder,
    examples: HashMap<Arc<str>, Example>,
    evaluator: Evaluator,
    concurrency: usize,
    programs: Mutex<HashMap<RecordKey, Option<Arc<Program>>>>,
}

impl OptimizationPart {
    pub(crate) async fn load(
        attempt: &JobAttempt,
        row: OptimizationRow,
        plan: &OptimizationPlan,
        guard: &ActiveGuard,
    ) -> Result<Self, AppError> {
        let (app, scope) = (&attempt.app, &attempt.job.scope);
        let (id, version, state) = (row.graph_id, row.graph_version, row.state_version);
        let program = app.program_at(scope, id, version, state).await?;
        let builder = CandidateBuilder::new(app.clone(), scope.clone(), &row).await?;
        let metric = app.stored_metric(scope, &plan.metric, &program).await?;
        let observer = RolloutSpans::observer(attempt, &row, metric.name());
        let given = ExampleSources::reread(app, scope, &program, &plan.picks).await?;
        let sets = given.divide(plan.seed, &mut Problems::new());
        let broken =
            || AppError::Internal("the examples of an optimization do not load".to_owned());
        let ExampleSets { train, val, held_out } = sets.ok_or_else(broken)?;
        let examples = train.into_iter().chain(val).chain(held_out);
        let limit = app.limits.run_timeout;
        let models = app.observed_models(&row.graph_name);
        Ok(Self {
            row,
            builder,
            examples: examples.map(|example| (example.id.clone(), example)).collect(),
            evaluator: Evaluator {
                models,
                indexes: Some(app.indexes.of_workspace(scope)),
                call_record: None,
                metric: Arc::new(metric),
                budgeted: None,
                timeout: plan.timeout.map_or(limit, |wanted| wanted.min(limit)),
                cancelled: guard.cancellation(),
                observer,
            },
            concurrency: plan.concurrency.min(app.worker.batch_concurrency).max(1) as usize,
            programs: Mutex::default(),
        })
    }

    /// Makes offered rollouts until none is offered for a while, the part is stopped, or the server stops. Then the
    /// part ends.
    pub(crate) async fn run(
        &self,
        attempt: &JobAttempt,
        guard: &ActiveGuard,
    ) -> Result<(), AppError> {
        let (db, lease) = (&attempt.app.db, attempt.job.lease);
        // If another attempt has left the part, the holder of the optimization makes its rollouts.
        persist(|| optimization_part::return_offers(db, lease)).await?;
        let (sender, records) = mpsc::channel(WAITING);
        let (worked, written) = tokio::join!(
            self.make_all(attempt, guard, sender),
            write_records(&attempt.app, &attempt.job, self.row.id, guard, records)
        );
        worked?;
        written?;
        if guard.stopped() != Some(StopReason::Lost) {
            persist(|| optimization_part::end(db, lease)).await?;
        }
        Ok(())
    }

    async fn make_all(
        &self,
        attempt: &JobAttempt,
        guard: &ActiveGuard,
        sender: mpsc::Sender<PartRecord>,
    ) -> Result<(), AppError> {
        let (app, stop) = (&attempt.app, guard.cancellation());
        let (mut running, mut idle_since) = (FuturesUnordered::new(), Instant::now());
        while !stop.is_cancelled() && !app.shutdown.is_draining() {
            let free = i64::try_from(self.concurrency - running.len()).unwrap_or(0);
            if free > 0 {
                let (db, lease) = (&app.db, attempt.job.lease);
                let claimed = persist(|| optimization_part::claim(db, lease, free)).await?;
                running.extend(claimed.into_iter().map(|offer| self.make(attempt, offer, &sender)));
            }
            if !running.is_empty() {
                idle_since = Instant::now();
            } else if idle_since.elapsed() >= LINGER {
                return Ok(());
            }
            tokio::select! {
                Some(()) = running.next() => {}
                () = sleep(POLL_INTERVAL) => {}
                () = stop.cancelled() => {}
                () = app.shutdown.draining() => {}
            }
        }
        // What is paid for is recorded.
        while running.next().await.is_some() {}
        Ok(())
    }

    /// Makes a rollout and passes it on. A rollout that stops for no reason of its own remains an open offer.
    async fn make(
        &self,
        attempt: &JobAttempt,
        offer: ClaimedOffer,
        sender: &mpsc::Sender<PartRecord>,
    ) {
        let (Ok(key), Ok(hash)) =
            (RecordKey::try_from(offer.key.as_slice()), RecordKey::try_from(offer.hash.as_slice()))
        else {
            return;
        };
        let account = account(&offer);
        let replies = OfferReplies::new(attempt, self.row.id, key, account.spent(), sender);
        let budgeted = Arc::new(BudgetedReplies::new(account, replies));
        let (rollout, step) = match self.roll_out(attempt, key, hash, &offer, &budgeted).await {
            Ok(Some(rollout)) if rollout.is_measured() => (Some(rollout), OfferStep::Made),
            // The holder tries what has no score once more.
            Ok(Some(_) | None) | Err(EarlyStop::BudgetSpent(_) | EarlyStop::Failed(_)) => {
                (None, OfferStep::Returned)
            }
            Err(EarlyStop::Cancelled | EarlyStop::NotRecorded(_)) => (None, OfferStep::Open),
        };
        // With requests that were given up, because they may have been paid for.
        let spent = budgeted.account().spent();
        // Without a writer the part is lost.
        let _ = sender.send(PartRecord::Offer { key, step, rollout, spent }).await;
    }

    /// The rollout of an offer; `None` if this worker cannot make it.
    async fn roll_out(
        &self,
        attempt: &JobAttempt,
        key: RecordKey,
        hash: RecordKey,
        offer: &ClaimedOffer,
        budgeted: &Arc<BudgetedReplies>,
    ) -> Result<Option<Rollout>, EarlyStop> {
        let (scope, db) = (&attempt.job.scope, &attempt.app.db);
        let known = persist(|| optimization_record::rollout(scope, db, self.row.id, &key)).await;
        let known = known.map_err(|error| EarlyStop::NotRecorded(error.cause().into()))?;
        let known = known.and_then(|text| Payload::from_record(&text).ok());
        if let Some(rollout) = known.as_ref().and_then(Rollout::from_payload) {
            return Ok(Some(rollout));
        }
        let variation = offer.variation.as_deref().map(read_variation);
        let (Some(program), Some(example), false) = (
            self.program(attempt, hash).await?,
            self.examples.get(offer.example.as_str()),
            variation == Some(None),
        ) else {
            return Ok(None);
        };
        let evaluator = Evaluator { budgeted: Some(budgeted.clone()), ..self.evaluator.clone() };
        evaluator.roll_out(&program, example, variation.flatten()).await.map(Some)
    }

    /// The program of a candidate; `None` if it does not build.
    async fn program(
        &self,
        attempt: &JobAttempt,
        hash: RecordKey,
    ) -> Result<Option<Arc<Program>>, EarlyStop> {
        // Others that need it wait, instead of building it too.
        let mut programs = self.programs.lock().await;
        if let Some(known) = programs.get(&hash) {
            return Ok(known.clone());
        }
        let built = self.build(attempt, &hash).await;
        let built = built.map_err(|error| EarlyStop::NotRecorded(error.to_string().into()))?;
        programs.insert(hash, built.clone());
        Ok(built)
    }

    async fn build(
        &self,
        attempt: &JobAttempt,
        hash: &RecordKey,
    ) -> Result<Option<Arc<Program>>, AppError> {
        let (scope, db, id) = (&attempt.job.scope, &attempt.app.db, self.row.id);
        let row = persist(|| optimization_part::program(scope, db, id, hash)).await?;
        let Some(row) = row else { return Ok(None) };
        let Ok(document) = Payload::from_record(&row.definition) else { return Ok(None) };
        let document = match document == **self.builder.document() {
            true => self.builder.document().clone(),
            false => Arc::new(document),
        };
        let candidate = Candidate { document, state: read_state(&row.state)? };
        Ok(self.builder.program(&candidate).await?.ok().map(Arc::new))
    }
}

/// The account of an offer: its grant, of which something may be spent. A grant that cannot be read allows nothing.
fn account(offer: &ClaimedOffer) -> BudgetAccount {
    let grant = Payload::from_json(&offer.budget).ok();
    let nothing = Budget { lm_calls: Some(0), ..Budget::default() };
    let budget = grant.as_ref().and_then(Payload::as_map).map_or(nothing, read_budget);
    BudgetAccount::open(Budget { seconds: offer.seconds, ..budget }, usage(&offer.spent), 0.0)
}
