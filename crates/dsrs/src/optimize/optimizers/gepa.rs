//! `gepa`: improves instructions by reflection on failures; candidates descend from those that are
//! best on some example. After Agrawal et al., "GEPA: Reflective Prompt Evolution Can Outperform
//! Reinforcement Learning" (2025, arXiv 2507.19457) and its merging of candidates; the options have
//! the names of DSPy's `GEPA`. Differences from both: a merge is tried only right after a candidate
//! was accepted, and the search ends when a candidate is perfect on every example.

mod merge;
mod pareto;
mod pool;
mod reflect;

use std::collections::HashSet;
use std::sync::Arc;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use self::merge::{Merger, mergers, probe};
use self::pareto::sample;
use self::pool::CandidatePool;
use self::reflect::{Runs, reflect};
use super::describe::TunablePredictor;
use crate::document::default_settings;
use crate::optimize::{
    Candidate, CandidateHash, CandidateSearch, EarlyStop, Evaluation, Example,
    OptimizerRegistration, StateOptimizer, TrialId, Workbench, tunable,
};

/// An LM reads the inputs, outputs and feedback of predictors on a few examples and writes better instructions.
/// Continues with the candidates that are best on some example, and merges those that improved different predictors.
/// For metrics with feedback; needs few examples.
#[derive(Clone, Debug, Facet)]
pub struct Gepa {
    /// The most mutations and merges.
    #[facet(default = 50, dsrs::minimum(1), dsrs::maximum(10_000))]
    pub max_iterations: usize,
    /// Examples of the trainset in one reflection.
    #[facet(default = 3, dsrs::minimum(1), dsrs::maximum(64))]
    pub reflection_minibatch_size: usize,
    /// The candidate that is mutated: a random one that is best on some example, or the one with the best mean.
    #[facet(default = CandidateSelection::Pareto)]
    pub candidate_selection_strategy: CandidateSelection,
    /// The predictors that a mutation changes: one after the other, or all at once.
    #[facet(default = ComponentSelector::RoundRobin)]
    pub component_selector: ComponentSelector,
    /// Whether candidates are merged.
    #[facet(default = true)]
    pub use_merge: bool,
    /// The most merges.
    #[facet(default = 5, dsrs::minimum(0), dsrs::maximum(1000))]
    pub max_merge_invocations: usize,
    /// Whether reflection skips examples that all have the perfect score.
    #[facet(default = true)]
    pub skip_perfect_score: bool,
    /// The highest possible score.
    #[facet(default = 1.0, dsrs::minimum(0), dsrs::maximum(1))]
    pub perfect_score: f64,
    /// The temperature of the reflecting LM.
    #[facet(default = 1.0, dsrs::minimum(0), dsrs::maximum(2))]
    pub reflection_temperature: f64,
}

/// The candidate that [`Gepa`] mutates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub enum CandidateSelection {
    /// A random one of those that are best on some example.
    Pareto,
    /// The one with the best mean.
    CurrentBest,
}

/// The predictors that a mutation of [`Gepa`] changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub enum ComponentSelector {
    /// One after the other.
    RoundRobin,
    /// All at once.
    All,
}

inventory::submit!(OptimizerRegistration::of::<Gepa>());

impl Default for Gepa {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for Gepa {
    const NAME: &'static str = "gepa";
}

impl CandidateSearch for Gepa {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.search(bench).boxed()
    }
}

impl Gepa {
    const fn max_merges(&self) -> usize {
        if self.use_merge { self.max_merge_invocations } else { 0 }
    }

    async fn search(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let mut search = GepaSearch::begin(self, bench).await?;
        for iteration in 0..self.max_iterations {
            if search.is_over() {
                break;
            }
            search.step(iteration).await?;
        }
        Ok(bench.best().map_or(bench.start(), |best| best.id))
    }
}

/// A running search.
struct GepaSearch<'s> {
    gepa: &'s Gepa,
    bench: &'s Workbench,
    parts: Vec<TunablePredictor>,
    pool: CandidatePool,
    /// Whether the last step added a candidate to the pool, so that a merger may help.
    is_merge_due: bool,
    mutations: usize,
    merges: usize,
}

impl<'s> GepaSearch<'s> {
    async fn begin(gepa: &'s Gepa, bench: &'s Workbench) -> Result<Self, EarlyStop> {
        let program = bench.program(&bench.candidate(bench.start())).await?;
        let mut pool = CandidatePool::default();
        pool.take(bench.start(), &bench.full(bench.start()).await?, &[]);
        let (is_merge_due, mutations, merges) = (false, 0, 0);
        Ok(Self { gepa, bench, parts: tunable(&program), pool, is_merge_due, mutations, merges })
    }

    fn is_over(&self) -> bool {
        self.parts.is_empty()
            || self.bench.train().is_empty()
            || self.pool.reaches(self.gepa.perfect_score)
    }

    async fn step(&mut self, iteration: usize) -> Result<(), EarlyStop> {
        let mut rng = self.bench.rng(&format!("gepa, iteration {iteration}"));
        let is_due = std::mem::take(&mut self.is_merge_due) && self.merges < self.gepa.max_merges();
        match is_due.then(|| self.merger(&mut rng)).flatten() {
            Some(merger) => self.merge(merger, &mut rng).await,
            None => self.mutate(iteration, &mut rng).await,
        }
    }

    /// Has an LM reflect on a minibatch, and accepts its instructions if the minibatch scores better.
    async fn mutate(&mut self, iteration: usize, rng: &mut fastrand::Rng) -> Result<(), EarlyStop> {
        let bench = self.bench;
        let parent = match self.gepa.candidate_selection_strategy {
            CandidateSelection::CurrentBest => self.pool.best(),
            CandidateSelection::Pareto => sample(&self.pool.frontier(), rng),
        };
        let before = bench.candidate(self.pool.id(parent));
        let batch = self.minibatch();
        let evaluation = bench.evaluate(&before, &batch, None).await?;
        let is_perfect = evaluation.scores().iter().all(|score| *score >= self.gepa.perfect_score);
        if is_perfect && self.gepa.skip_perfect_score {
            return Ok(());
        }
        let chosen = self.choose(parent);
        let child = self.rewritten(&before, &chosen, &batch, &evaluation, iteration).await?;
        let Some(child) = child else { return Ok(()) };
        let tried = bench.evaluate(&child, &batch, None).await?;
        let (before, after) = evaluation.paired_with(&tried);
        let (was, is): (f64, f64) = (before.iter().sum(), after.iter().sum());
        let named: Vec<String> = chosen.iter().map(|(path, _)| format!("`{path}`")).collect();
        let origin = format!(
            "reflection on {} of {} examples of the trainset: {was:.2} before, {is:.2} after",
            named.join(", "),
            batch.len(),
        );
        let id = bench.enter(child, &[self.pool.id(parent)], origin);
        if is > was { self.take(id, &[parent]).await } else { Ok(()) }
    }

    /// The examples of the next reflection, from an endless series of shuffled trainsets.
    fn minibatch(&mut self) -> Vec<&'s Example> {
        let train = self.bench.train();
        let size = self.gepa.reflection_minibatch_size.min(train.len());
        let in_epoch = train.len().div_ceil(size.max(1)).max(1);
        let (epoch, at) = (self.mutations / in_epoch, self.mutations % in_epoch * size);
        self.mutations += 1;
        let mut order: Vec<&Example> = train.iter().collect();
        self.bench.rng(&format!("gepa, epoch {epoch}")).shuffle(&mut order);
        // The last minibatch of an epoch is filled up from its start.
        order.iter().cycle().skip(at).take(size).copied().collect()
    }

    /// The predictors to change next.
    fn choose(&mut self, parent: usize) -> Vec<TunablePredictor> {
        if self.gepa.component_selector == ComponentSelector::All {
            return self.parts.clone();
        }
        let turn = self.pool.turn(parent, self.parts.len());
        self.parts.get(turn).cloned().into_iter().collect()
    }

    /// The candidate with new instructions; `None` if the LM wrote nothing new.
    async fn rewritten(
        &self,
        before: &Candidate,
        chosen: &[TunablePredictor],
        examples: &[&Example],
        evaluation: &Evaluation,
        iteration: usize,
    ) -> Result<Option<Candidate>, EarlyStop> {
        let (bench, temperature) = (self.bench, self.gepa.reflection_temperature);
        let program = bench.program(before).await?;
        let runs = Runs { program: &program, examples, evaluation };
        let written = chosen
            .iter()
            .map(|part| reflect(bench, &self.parts, part, runs, iteration + 1, temperature));
        let mut child = before.clone();
        for ((path, _), written) in chosen.iter().zip(join_all(written).await) {
            if let Some(instruction) = written? {
                child = child.with(path, |state| state.instruction = Some(instruction));
            }
        }
        Ok((child != *before).then_some(child))
    }

    /// A random merger that was not tried before.
    fn merger(&self, rng: &mut fastrand::Rng) -> Option<Merger> {
        let paths: Vec<Arc<str>> = self.parts.iter().map(|(path, _)| path.clone()).collect();
        let tried: HashSet<CandidateHash> =
            self.bench.trials().iter().map(|trial| trial.candidate.hash()).collect();
        let mut mergers = mergers(self.bench, &self.pool, &self.pool.frontier(), &paths);
        mergers.retain(|merger| !tried.contains(&merger.merged.hash()));
        (!mergers.is_empty()).then(|| mergers.swap_remove(rng.usize(0..mergers.len())))
    }

    /// Evaluates a merged candidate on a few examples, and accepts it if it scores at least as well as
    /// both parents.
    async fn merge(&mut self, merger: Merger, rng: &mut fastrand::Rng) -> Result<(), EarlyStop> {
        self.merges += 1;
        let Merger { one, other, ancestor, merged } = merger;
        let probe = probe(self.pool.scores(one), self.pool.scores(other), rng);
        let parents = [self.pool.id(one), self.pool.id(other)];
        let ancestor = self.pool.id(ancestor);
        let origin = format!(
            "merge of candidates {} and {}, which descend from {}",
            parents[0].0, parents[1].0, ancestor.0
        );
        let id = self.bench.enter(merged, &parents, origin);
        let found = self.bench.partial(id, &probe).await?;
        let measured: Vec<usize> = (0..probe.len())
            .filter(|at| found.rollouts.get(*at).is_some_and(|rollout| rollout.is_measured()))
            .collect();
        let of = |parent: usize| {
            let scores = self.pool.scores(parent);
            measured.iter().map(|at| scores[probe[*at]]).sum::<f64>()
        };
        let found: f64 = found.measured().map(|rollout| rollout.value()).sum();
        if found >= of(one).max(of(other)) { self.take(id, &[one, other]).await } else { Ok(()) }
    }

    /// Evaluates a candidate on the whole valset and adds it to the pool.
    async fn take(&mut self, id: TrialId, parents: &[usize]) -> Result<(), EarlyStop> {
        if !self.pool.holds(id) {
            let evaluation = self.bench.full(id).await?;
            if self.bench.fits(id) {
                self.pool.take(id, &evaluation, parents);
                self.is_merge_due = true;
            }
        }
        Ok(())
    }
}
