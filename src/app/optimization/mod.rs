//! Optimizations: accepted, looked at, cancelled. Working on them is `optimization_attempt`, putting
//! what they found in force `optimization_promote`.

pub(crate) mod attempt;
pub(crate) mod example_sets;
mod follow;
pub(crate) mod plan;
pub(crate) mod program_builder;
pub(crate) mod progress;
pub(crate) mod promotion;
pub(crate) mod purchases;
pub(crate) mod result;
pub(crate) mod writer;

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{Budget, Models};
use dsrs::optimize::{Metric, create_optimizer};
use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;
use tokio::time::Instant;
use uuid::Uuid;

use crate::app::batch::refuse_waiting;
use crate::app::clock::now;
use crate::app::dataset::selection::DatasetRef;
use crate::app::error::merge_faults;
use crate::app::optimization::attempt::OptimizationAttempt;
use crate::app::optimization::example_sets::{Given, Sets};
use crate::app::optimization::plan::{Activate, Plan};
use crate::app::run::attempt::JobRequest;
use crate::app::{App, AppError};
use crate::store::batch::Spent;
use crate::store::graph::{GraphPin, GraphRef, Pick};
use crate::store::job::{self, Held, JobKind, Lease};
use crate::store::optimization::{self, OptimizationRow};
use crate::store::optimization_candidate::{self, CandidateRow};
use crate::store::run::RunStatus;
use crate::store::{Cursor, Page, Scope};

/// How long a cancellation waits for the end, before it answers how the optimization stands.
const UNTIL_ENDED: Duration = Duration::from_secs(5);

const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What is to be optimized, and how. What is missing that must be there is told in `faults`.
pub(crate) struct OptimizationRequest {
    /// From which versions.
    pub(crate) pick: Pick,
    /// The optimizer's name.
    pub(crate) optimizer: Option<Arc<str>>,
    /// Its config.
    pub(crate) config: Option<Payload>,
    /// Who judges, as it was written.
    pub(crate) metric: Option<Payload>,
    /// The examples that demos and reflections are taken from.
    pub(crate) trainset: Option<DatasetRef>,
    /// The examples that candidates are chosen by.
    pub(crate) valset: Option<DatasetRef>,
    /// The examples that only the result is measured on.
    pub(crate) testset: Option<DatasetRef>,
    /// What may be spent.
    pub(crate) budget: Budget,
    /// When what was found is put in force.
    pub(crate) activate: Activate,
    /// What all chance comes from.
    pub(crate) seed: u64,
    /// How many rollouts at the same time, if fewer than the server's limit.
    pub(crate) concurrency: Option<u32>,
    /// The model that is asked for proposals.
    pub(crate) prompt_model: Option<Arc<str>>,
    /// How long the graph may take on an example, if less than the server's limit.
    pub(crate) timeout: Option<Duration>,
    /// The request's id.
    pub(crate) request_id: Arc<str>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

impl App {
    /// Accepts an optimization: graph, examples and metric are those of now, whatever becomes of
    /// them.
    pub(crate) async fn optimization_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: OptimizationRequest,
    ) -> Result<OptimizationRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let asked = JobRequest { timeout: request.timeout, request_id: request.request_id.clone() };
        let (optimizer, plan) = self.optimization_plan(scope, &program, request).await?;
        let row = OptimizationRow { optimizer, request: plan.to_json(), ..queued(scope, &pin) };
        optimization::accept(scope, &self.db, &row, &asked.to_json()).await?;
        Ok(row)
    }

    /// What is to be done, once all of it has been checked against the graph.
    async fn optimization_plan(
        self: &Arc<Self>,
        scope: &Scope,
        program: &Arc<Program>,
        request: OptimizationRequest,
    ) -> Result<(String, Plan), AppError> {
        let mut faults = request.faults;
        refuse_waiting(program, "an example of an optimization", &mut faults);
        let root = At::Root;
        if let Some(name) = &request.optimizer
            && let Err(found) = create_optimizer(name, request.config.as_ref(), &root)
        {
            faults.also(found);
        }
        self.check_prompt_model(request.prompt_model.as_deref(), &mut faults);
        let mut metric = None;
        if let Some(written) = &request.metric {
            let read = self.metric_written(scope, written, program).await?;
            metric = read.map_err(|found| faults.also(found)).ok();
        }
        let priced = (request.prompt_model.as_deref(), metric.as_ref());
        self.check_prices(&request.budget, program, priced, &mut faults);
        let wanted = [request.trainset, request.valset, request.testset];
        let given = Given::find(self, scope, program, wanted, &mut faults).await?;
        let sets = given.as_ref().and_then(|given| Sets::of(given, request.seed, &mut faults));
        merge_faults(faults, Ok(()))?;
        let (Some(optimizer), Some(metric), Some(given), Some(sets)) =
            (request.optimizer, metric, given, sets)
        else {
            return Err(AppError::Internal("a part of a request is missing unsaid".to_owned()));
        };
        let limit = self.worker.batch_concurrency;
        let plan = Plan {
            config: request.config,
            metric: metric.to_payload(),
            picks: given.picks(),
            counts: sets.counts(),
            budget: request.budget,
            activate: request.activate,
            seed: request.seed,
            concurrency: request.concurrency.map_or(limit, |wanted| wanted.min(limit)),
            prompt_model: request.prompt_model,
            timeout: request.timeout,
        };
        Ok((optimizer.to_string(), plan))
    }

    fn check_prompt_model(&self, alias: Option<&str>, faults: &mut Problems) {
        if let Some(alias) = alias.filter(|alias| !self.models.knows(alias)) {
            let detail =
                format!("the model alias `{alias}` is not configured; GET /v1/models lists them");
            faults.add(&At::Root.key("prompt_model"), Code::UnknownModel, detail);
        }
    }

    /// A budget of money can be kept only where all models that may be asked have prices.
    fn check_prices(
        &self,
        budget: &Budget,
        program: &Program,
        (prompt_model, metric): (Option<&str>, Option<&Metric>),
        faults: &mut Problems,
    ) {
        if budget.cost.is_none() {
            return;
        }
        let nodes = program.graph().nodes();
        let mut aliases: Vec<&str> =
            nodes.filter_map(|(_, node)| node.settings().lm.model.as_deref()).collect();
        let predictors = program.predictors();
        aliases
            .extend(predictors.iter().filter_map(|(_, found)| found.state().lm.model.as_deref()));
        aliases.push(prompt_model.unwrap_or(Models::DEFAULT));
        let written = metric.filter(|metric| metric.calls_lm()).map(Metric::to_payload);
        if let Some(written) = &written {
            aliases.push(judge(written).unwrap_or(Models::DEFAULT));
        }
        aliases.sort_unstable();
        aliases.dedup();
        let unpriced = |alias: &&str| {
            self.models.get(alias).is_some_and(|model| {
                let behind = self.models.after(model);
                std::iter::once(model).chain(behind).any(|model| model.prices.is_none())
            })
        };
        for alias in aliases.into_iter().filter(unpriced) {
            let detail = format!(
                "the model `{alias}`, or one that it falls back to, has no prices, so that a budget \
                 of money cannot be kept; configure its prices, or limit `tokens` instead"
            );
            let root = At::Root;
            faults.add(&root.key("budget").key("cost"), Code::InvalidValue, detail);
        }
    }

    /// An optimization, as it stands.
    pub(crate) async fn optimization_get(
        &self,
        scope: &Scope,
        id: Uuid,
    ) -> Result<OptimizationRow, AppError> {
        Ok(optimization::get(scope, &self.db, id).await?)
    }

    /// One page of optimizations, newest first; of one graph, where it is named.
    pub(crate) async fn optimization_list(
        &self,
        scope: &Scope,
        graph: Option<Uuid>,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<OptimizationRow>, AppError> {
        Ok(optimization::list(scope, &self.db, graph, after, limit).await?)
    }

    /// One page of what an optimization has tried, in order.
    pub(crate) async fn optimization_candidates(
        &self,
        scope: &Scope,
        id: Uuid,
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<CandidateRow, i32>, AppError> {
        self.optimization_get(scope, id).await?;
        Ok(optimization_candidate::list(scope, &self.db, id, after, limit).await?)
    }

    /// Stops an optimization, wherever it is: what was found stays. Answers how it stands, which may
    /// be `running` still, when the one who works on it does not answer.
    pub(crate) async fn optimization_cancel(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<OptimizationRow, AppError> {
        let found = self.optimization_get(scope, id).await?;
        if found.status.has_ended() {
            let status = found.status;
            let detail = format!("the optimization has ended already ({status})");
            return Err(AppError::RunFinished(detail));
        }
        if job::cancel(scope, &self.db, JobKind::Optimization, id).await? == Some(Held::ByNobody) {
            let lease = Lease { job: id, holder: Uuid::now_v7() };
            // Whoever takes it meanwhile sees that it is to stop.
            if let Some(job) = job::seize(&self.db, lease, self.worker.lease).await? {
                OptimizationAttempt::cancelled(self.clone(), job).await?;
            }
        }
        self.active_work.cancel(Some(scope.workspace), id);
        let deadline = Instant::now() + UNTIL_ENDED;
        loop {
            let found = self.optimization_get(scope, id).await?;
            if found.status.has_ended() || Instant::now() >= deadline {
                return Ok(found);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// The model that a metric names, wherever it does.
fn judge(metric: &Payload) -> Option<&str> {
    let members = metric.as_map().into_iter().flat_map(|members| members.iter());
    let mut named = members.filter_map(|(name, member)| match name.as_ref() {
        "model" => member.as_str(),
        _ => judge(member),
    });
    named.next()
}

fn queued(scope: &Scope, pin: &GraphPin) -> OptimizationRow {
    OptimizationRow {
        id: Uuid::now_v7(),
        graph_id: pin.id,
        graph_name: pin.name.clone(),
        graph_version: pin.version,
        state_version: pin.state_version,
        optimizer: String::new(),
        request: String::new(),
        status: RunStatus::Queued,
        spent: Spent::default(),
        seconds: 0.0,
        candidates: 0,
        result: None,
        best: None,
        found_state: None,
        activated: None,
        error: None,
        created_at: now(),
        started_at: None,
        finished_at: None,
        created_by: scope.actor.to_string(),
    }
}
