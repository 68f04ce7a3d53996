//! One attempt at an optimization, by the process that holds its job: from the beginning, but what
//! earlier attempts paid for is found instead of bought, up to its end, or back into the queue.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::Program;
use dsrs::lm::{BudgetAccount, BudgetedReplies, Usage};
use dsrs::optimize::{
    Candidate, EarlyStop as Halt, Evaluator, Example, Metric, OptimizationReport, Optimizer, Task,
    Workbench, create_optimizer, optimize,
};
use dsrs::predict::LmOverrides;
use dsrs::problem::At;
use dsrs::strategy::BuildEnv;
use dsrs::value::Payload;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::clock::{now, timestamp};
use crate::app::event::EventKind;
use crate::app::event::log_writer::EventLog;
use crate::app::job::active::{ActiveGuard, StopReason};
use crate::app::json::JsonObject;
use crate::app::optimization::example_sets::{Given, Sets};
use crate::app::optimization::plan::Plan;
use crate::app::optimization::program_builder::AppWorkshop;
use crate::app::optimization::progress::Hearing;
use crate::app::optimization::purchases::{Item, Keeper};
use crate::app::optimization::writer::Writer;
use crate::app::persist::persist;
use crate::app::program::environment::Phase;
use crate::app::run::attempt::JobRequest;
use crate::app::{App, AppError};
use crate::shutdown::WorkGuard;
use crate::store::batch::Spent;
use crate::store::job::{self, Job};
use crate::store::optimization::{self, OptimizationRow};
use crate::store::optimization_work::{self, End};
use crate::store::run::RunStatus;
use crate::store::run_event;

/// An attempt.
pub(crate) struct OptimizationAttempt {
    pub(crate) app: Arc<App>,
    pub(crate) job: Job,
    request: JobRequest,
    start: DateTime<Utc>,
}

/// All that the work needs.
struct Prepared {
    bench: Workbench,
    optimizer: Box<dyn Optimizer>,
    held_out: Vec<Example>,
    budgeted: Arc<BudgetedReplies>,
    hearing: Arc<Hearing>,
    items: mpsc::Receiver<Item>,
    begun: Instant,
}

impl OptimizationAttempt {
    fn of(app: Arc<App>, job: Job) -> Self {
        let request = JobRequest::read(&job.request);
        Self { app, job, request, start: now() }
    }

    /// Ends an optimization as cancelled that nobody works on; what was found before stays.
    pub(crate) async fn cancelled(app: Arc<App>, job: Job) -> Result<(), AppError> {
        let attempt = Self::of(app, job);
        let row = attempt.row().await?;
        attempt.end_cancelled(&row).await
    }

    /// Works on an optimization until it has ended, is another's, or the server ends.
    pub(crate) async fn make(app: Arc<App>, job: Job, work: WorkGuard) {
        let (id, number) = (job.lease.job, job.attempt);
        let cancel = work.cancellation().child_token();
        let (workspace, holder) = (job.scope.workspace, job.lease.holder);
        let guard = app.active_work.register(workspace, id, Some(holder), cancel);
        if job.cancelled {
            guard.stop(StopReason::Cancelled);
        }
        let attempt = Self::of(app, job);
        if let Err(error) = attempt.work(&guard).await {
            // The lease lapses, and the optimization is tried again.
            tracing::error!(optimization = %id, number, %error, "an attempt broke off");
        }
    }

    async fn row(&self) -> Result<OptimizationRow, AppError> {
        let (scope, db, id) = (&self.job.scope, &self.app.db, self.job.lease.job);
        Ok(persist(|| optimization::get(scope, db, id)).await?)
    }

    async fn work(&self, guard: &ActiveGuard) -> Result<(), AppError> {
        let (db, lease) = (&self.app.db, self.job.lease);
        let row = self.row().await?;
        if guard.stopped() == Some(StopReason::Cancelled) {
            return self.end_cancelled(&row).await;
        }
        let limit = self.app.worker.attempts;
        if u32::try_from(self.job.attempt).unwrap_or(0) > limit {
            return self.fail("run_abandoned", &abandoned(limit)).await;
        }
        if !persist(|| optimization_work::begin(db, lease, self.start)).await? {
            return Ok(());
        }
        let plan = stored(Plan::read(&row.request), "request")?;
        let log = self.log(&row).await?;
        let prepared = match self.prepare(&row, &plan, log.clone(), guard).await {
            Ok(prepared) => prepared,
            Err(AppError::Unavailable(_)) => return self.give_back().await,
            Err(error) => {
                tracing::error!(optimization = %lease.job, %error, "it cannot be worked on");
                let detail = "the optimization cannot be worked on any more; the log has the cause";
                return self.fail("internal", detail).await;
            }
        };
        let working = self.optimize(prepared, &row, guard);
        let (bench, report) = match &log {
            Some(log) => log.write_during(db, lease, working).await?,
            None => working.await?,
        };
        self.conclude(&row, &plan, &bench, report, guard).await
    }

    /// Ends it, or gives it back, by what came of the work.
    async fn conclude(
        &self,
        row: &OptimizationRow,
        plan: &Plan,
        bench: &Workbench,
        report: Result<OptimizationReport, Halt>,
        guard: &ActiveGuard,
    ) -> Result<(), AppError> {
        let cancelled = guard.stopped() == Some(StopReason::Cancelled);
        match report {
            _ if guard.stopped() == Some(StopReason::Lost) => Ok(()),
            // The server has ended it, nobody else.
            Ok(report) if report.stopped == Some(Halt::Cancelled) && !cancelled => {
                self.give_back().await
            }
            Ok(report) => {
                let ended = self.draw(row, plan, bench, &report, cancelled).await?;
                self.end(ended.end()).await
            }
            Err(Halt::NotRecorded(why)) if self.app.shutdown.is_draining() => {
                tracing::debug!(optimization = %row.id, %why, "it goes back into the queue");
                self.give_back().await
            }
            // It is tried again, but not for ever: the attempt counts.
            Err(Halt::NotRecorded(why)) => Err(AppError::Internal(why.to_string())),
            Err(_) if cancelled => self.end_cancelled(row).await,
            Err(halt) => self.fail("optimization_failed", &halt.to_string()).await,
        }
    }

    /// Tells that the attempt begins, where events are kept.
    async fn log(&self, row: &OptimizationRow) -> Result<Option<Arc<EventLog>>, AppError> {
        if !self.app.worker.events {
            return Ok(None);
        }
        let newest = persist(|| run_event::newest(&self.app.db, row.id)).await?;
        let log = Arc::new(EventLog::after(newest.unwrap_or(0)));
        let mut object = JsonObject::new();
        object.shown_text("id", row.id).text("graph", &row.graph_name);
        object.shown("version", row.graph_version).shown("state_version", row.state_version);
        object.text("optimizer", &row.optimizer).text("started_at", &timestamp(self.start));
        log.push(EventKind::OptimizationStarted, &object.finish());
        Ok(Some(log))
    }

    async fn prepare(
        &self,
        row: &OptimizationRow,
        plan: &Plan,
        log: Option<Arc<EventLog>>,
        guard: &ActiveGuard,
    ) -> Result<Prepared, AppError> {
        let (app, scope) = (&self.app, &self.job.scope);
        let (id, version, state) = (row.graph_id, row.graph_version, row.state_version);
        let program = app.program_at(scope, id, version, state).await?;
        let builder = AppWorkshop::new(app.clone(), scope.clone(), row).await?;
        let metric = self.metric(&plan.metric, &program).await?;
        let given = Given::reread(app, scope, &program, &plan.picks).await?;
        let sets = Sets::of(&given, plan.seed, &mut dsrs::problem::Problems::new());
        let Sets { train, val, held_out } = stored(sets, "examples")?;
        let made = create_optimizer(&row.optimizer, plan.config.as_ref(), &At::Root);
        let (_, optimizer) = made.map_err(|problems| AppError::Internal(problems.to_string()))?;
        let (keeper, items) = Keeper::open(app.clone(), scope.clone(), row.id).await?;
        let (keeper, begun) = (Arc::new(keeper), Instant::now());
        let account = BudgetAccount::open(plan.budget, usage(&row.spent), row.seconds);
        let budgeted = Arc::new(BudgetedReplies::new(account, keeper.clone()));
        let hearing = Arc::new(Hearing::new(log, budgeted.clone()));
        let limit = app.limits.run_timeout;
        let bench = Workbench::new(Task {
            base: Candidate::of(&program),
            train,
            val,
            evaluator: Evaluator {
                models: app.models.clone(),
                metric: Arc::new(metric),
                budgeted: Some(budgeted.clone()),
                timeout: plan.timeout.map_or(limit, |wanted| wanted.min(limit)),
                cancelled: guard.cancellation(),
            },
            builder: Arc::new(builder),
            store: keeper,
            listener: hearing.clone(),
            concurrency: plan.concurrency as usize,
            seed: plan.seed,
            proposer: LmOverrides { model: plan.prompt_model.clone(), ..LmOverrides::default() },
        });
        Ok(Prepared { bench, optimizer, held_out, budgeted, hearing, items, begun })
    }

    async fn metric(&self, written: &Payload, program: &Program) -> Result<Metric, AppError> {
        let read = |env: &dyn BuildEnv| Metric::read(written, env, program, &At::Root);
        let (app, scope) = (&self.app, &self.job.scope);
        let graphs = Box::pin(app.graphs_of(scope, Phase::Stored, read)).await?;
        let metric = app.build_with(&graphs, Phase::Stored, None, read);
        metric.map_err(|problems| AppError::Internal(format!("a stored metric: {problems}")))
    }

    /// Works, while what it pays for is written; all of that is written when this is done.
    async fn optimize(
        &self,
        prepared: Prepared,
        row: &OptimizationRow,
        guard: &ActiveGuard,
    ) -> Result<(Workbench, Result<OptimizationReport, Halt>), AppError> {
        let Prepared { bench, optimizer, held_out, budgeted, hearing, items, begun } = prepared;
        let writer = Writer {
            app: &self.app,
            job: &self.job,
            guard,
            bench: &bench,
            account: budgeted.account(),
            hearing: &hearing,
            earlier: row.seconds,
            begun,
        };
        let done = CancellationToken::new();
        let working = async {
            let report = optimize(&bench, optimizer.as_ref(), &held_out).await;
            done.cancel();
            report
        };
        let (report, written) = tokio::join!(working, writer.write_all(items, &done));
        written?;
        Ok((bench, report))
    }

    /// Ends what nobody wants any more, with what is left of it: where nothing can be made of its
    /// candidates, because its graph no longer loads, it has ended all the same.
    async fn end_cancelled(&self, row: &OptimizationRow) -> Result<(), AppError> {
        let drawn = async {
            let plan = stored(Plan::read(&row.request), "request")?;
            self.draw_candidates(row, &plan).await
        };
        match drawn.await {
            Ok(ended) => self.end(ended.end()).await,
            Err(error @ AppError::Unavailable(_)) => Err(error),
            Err(error) => {
                tracing::error!(optimization = %row.id, %error, "nothing is left but its candidates");
                self.end(End::without_result(RunStatus::Cancelled, now())).await
            }
        }
    }

    async fn fail(&self, code: &str, detail: &str) -> Result<(), AppError> {
        let mut object = JsonObject::new();
        object.text("detail", detail).text("code", code).raw("errors", "[]");
        object.text("request_id", &self.request.request_id);
        let error = object.finish();
        self.end(End::failed(&error, now())).await
    }

    async fn end(&self, end: End<'_>) -> Result<(), AppError> {
        let (db, lease) = (&self.app.db, self.job.lease);
        if !persist(|| optimization_work::finish(db, lease, &end)).await? {
            tracing::info!(optimization = %lease.job, "it was taken over; its end here is dropped");
            return Ok(());
        }
        // Nobody needs any more what was kept for other attempts.
        while persist(|| optimization_work::purge(db, Some(lease.job))).await? > 0 {}
        persist(|| run_event::tell(db, lease.job)).await?;
        Ok(())
    }

    async fn give_back(&self) -> Result<(), AppError> {
        persist(|| job::give_back(&self.app.db, self.job.lease)).await?;
        Ok(())
    }
}

fn usage(spent: &Spent) -> Usage {
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    Usage {
        lm_calls: count(spent.lm_calls),
        input_tokens: count(spent.input_tokens),
        output_tokens: count(spent.output_tokens),
        cached_tokens: count(spent.cached_tokens),
        cost: spent.cost,
    }
}

fn stored<T>(read: Option<T>, what: &str) -> Result<T, AppError> {
    read.ok_or_else(|| AppError::Internal(format!("a stored {what} cannot be read")))
}

fn abandoned(limit: u32) -> String {
    format!(
        "{limit} workers ended one after the other without coming further, which is the limit \
         (`worker.attempts`); the candidates so far are kept"
    )
}
