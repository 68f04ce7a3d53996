//! Optimizations: started, read, cancelled. Attempts are in `attempt`, activating a result is in
//! `promotion`. May know runs, datasets and evaluations (a stored metric); may not know HTTP.

pub(crate) mod attempt;
pub(crate) mod example_sets;
mod follow;
pub(crate) mod offers;
pub(crate) mod part;
pub(crate) mod part_records;
pub(crate) mod plan;
pub(crate) mod program_builder;
pub(crate) mod progress;
pub(crate) mod promotion;
pub(crate) mod recorded_replies;
mod request;
pub(crate) mod result;
mod rollout_spans;
pub(crate) mod usage;
pub(crate) mod writer;

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{Budget, Models};
use dsrs::optimize::{Metric, create_optimizer};
use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::clock::now;
use crate::dataset::reference::DatasetRef;
use crate::error::merge_faults;
use crate::job::await_check::refuse_await_nodes;
use crate::job::request::JobRequest;
use crate::optimization::example_sets::ExampleSources;
use crate::optimization::plan::{Activate, OptimizationPlan};
use crate::{App, AppError, Commit, Identity, RequestId};
use dsrs_store::batch::UsageTotals;
use dsrs_store::graph::{GraphRef, ResolvedGraph, VersionSelection};
use dsrs_store::key_scope::KeyScope;
use dsrs_store::optimization::{self, OptimizationRow};
use dsrs_store::optimization_candidate::{self, CandidateOutlineRow, CandidateRow};
use dsrs_store::run::RunStatus;
use dsrs_store::{ListQuery, Page, Scope, job};

/// The request of an optimization. A missing required member is a problem in `faults`.
pub struct OptimizationRequest {
    /// The versions to start from.
    pub pick: VersionSelection,
    /// The optimizer's name.
    pub optimizer: Option<Arc<str>>,
    pub config: Option<Payload>,
    /// The metric, as requested.
    pub metric: Option<Payload>,
    /// The examples for demos and reflection.
    pub trainset: Option<DatasetRef>,
    /// The examples for choosing candidates.
    pub valset: Option<DatasetRef>,
    /// The examples that only measure the result.
    pub testset: Option<DatasetRef>,
    pub budget: Budget,
    /// When the result is activated.
    pub activate: Activate,
    /// The seed of everything random.
    pub seed: u64,
    /// The number of rollouts at a time, if fewer than the limit of the server.
    pub concurrency: Option<u32>,
    /// The share of the examples of an evaluation that may stay without a score.
    pub max_unmeasured: f64,
    /// The model for proposals.
    pub prompt_model: Option<Arc<str>>,
    /// The time limit of the graph on one example, if shorter than that of the server.
    pub timeout: Option<Duration>,
    pub request_id: RequestId,
    /// The problems found so far.
    pub faults: Problems,
}

impl App {
    /// Accepts an optimization: graph, examples and metric are those of now, whatever becomes of
    /// them.
    pub async fn optimization_start(
        self: &Arc<Self>,
        identity: &Identity,
        graph: &GraphRef,
        request: OptimizationRequest,
        commit: Commit<OptimizationRow>,
    ) -> Result<OptimizationRow, AppError> {
        if request.activate != Activate::Never {
            identity.require(KeyScope::Write)?;
        }
        let scope = &identity.scope;
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let asked = JobRequest {
            timeout: request.timeout,
            request_id: request.request_id.clone(),
            // A requested concurrency is that of the optimization as a whole.
            is_divided: request.concurrency.is_none(),
        };
        let (optimizer, plan) = self.optimization_plan(scope, &program, request).await?;
        let row = OptimizationRow { optimizer, request: plan.to_json(), ..queued(scope, &pin) };
        let (asked, ending) = (asked.to_json(), commit.ending(&row));
        optimization::accept(scope, &self.db, &row, &asked, &ending).await?;
        Ok(row)
    }

    /// The plan of a request, checked against the graph.
    async fn optimization_plan(
        self: &Arc<Self>,
        scope: &Scope,
        program: &Arc<Program>,
        request: OptimizationRequest,
    ) -> Result<(String, OptimizationPlan), AppError> {
        let mut faults = request.faults;
        refuse_await_nodes(program, "an example of an optimization", &mut faults);
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
        let given = ExampleSources::find(self, scope, program, wanted, &mut faults).await?;
        let sets = given.as_ref().and_then(|given| given.divide(request.seed, &mut faults));
        merge_faults(faults, Ok(()))?;
        let (Some(optimizer), Some(metric), Some(given), Some(sets)) =
            (request.optimizer, metric, given, sets)
        else {
            return Err(AppError::Internal(
                "a required member is missing without a problem".to_owned(),
            ));
        };
        let limit = self.worker.batch_concurrency;
        let plan = OptimizationPlan {
            config: request.config,
            metric: metric.to_payload(),
            picks: given.picks(),
            counts: sets.counts(),
            budget: request.budget,
            activate: request.activate,
            seed: request.seed,
            concurrency: request.concurrency.map_or(limit, |wanted| wanted.min(limit)),
            max_unmeasured: request.max_unmeasured,
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

    /// A budget of money is possible only if all models that may be used have prices.
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
                "the model `{alias}`, or one that it falls back to, has no prices, so a budget of money \
                 cannot be enforced; configure its prices, or limit `tokens` instead"
            );
            let root = At::Root;
            faults.add(&root.key("budget").key("cost"), Code::InvalidValue, detail);
        }
    }

    /// One page of optimizations, newest first; of one graph, if named.
    pub async fn optimization_list(
        &self,
        scope: &Scope,
        graph: Option<Uuid>,
        list: ListQuery,
    ) -> Result<Page<OptimizationRow>, AppError> {
        Ok(optimization::list(scope, &self.db, graph, list).await?)
    }

    /// The first candidates of an optimization in outline, `most` at most, in order.
    pub async fn optimization_outlines(
        &self,
        scope: &Scope,
        id: Uuid,
        most: i64,
    ) -> Result<Vec<CandidateOutlineRow>, AppError> {
        Ok(optimization_candidate::outlines(scope, &self.db, id, most).await?)
    }

    /// One page of the candidates of an optimization, in order.
    pub async fn optimization_candidates(
        &self,
        scope: &Scope,
        id: Uuid,
        list: ListQuery<i32>,
    ) -> Result<Page<CandidateRow, i32>, AppError> {
        job::get::<OptimizationRow>(scope, &self.db, id).await?;
        Ok(optimization_candidate::list(scope, &self.db, id, list).await?)
    }
}

/// The model that a metric names, at any depth.
fn judge(metric: &Payload) -> Option<&str> {
    let members = metric.as_map().into_iter().flat_map(|members| members.iter());
    let mut named = members.filter_map(|(name, member)| match name.as_ref() {
        "model" => member.as_str(),
        _ => judge(member),
    });
    named.next()
}

fn queued(scope: &Scope, pin: &ResolvedGraph) -> OptimizationRow {
    OptimizationRow {
        id: Uuid::now_v7(),
        graph_id: pin.id,
        graph_name: pin.name.clone(),
        graph_version: pin.version,
        state_version: pin.state_version,
        optimizer: String::new(),
        request: String::new(),
        status: RunStatus::Queued,
        spent: UsageTotals::default(),
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
