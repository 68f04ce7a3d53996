//! Sets of demos for each predictor: the current ones, none, labeled ones, and bootstrapped ones. Knows
//! nothing of scores.

use std::sync::Arc;

use futures_util::future::try_join_all;

use crate::optimize::optimizers::bootstrap_few_shot::BootstrapFewShot;
use crate::optimize::optimizers::describe::TunablePredictor;
use crate::optimize::{Candidate, EarlyStop, Example, Workbench};
use crate::predict::Demo;

/// The distinct sets of one predictor; the first is the current one.
pub(super) type DemoSets = Vec<Vec<Demo>>;

/// Up to `count` sets for each predictor, in the order of `known`.
pub(super) async fn sets(
    bench: &Workbench,
    bootstrap: &BootstrapFewShot,
    known: &[TunablePredictor],
    count: usize,
) -> Result<Vec<DemoSets>, EarlyStop> {
    let start = bench.candidate(bench.start());
    let labeled = BootstrapFewShot { max_bootstrapped_demos: 0, ..bootstrap.clone() };
    let shuffles = (1..count.saturating_sub(2)).map(|number| shuffled(bench, bootstrap, number));
    let in_order: Vec<&Example> = bench.train().iter().collect();
    let ways = [(labeled, in_order.clone()), (bootstrap.clone(), in_order)];
    let ways: Vec<(BootstrapFewShot, Vec<&Example>)> = ways.into_iter().chain(shuffles).collect();
    let made = ways.iter().map(|(bootstrap, order)| bootstrap.demonstrate(bench, &start, order));
    let made: Vec<Candidate> = try_join_all(made).await?;
    let sets = |(path, _): &TunablePredictor| {
        let mut sets: DemoSets = vec![demos_of(&start, path)];
        for demos in [Vec::new()].into_iter().chain(made.iter().map(|one| demos_of(one, path))) {
            if !sets.contains(&demos) && sets.len() < count.max(1) {
                sets.push(demos);
            }
        }
        sets
    };
    Ok(known.iter().map(sets).collect())
}

fn demos_of(candidate: &Candidate, path: &Arc<str>) -> Vec<Demo> {
    candidate.state.0.get(path).map(|state| state.demos.clone()).unwrap_or_default()
}

/// A shuffled trainset, and a random limit of bootstrapped demos.
fn shuffled<'b>(
    bench: &'b Workbench,
    bootstrap: &BootstrapFewShot,
    number: usize,
) -> (BootstrapFewShot, Vec<&'b Example>) {
    let mut rng = bench.rng(&format!("demos {number}"));
    let mut order: Vec<&Example> = bench.train().iter().collect();
    rng.shuffle(&mut order);
    let mut bootstrap = bootstrap.clone();
    if bootstrap.max_bootstrapped_demos > 0 {
        bootstrap.max_bootstrapped_demos = rng.usize(1..=bootstrap.max_bootstrapped_demos);
    }
    (bootstrap, order)
}
