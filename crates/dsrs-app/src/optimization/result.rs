//! The result of an optimization: the best candidate as a version, its scores beside those of the
//! original program, the differences, and whether it is activated. May not know HTTP.

use std::sync::Arc;

use dsrs::graph::{Program, graph_diff, state_diff};
use dsrs::optimize::{
    Candidate as Tried, Comparison, EarlyStop as Halt, OptimizationReport, Rollout, Workbench,
    paired_bootstrap,
};
use dsrs::problem::Problems;
use dsrs::value::Payload;

use crate::clock::now;
use crate::job::attempt::JobAttempt;
use crate::json::JsonObject;
use crate::optimization::plan::{Activate, OptimizationPlan};
use crate::optimization::program_builder::CandidateBuilder;
use crate::optimization::progress::scored_json;
use crate::optimization::promotion::{
    ActivationOutcome, ChosenCandidate, activation_json, read_candidate,
};
use crate::persist::persist_operation;
use crate::state::candidate::StateCandidate;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::optimization::OptimizationRow;
use dsrs_store::optimization_candidate;
use dsrs_store::optimization_work::OptimizationEnd;
use dsrs_store::persist;
use dsrs_store::run::RunStatus;

/// The outcome of an optimization, as it is stored.
pub struct OptimizationOutcome {
    status: RunStatus,
    result: String,
    best: Option<i32>,
    found_state: Option<i32>,
    activated: String,
}

impl OptimizationOutcome {
    pub(crate) fn end(&self) -> OptimizationEnd<'_> {
        OptimizationEnd {
            status: self.status,
            result: Some(&self.result),
            best: self.best,
            found_state: self.found_state,
            activated: Some(&self.activated),
            error: None,
            at: now(),
        }
    }
}

struct BestCandidate {
    number: i32,
    /// As a JSON string.
    origin: String,
    tried: Tried,
    /// Its scores on the valset, as JSON text.
    val: Option<String>,
}

/// The mean of some scores.
#[derive(Clone, Copy)]
struct MeanScore {
    score: f64,
    n: usize,
}

impl MeanScore {
    fn of<'r>(rollouts: impl Iterator<Item = &'r Arc<Rollout>>) -> Option<Self> {
        let measured = rollouts.filter(|rollout| rollout.is_measured());
        let scores: Vec<f64> = measured.map(|rollout| rollout.value()).collect();
        let (sum, n) = (scores.iter().sum::<f64>(), scores.len());
        (n > 0).then(|| Self { score: sum / n as f64, n })
    }
}

/// The scores on the held-out examples.
#[derive(Default)]
struct HeldOutScores {
    before: Option<MeanScore>,
    after: Option<MeanScore>,
    comparison: Option<Comparison>,
    /// Pairs of which a side has no score.
    unmeasured: usize,
    /// Whether both completed all of them.
    is_whole: bool,
}

impl HeldOutScores {
    fn of(report: &OptimizationReport, is_other: bool, seed: u64) -> Self {
        let (before, after) = report.held_out_scores();
        let compared = is_other && !before.is_empty();
        let pairs = || report.held_out.iter();
        Self {
            before: MeanScore::of(pairs().filter_map(|pair| pair.before.as_ref())),
            after: MeanScore::of(pairs().filter_map(|pair| pair.after.as_ref())),
            unmeasured: report.unmeasured(),
            is_whole: report.is_complete(),
            comparison: compared.then(|| paired_bootstrap(&before, &after, seed)),
        }
    }
}

impl JobAttempt {
    /// The outcome of a report. Stores the best candidate as a version, and activates it if the request
    /// says so. Safe to repeat.
    pub(crate) async fn optimization_outcome(
        &self,
        row: &OptimizationRow,
        plan: &OptimizationPlan,
        bench: &Workbench,
        report: &OptimizationReport,
        cancelled: bool,
    ) -> Result<OptimizationOutcome, AppError> {
        let trial = report.trials.get(report.best.0);
        let number = i32::try_from(report.best.0).unwrap_or(i32::MAX);
        let base = bench.candidate(Workbench::BASE);
        let best = BestCandidate {
            number,
            origin: trial
                .map_or(Payload::Null, |found| Payload::Str(found.origin.clone()))
                .to_json(),
            tried: trial.map_or_else(|| (*base).clone(), |found| (*found.candidate).clone()),
            val: trial.and_then(|found| found.full.as_ref()).map(scored_json),
        };
        let measured = HeldOutScores::of(report, number > 0, plan.seed);
        let stopped = report.stopped.as_ref().map(stopped_json);
        let status = if cancelled { RunStatus::Cancelled } else { RunStatus::Succeeded };
        self.outcome_of(row, plan, (status, stopped), best, measured).await
    }

    /// The outcome of the candidates of earlier attempts, of an optimization that was cancelled.
    pub(crate) async fn outcome_so_far(
        &self,
        row: &OptimizationRow,
        plan: &OptimizationPlan,
    ) -> Result<OptimizationOutcome, AppError> {
        let (scope, db) = (&self.job.scope, &self.app.db);
        let number = persist(|| optimization_candidate::best(scope, db, row.id)).await?;
        let found = match number {
            Some(number) => {
                Some(persist(|| optimization_candidate::get(scope, db, row.id, number)).await?)
            }
            None => None,
        };
        let builder = CandidateBuilder::new(self.app.clone(), scope.clone(), row).await?;
        let best = match &found {
            Some(found) => BestCandidate {
                number: found.number,
                origin: found.origin.clone(),
                tried: read_candidate(found, builder.document())?,
                val: Payload::from_record(&found.scores)
                    .ok()
                    .and_then(|scores| Some(scores.as_map()?.get("full")?.to_json())),
            },
            None => BestCandidate {
                number: 0,
                origin: Payload::str("as it was").to_json(),
                tried: Tried { document: builder.document().clone(), state: Default::default() },
                val: None,
            },
        };
        let ended = (RunStatus::Cancelled, Some(stopped_json(&Halt::Cancelled)));
        self.outcome_of(row, plan, ended, best, HeldOutScores::default()).await
    }

    async fn outcome_of(
        &self,
        row: &OptimizationRow,
        plan: &OptimizationPlan,
        (status, stopped): (RunStatus, Option<String>),
        best: BestCandidate,
        measured: HeldOutScores,
    ) -> Result<OptimizationOutcome, AppError> {
        let scope = &self.job.scope;
        let is_other = best.number > 0;
        let builder = CandidateBuilder::new(self.app.clone(), scope.clone(), row).await?;
        let changes_graph = best.tried.document != *builder.document();
        let score = measured.after.map(|mean| mean.score);
        let dataset = plan.picks[0].as_ref().map(|pick| pick.content_hash.clone());
        let found =
            ChosenCandidate { state: None, tried: &best.tried, score, dataset: dataset.as_deref() };
        let found_state = match is_other && !changes_graph {
            true => self.store_state(row, &found).await?,
            false => None,
        };
        let found = ChosenCandidate { state: found_state, ..found };
        let wanted = match (status, plan.activate) {
            (RunStatus::Succeeded, Activate::IfBetter) if is_other => certain(&measured),
            (RunStatus::Cancelled, _) => Err("the optimization was cancelled".to_owned()),
            (_, Activate::Never) if is_other => Err(LEFT_TO_CLIENTS.to_owned()),
            _ => Err("no candidate is better than the original program".to_owned()),
        };
        let activated = match wanted {
            Ok(why) => self.activate_result(row, &found, &why).await?,
            Err(why) => activation_json(None, &why),
        };
        let diff = match is_other {
            true => Some(self.app.candidate_diff(scope, row, &builder, &best.tried).await?),
            false => None,
        };
        let comparison =
            measured.comparison.as_ref().map(|found| compared(found, measured.unmeasured));
        let mut object = JsonObject::new();
        object.raw_or_null("stopped", stopped.as_deref());
        object.raw_or_null("baseline", measured.before.map(mean_json).as_deref());
        object.raw("best", &best_json(&best, measured.after, changes_graph));
        object.raw_or_null("comparison", comparison.as_deref());
        object.raw_or_null("diff", diff.as_deref());
        let (result, best) = (object.finish(), is_other.then_some(best.number));
        Ok(OptimizationOutcome { status, result, best, found_state, activated })
    }

    /// Stores the result as a state version; `None` if the graph was deleted meanwhile.
    async fn store_state(
        &self,
        row: &OptimizationRow,
        found: &ChosenCandidate<'_>,
    ) -> Result<Option<i32>, AppError> {
        let candidate = StateCandidate {
            graph: row.graph_id,
            graph_version: row.graph_version,
            parent: row.state_version,
            state: &found.tried.state,
            optimization: row.id,
            score: found.score,
            dataset_hash: found.dataset,
        };
        let store = || self.app.state_candidate(&self.job.scope, candidate);
        match persist_operation(&self.app.db, store).await {
            Ok(state) => Ok(Some(state.version)),
            Err(AppError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn activate_result(
        &self,
        row: &OptimizationRow,
        found: &ChosenCandidate<'_>,
        why: &str,
    ) -> Result<String, AppError> {
        let (scope, by) = (&self.job.scope, Some(self.job.lease));
        let put = || self.app.optimization_put(scope, row, found, None, by);
        match persist_operation(&self.app.db, put).await {
            Ok(ActivationOutcome::Active(versions)) => Ok(activation_json(Some(versions), why)),
            Ok(ActivationOutcome::Conflict(why_not)) => Ok(activation_json(None, &why_not)),
            Err(AppError::NotFound(why_not)) => Ok(activation_json(None, &why_not)),
            Err(error) => Err(error),
        }
    }
}

const LEFT_TO_CLIENTS: &str =
    "`activate` is `never`: POST /v1/optimizations/{id}/activate activates it";

/// Whether a gain is certain, with the reason.
fn certain(measured: &HeldOutScores) -> Result<String, String> {
    if !measured.is_whole {
        return Err("the result was not measured on all held-out examples".to_owned());
    }
    let Some(found) = measured.comparison else {
        return Err("no held-out example has a score of both programs".to_owned());
    };
    found.certainty()
}

impl App {
    /// The differences between the program that an optimization started from and a candidate.
    pub(crate) async fn candidate_diff(
        &self,
        scope: &Scope,
        row: &OptimizationRow,
        builder: &CandidateBuilder,
        candidate: &Tried,
    ) -> Result<String, AppError> {
        let (version, state) = (row.graph_version, row.state_version);
        let base = self.program_at(scope, row.graph_id, version, state).await?;
        let unfit = |problems: Problems| AppError::Internal(format!("a candidate: {problems}"));
        let new = builder.program(candidate).await?.map_err(unfit)?;
        Ok(diff_json(&base, &new))
    }
}

fn diff_json(old: &Program, new: &Program) -> String {
    let states = state_diff(old, new);
    let mut object = JsonObject::new();
    object.raw("predictors", &states.to_payload().to_json()).text("text", &states.text());
    let graphs = (old.content_hash() != new.content_hash()).then(|| {
        let found = graph_diff(old.graph(), new.graph());
        let mut object = JsonObject::new();
        object.raw("edits", &found.edits.to_payload().to_json()).text("text", &found.text);
        object.finish()
    });
    object.raw_or_null("graph", graphs.as_deref());
    object.finish()
}

fn stopped_json(halt: &Halt) -> String {
    let limit = match halt {
        Halt::BudgetSpent(limit) => Some(limit.as_str()),
        _ => None,
    };
    let mut object = JsonObject::new();
    object.text("reason", if limit.is_some() { "budget" } else { "cancelled" });
    object.text_or_null("limit", limit).text("detail", &halt.to_string());
    object.finish()
}

fn float(number: f64) -> String {
    Payload::Float(number).to_json()
}

fn mean_json(mean: MeanScore) -> String {
    let mut object = JsonObject::new();
    object.raw("score", &float(mean.score)).shown("n", mean.n);
    object.finish()
}

fn best_json(best: &BestCandidate, after: Option<MeanScore>, changes_graph: bool) -> String {
    let mut object = JsonObject::new();
    object.shown("candidate", best.number).raw("origin", &best.origin);
    object.raw_or_null("score", after.map(|mean| float(mean.score)).as_deref());
    object.shown("n", after.map_or(0, |mean| mean.n)).raw_or_null("val", best.val.as_deref());
    object.shown("changes_graph", changes_graph);
    object.finish()
}

fn compared(found: &Comparison, unmeasured: usize) -> String {
    let mut object = JsonObject::new();
    object.shown("n", found.n).raw("before", &float(found.mean_before));
    object.raw("after", &float(found.mean_after)).raw("gain", &float(found.gain));
    object.raw("low", &float(found.low)).raw("high", &float(found.high));
    object.shown("wins", found.wins).shown("ties", found.ties).shown("losses", found.losses);
    object.shown("unmeasured", unmeasured);
    object.finish()
}
