//! Optimizations as a kind of job. Each attempt starts from the beginning, and finds the replies that
//! earlier attempts paid for. Workers of other servers help with a part of the job (`part`).

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{BudgetAccount, BudgetedReplies};
use dsrs::optimize::{
    Candidate, CandidateSearch, EarlyStop as Halt, Evaluator, Example, ExampleSets,
    OptimizationReport, RolloutOffers, Task, Workbench, create_optimizer, optimize,
};
use dsrs::predict::LmOverrides;
use dsrs::problem::At;
use dsrs::time_limit::TimeLimit;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::AppError;
use crate::clock::{now, timestamp};
use crate::event::EventKind;
use crate::event::log_writer::EventLog;
use crate::job::active::{ActiveGuard, StopReason};
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::kind::JobKind;
use crate::json::JsonObject;
use crate::optimization::example_sets::ExampleSources;
use crate::optimization::offers::SharedRollouts;
use crate::optimization::part::OptimizationPart;
use crate::optimization::plan::OptimizationPlan;
use crate::optimization::program_builder::CandidateBuilder;
use crate::optimization::progress::OptimizationListener;
use crate::optimization::recorded_replies::{OptimizationStore, PendingRecord};
use crate::optimization::result::OptimizationOutcome;
use crate::optimization::rollout_spans::RolloutSpans;
use crate::optimization::usage::usage;
use crate::optimization::writer::RecordWriter;
use dsrs_store::job;
use dsrs_store::optimization::OptimizationRow;
use dsrs_store::optimization_offer;
use dsrs_store::optimization_part;
use dsrs_store::optimization_record;
use dsrs_store::optimization_work::{self, OptimizationEnd};
use dsrs_store::persist;
use dsrs_store::run::RunStatus;
use dsrs_store::run_event;

/// The time limit of computations, which cancellation ends much earlier.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Everything that the optimizer works with.
struct WorkbenchSetup {
    bench: Workbench,
    optimizer: Box<dyn CandidateSearch>,
    held_out: Vec<Example>,
    budgeted: Arc<BudgetedReplies>,
    listener: Arc<OptimizationListener>,
    offers: Option<Arc<SharedRollouts>>,
    items: mpsc::Receiver<PendingRecord>,
    begun: Instant,
}

/// The kind of job that works on an optimization.
pub struct Optimizations;

/// What an attempt works on.
pub enum OptimizationTask {
    Whole(Box<LoadedOptimization>),
    /// Rollouts that its holder offers.
    Part(Box<OptimizationPart>),
}

pub struct LoadedOptimization {
    row: OptimizationRow,
    plan: OptimizationPlan,
    log: Option<Arc<EventLog>>,
    setup: WorkbenchSetup,
}

impl JobKind for Optimizations {
    type Row = OptimizationRow;
    type Work = OptimizationTask;
    type Output = OptimizationOutcome;

    const IS_DIVIDED: bool = true;

    async fn load(attempt: &JobAttempt, guard: &ActiveGuard) -> Result<Self::Work, AppError> {
        if !attempt.is_part() {
            let (scope, db, lease) = (&attempt.job.scope, &attempt.app.db, attempt.job.lease);
            persist(|| optimization_offer::clear(scope, db, lease)).await?;
        }
        let row = attempt.optimization_row().await?;
        let plan = stored(OptimizationPlan::read(&row.request), "request")?;
        if attempt.is_part() {
            let part = OptimizationPart::load(attempt, row, &plan, guard).await?;
            return Ok(OptimizationTask::Part(Box::new(part)));
        }
        let log = attempt.optimization_log(&row).await?;
        let setup = Box::pin(attempt.set_up(&row, &plan, log.clone(), guard)).await?;
        let whole = LoadedOptimization { row, plan, log, setup };
        Ok(OptimizationTask::Whole(Box::new(whole)))
    }

    async fn run(
        attempt: &JobAttempt,
        work: OptimizationTask,
        guard: &Arc<ActiveGuard>,
    ) -> Result<AttemptEnd<OptimizationOutcome>, AppError> {
        let LoadedOptimization { row, plan, log, setup } = match work {
            OptimizationTask::Whole(whole) => *whole,
            OptimizationTask::Part(part) => {
                let limit = TimeLimit::new(Instant::now() + LONGEST, &guard.cancellation());
                limit.within(Box::pin(part.run(attempt, guard))).await?;
                return Ok(AttemptEnd::Released);
            }
        };
        // Boxed, here and below: the future of an optimization takes up to 150 KB, and each function that it passes through
        // by value would reserve as much of the stack of its thread.
        let optimizing = Box::pin(attempt.optimize(setup, &row, guard));
        let (bench, report) = match &log {
            Some(log) => log.write_during(&attempt.app.db, attempt.job.lease, optimizing).await?,
            None => optimizing.await?,
        };
        Box::pin(attempt.end_of_optimization(&row, &plan, &bench, report, guard)).await
    }

    async fn conclude(
        attempt: &JobAttempt,
        conclusion: Conclusion<OptimizationOutcome>,
    ) -> Result<bool, AppError> {
        if attempt.is_part() {
            let (db, lease) = (&attempt.app.db, attempt.job.lease);
            return Ok(persist(|| optimization_part::end(db, lease)).await?);
        }
        match conclusion {
            Conclusion::Finished(outcome) => attempt.finish_optimization(outcome.end()).await,
            Conclusion::Failed { code, detail } => {
                let error = attempt.problem_json(code, &detail);
                attempt.finish_optimization(OptimizationEnd::failed(&error, now())).await
            }
            Conclusion::Cancelled => {
                let row = attempt.optimization_row().await?;
                attempt.finish_cancelled(&row).await
            }
        }
    }

    fn abandoned(limit: u32) -> String {
        format!(
            "{limit} attempts in a row ended without progress, which is the limit (`worker.attempts`); \
             the candidates so far are stored"
        )
    }
}

impl JobAttempt {
    const fn is_part(&self) -> bool {
        self.job.parent.is_some()
    }

    async fn optimization_row(&self) -> Result<OptimizationRow, AppError> {
        let (scope, db, id) = (&self.job.scope, &self.app.db, self.job.divided());
        Ok(persist(|| job::get(scope, db, id)).await?)
    }

    /// How the attempt ended: with a result, or for another attempt to continue.
    async fn end_of_optimization(
        &self,
        row: &OptimizationRow,
        plan: &OptimizationPlan,
        bench: &Workbench,
        report: Result<OptimizationReport, Halt>,
        guard: &ActiveGuard,
    ) -> Result<AttemptEnd<OptimizationOutcome>, AppError> {
        let cancelled = guard.stopped() == Some(StopReason::Cancelled);
        Ok(match report {
            _ if guard.stopped() == Some(StopReason::Lost) => AttemptEnd::Released,
            // No client cancelled it: the server stops.
            Ok(report) if report.stopped == Some(Halt::Cancelled) && !cancelled => {
                AttemptEnd::Requeue
            }
            Ok(report) => {
                let outcome =
                    self.optimization_outcome(row, plan, bench, &report, cancelled).await?;
                Conclusion::Finished(outcome).into()
            }
            Err(Halt::NotRecorded(_)) if self.app.shutdown.is_draining() => AttemptEnd::Requeue,
            // Another attempt follows. This one counts, so that attempts do not follow for ever.
            Err(Halt::NotRecorded(why)) => return Err(AppError::Internal(why.to_string())),
            Err(_) if cancelled => Conclusion::Cancelled.into(),
            Err(halt) => Conclusion::failed("optimization_failed", halt.to_string()).into(),
        })
    }

    /// Opens the log of events and writes the first one, if events are stored.
    async fn optimization_log(
        &self,
        row: &OptimizationRow,
    ) -> Result<Option<Arc<EventLog>>, AppError> {
        if !self.app.worker.events {
            return Ok(None);
        }
        let newest = persist(|| run_event::newest(&self.job.scope, &self.app.db, row.id)).await?;
        let log = Arc::new(EventLog::after(newest.unwrap_or(0)));
        let mut object = JsonObject::new();
        object.shown_text("id", row.id).text("graph", &row.graph_name);
        object.shown("version", row.graph_version).shown("state_version", row.state_version);
        object.text("optimizer", &row.optimizer).text("started_at", &timestamp(self.start));
        log.push(EventKind::OptimizationStarted, &object.finish());
        Ok(Some(log))
    }

    async fn set_up(
        &self,
        row: &OptimizationRow,
        plan: &OptimizationPlan,
        log: Option<Arc<EventLog>>,
        guard: &ActiveGuard,
    ) -> Result<WorkbenchSetup, AppError> {
        let (app, scope) = (&self.app, &self.job.scope);
        let (id, version, state) = (row.graph_id, row.graph_version, row.state_version);
        let program = app.program_at(scope, id, version, state).await?;
        let builder = CandidateBuilder::new(app.clone(), scope.clone(), row).await?;
        let metric = app.stored_metric(scope, &plan.metric, &program).await?;
        let observer = RolloutSpans::observer(self, row, metric.name());
        let given = ExampleSources::reread(app, scope, &program, &plan.picks).await?;
        let sets = given.divide(plan.seed, &mut dsrs::problem::Problems::new());
        let ExampleSets { train, val, held_out } = stored(sets, "examples")?;
        let made = create_optimizer(&row.optimizer, plan.config.as_ref(), &At::Root);
        let (_, optimizer) = made.map_err(|problems| AppError::Internal(problems.to_string()))?;
        let (store, items) = OptimizationStore::open(app.clone(), scope.clone(), row.id).await?;
        let (store, begun) = (Arc::new(store), Instant::now());
        let account = BudgetAccount::open(plan.budget, usage(&row.spent), row.seconds);
        let budgeted = Arc::new(BudgetedReplies::new(account, store.clone()));
        let concurrency = plan.concurrency as usize;
        let offers = self.request.is_divided.then(|| {
            let (app, job, budgeted) = (app.clone(), self.job.clone(), budgeted.clone());
            Arc::new(SharedRollouts::new(app, job, budgeted, store.clone(), concurrency))
        });
        let listener = Arc::new(OptimizationListener::new(log, budgeted.clone()));
        let limit = app.limits.run_timeout;
        let bench = Workbench::new(Task {
            base: Candidate::of(&program),
            train,
            val,
            evaluator: Evaluator {
                models: app.observed_models(&row.graph_name),
                indexes: Some(app.indexes.of_workspace(scope)),
                call_record: None,
                metric: Arc::new(metric),
                budgeted: Some(budgeted.clone()),
                timeout: plan.timeout.map_or(limit, |wanted| wanted.min(limit)),
                cancelled: guard.cancellation(),
                observer,
            },
            builder: Arc::new(builder),
            store,
            offers: offers.clone().map(|offers| offers as Arc<dyn RolloutOffers>),
            listener: listener.clone(),
            concurrency,
            max_unmeasured: plan.max_unmeasured,
            seed: plan.seed,
            proposer: LmOverrides { model: plan.prompt_model.clone(), ..LmOverrides::default() },
        });
        Ok(WorkbenchSetup { bench, optimizer, held_out, budgeted, listener, offers, items, begun })
    }

    /// Runs the optimizer while the writer stores replies. All of them are stored when this returns.
    async fn optimize(
        &self,
        setup: WorkbenchSetup,
        row: &OptimizationRow,
        guard: &ActiveGuard,
    ) -> Result<(Workbench, Result<OptimizationReport, Halt>), AppError> {
        let WorkbenchSetup { bench, optimizer, held_out, budgeted, listener, offers, items, begun } =
            setup;
        let writer = RecordWriter {
            app: &self.app,
            job: &self.job,
            guard,
            bench: &bench,
            account: budgeted.account(),
            listener: &listener,
            earlier: row.seconds,
            begun,
        };
        let done = CancellationToken::new();
        let working = async {
            // What the optimizer and the metric compute ends when the job is cancelled. The budget ends what
            // they ask; a result that was paid for is still scored.
            let limit = TimeLimit::new(Instant::now() + LONGEST, &guard.cancellation());
            let optimizing = Box::pin(optimize(&bench, optimizer.as_ref(), &held_out));
            let report = limit.within(optimizing).await;
            done.cancel();
            report
        };
        let exchange = async {
            if let Some(offers) = &offers {
                offers.exchange(&done).await;
            }
        };
        let (report, written, ()) = tokio::join!(working, writer.write_all(items, &done), exchange);
        written?;
        Ok((bench, report))
    }

    /// Ends a cancelled optimization with the best of its candidates. If its graph no longer loads, it
    /// ends without a result.
    async fn finish_cancelled(&self, row: &OptimizationRow) -> Result<bool, AppError> {
        let outcome = async {
            let plan = stored(OptimizationPlan::read(&row.request), "request")?;
            self.outcome_so_far(row, &plan).await
        };
        match outcome.await {
            Ok(outcome) => self.finish_optimization(outcome.end()).await,
            Err(error @ AppError::Unavailable(_)) => Err(error),
            Err(error) => {
                tracing::error!(optimization = %row.id, %error, "a cancelled optimization has no result");
                let end = OptimizationEnd::without_result(RunStatus::Cancelled, now());
                self.finish_optimization(end).await
            }
        }
    }

    async fn finish_optimization(&self, end: OptimizationEnd<'_>) -> Result<bool, AppError> {
        let (scope, db, lease) = (&self.job.scope, &self.app.db, self.job.lease);
        if !persist(|| optimization_work::finish(scope, db, lease, &end)).await? {
            return Ok(false);
        }
        // No other attempt needs the recorded replies.
        while persist(|| optimization_record::purge(db, Some(lease.job))).await? > 0 {}
        run_event::announce(db, lease.job);
        Ok(true)
    }
}

fn stored<T>(read: Option<T>, what: &str) -> Result<T, AppError> {
    read.ok_or_else(|| AppError::Internal(format!("a stored {what} cannot be read")))
}
