//! `simba`: processes minibatches and tries programs several times on each example. It learns from
//! the examples whose tries differ most: a good try becomes a demo, or an LM compares it with a bad
//! one and writes a rule. After DSPy's `SIMBA` (stochastic introspective mini-batch ascent), with
//! its option names. Differences: the best candidate of each step is evaluated on the whole valset
//! at once, so that a spent budget leaves a result; the initial program has the mean of its first
//! tries; a run with score 0 becomes no demo; and perfect tries lead to no rule.

mod buckets;
mod demos;
mod pool;
mod rules;

use std::sync::Arc;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use self::buckets::{Bucket, buckets, percentile};
use self::demos::{shown, thinned};
use self::pool::ProgramPool;
use self::rules::{Contrast, advised};
use super::describe::TunablePredictor;
use crate::document::default_settings;
use crate::optimize::{
    Candidate, CandidateSearch, EarlyStop, Example, OptimizerRegistration, Rollout, StateOptimizer,
    TrialId, Workbench, tunable,
};
use crate::predict::Variation;

/// Tries programs several times on the examples of a minibatch and learns where the tries differ most: a good try
/// becomes a demo, or an LM explains why it was better than a bad one. For many examples and programs whose answers
/// vary.
#[derive(Clone, Debug, Facet)]
pub struct Simba {
    /// Examples of a minibatch.
    #[facet(default = 32, dsrs::minimum(1), dsrs::maximum(1000))]
    pub bsize: usize,
    /// Tries of each example, and new candidates of each step.
    #[facet(default = 6, dsrs::minimum(1), dsrs::maximum(64))]
    pub num_candidates: usize,
    /// The number of steps.
    #[facet(default = 8, dsrs::minimum(1), dsrs::maximum(1000))]
    pub max_steps: usize,
    /// Demos of a predictor before some are dropped; 0 for rules only.
    #[facet(default = 4, dsrs::minimum(0), dsrs::maximum(64))]
    pub max_demos: usize,
    /// The most characters of an input in a demo.
    #[facet(default = 100_000, dsrs::minimum(1))]
    pub demo_input_field_maxlen: usize,
    /// How often lower-scored programs are drawn for tries.
    #[facet(default = 0.2, dsrs::minimum(0))]
    pub temperature_for_sampling: f64,
    /// How often lower-scored programs are drawn to be changed.
    #[facet(default = 0.2, dsrs::minimum(0))]
    pub temperature_for_candidates: f64,
}

inventory::submit!(OptimizerRegistration::of::<Simba>());

impl Default for Simba {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for Simba {
    const NAME: &'static str = "simba";
}

impl CandidateSearch for Simba {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.climb(bench).boxed()
    }
}

impl Simba {
    async fn climb(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let start = bench.start();
        let program = bench.program(&bench.candidate(start)).await?;
        let mut ascent =
            Ascent { simba: self, bench, parts: tunable(&program), pool: ProgramPool::default() };
        ascent.pool.take(start, 0.0);
        bench.full(start).await?;
        let can_learn = !ascent.parts.is_empty() && !bench.train().is_empty();
        for step in 0..if can_learn { self.max_steps } else { 0 } {
            ascent.step(step).await?;
        }
        Ok(bench.best().map_or(start, |best| best.id))
    }
}

/// A running ascent.
struct Ascent<'s> {
    simba: &'s Simba,
    bench: &'s Workbench,
    parts: Vec<TunablePredictor>,
    pool: ProgramPool,
}

/// A planned candidate.
struct PlannedCandidate<'p> {
    parent: TrialId,
    /// The parent with some demos dropped.
    thinned: Candidate,
    lesson: Lesson<'p>,
}

/// What the candidate learns.
enum Lesson<'p> {
    Demo(&'p Rollout),
    Rule(Contrast<'p>),
}

impl<'s> Ascent<'s> {
    async fn step(&mut self, step: usize) -> Result<(), EarlyStop> {
        let mut rng = self.bench.rng(&format!("simba, step {step}"));
        let batch = self.minibatch(step);
        let tries = self.tries(&batch, &mut rng).await?;
        if step == 0 {
            let all: Vec<f64> = tries.iter().flatten().map(|rollout| rollout.value()).collect();
            self.pool.rate_first(all.iter().sum::<f64>() / all.len().max(1) as f64);
        }
        let buckets = buckets(tries);
        let plans = self.plans(&buckets, &batch, &mut rng);
        let made = plans.iter().enumerate();
        let made = made.map(|(number, plan)| self.make(plan, step, number));
        let mut new = Vec::new();
        for (plan, made) in plans.iter().zip(join_all(made).await) {
            let Some((candidate, origin)) = made? else { continue };
            let id = self.bench.enter(candidate, &[plan.parent], origin);
            if !self.pool.holds(id) && !new.contains(&id) {
                new.push(id);
            }
        }
        self.judge(&new, &batch).await
    }

    /// The examples of a step, from an endless series of shuffled trainsets.
    fn minibatch(&self, step: usize) -> Vec<&'s Example> {
        let train = self.bench.train();
        let size = self.simba.bsize.min(train.len()).max(1);
        let in_epoch = (train.len() / size).max(1);
        let mut order: Vec<&Example> = train.iter().collect();
        self.bench.rng(&format!("simba, epoch {}", step / in_epoch)).shuffle(&mut order);
        order.into_iter().skip(step % in_epoch * size).take(size).collect()
    }

    /// The tries of each example, each by a randomly drawn program and at a rising temperature.
    async fn tries(
        &self,
        batch: &[&'s Example],
        rng: &mut fastrand::Rng,
    ) -> Result<Vec<Vec<Arc<Rollout>>>, EarlyStop> {
        let all = self.simba.num_candidates;
        let top = self.pool.top(all);
        // One evaluation per try and program, over the examples that drew the program.
        let mut drawn: Vec<(Variation, TrialId, Vec<usize>)> = Vec::new();
        for number in 1..=all {
            let temperature = 0.5 + 0.5 * (number - 1) as f64 / all as f64;
            for at in 0..batch.len() {
                let id = self.pool.draw(&top, self.simba.temperature_for_sampling, rng);
                let same =
                    drawn.iter_mut().find(|(known, of, _)| known.number == number && *of == id);
                match same {
                    Some((_, _, examples)) => examples.push(at),
                    None => drawn.push((Variation { number, temperature }, id, vec![at])),
                }
            }
        }
        let evaluations = drawn.iter().map(async |(variation, id, places)| {
            let examples: Vec<&Example> = places.iter().map(|at| batch[*at]).collect();
            self.bench.evaluate(&self.bench.candidate(*id), &examples, Some(*variation)).await
        });
        let mut tries = vec![Vec::with_capacity(all); batch.len()];
        for ((_, _, places), evaluation) in drawn.iter().zip(join_all(evaluations).await) {
            for (at, rollout) in places.iter().zip(evaluation?.rollouts) {
                // There is nothing to learn from an outage.
                if rollout.is_measured() {
                    tries[*at].push(rollout);
                }
            }
        }
        Ok(tries)
    }

    /// Plans a candidate for each of the most promising buckets, from a randomly drawn parent.
    fn plans<'p>(
        &self,
        buckets: &'p [Bucket],
        batch: &[&'p Example],
        rng: &mut fastrand::Rng,
    ) -> Vec<PlannedCandidate<'p>> {
        let top = self.pool.top(self.simba.num_candidates);
        let (low, high) = (percentile(buckets, 0.1), percentile(buckets, 0.9));
        let plan = |bucket: &'p Bucket| {
            let parent = self.pool.draw(&top, self.simba.temperature_for_candidates, rng);
            let thinned = thinned(&self.bench.candidate(parent), self.simba.max_demos, rng);
            let shows = self.simba.max_demos > 0 && rng.bool();
            let (best, worst) = bucket.ends()?;
            let lesson = match shows {
                true => (best.value() >= low && best.value() > 0.0).then_some(Lesson::Demo(best)),
                false if best.value() < low || worst.value() > high => None,
                false => contrast(batch[bucket.example], best, worst).map(Lesson::Rule),
            };
            Some(PlannedCandidate { parent, thinned, lesson: lesson? })
        };
        buckets.iter().filter_map(plan).take(self.simba.num_candidates).collect()
    }

    /// Makes a planned candidate and its origin; `None` if there is no change.
    async fn make(
        &self,
        plan: &PlannedCandidate<'_>,
        step: usize,
        number: usize,
    ) -> Result<Option<(Candidate, String)>, EarlyStop> {
        let step = step + 1;
        match &plan.lesson {
            Lesson::Demo(rollout) => {
                let candidate = shown(&plan.thinned, rollout, self.simba.demo_input_field_maxlen);
                let score = rollout.value();
                let origin = format!("step {step}: a demo of a run that scored {score:.2}");
                Ok(Some((candidate, origin)))
            }
            Lesson::Rule(contrast) => {
                let number = step * self.simba.num_candidates + number;
                let made = advised(self.bench, &self.parts, &plan.thinned, contrast, number);
                let score = |run: Option<&Rollout>| {
                    run.map_or("none".into(), |run| format!("{:.2}", run.value()))
                };
                let (better, worse) = (score(contrast.better), score(contrast.worse));
                let origin =
                    format!("step {step}: rules from runs that scored {worse} and {better}");
                Ok(made.await?.map(|candidate| (candidate, origin)))
            }
        }
    }

    /// Evaluates new candidates on the minibatch, adds them to the pool, and evaluates the best on the
    /// whole valset.
    async fn judge(&mut self, new: &[TrialId], batch: &[&Example]) -> Result<(), EarlyStop> {
        let candidates: Vec<Arc<Candidate>> =
            new.iter().map(|id| self.bench.candidate(*id)).collect();
        let evaluations =
            candidates.iter().map(|candidate| self.bench.evaluate(candidate, batch, None));
        let mut best: Option<(TrialId, f64)> = None;
        for (id, evaluation) in new.iter().zip(join_all(evaluations).await) {
            let mean = evaluation?.mean();
            self.pool.take(*id, mean);
            if best.is_none_or(|(_, most)| mean > most) {
                best = Some((*id, mean));
            }
        }
        if let Some((id, _)) = best {
            self.bench.full(id).await?;
        }
        Ok(())
    }
}

/// The best and the worst try of a bucket for comparison. If they score the same, only the worse run is
/// shown. Returns `None` if no improvement is possible.
fn contrast<'c>(
    example: &'c Example,
    best: &'c Rollout,
    worst: &'c Rollout,
) -> Option<Contrast<'c>> {
    let better = (best.value() > worst.value()).then_some(best);
    let can_be_better = better.is_some() || worst.value() < 1.0;
    can_be_better.then_some(Contrast { example, better, worse: Some(worst) })
}
