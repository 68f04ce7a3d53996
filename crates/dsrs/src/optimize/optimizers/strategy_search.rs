//! `strategy_search`: searches for another graph for the same task. It replaces strategies of nodes and
//! inserts and removes nodes; each graph is checked like a posted one. Another optimizer can then
//! optimize the prompts of the best graph, in turns.
//!
//! Searching workflows is the idea of ADAS (Hu et al. 2024) and AFlow (Zhang et al. 2024), where an
//! LM writes code. Here the moves are few and typed, need no LM, and every candidate is a valid
//! graph. Alternating structure and prompts is the idea of multi-agent system search (MASS, Zhou et
//! al. 2025). The moves of a round compete by successive halving (Jamieson & Talwalkar 2016). Knows
//! other optimizers by the registry alone.

mod choices;
mod inherit;
mod insertions;
mod moves;
mod race;
mod removals;
mod settings;
mod site;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use self::choices::AllowedStrategies;
use self::moves::EnteredMoves;
use self::race::Race;
use self::settings::StrategySearchSettings;
use crate::document::{config_schema, description_of, read_config};
use crate::optimize::{
    CandidateSearch, CostWeight, EarlyStop, OptimizerFactory, OptimizerRegistration, TrialId,
    Workbench,
};
use crate::problem::{At, Problems};
use crate::value::Payload;

struct Factory;

inventory::submit!(OptimizerRegistration(&Factory));

impl OptimizerFactory for Factory {
    fn name(&self) -> &'static str {
        "strategy_search"
    }

    fn description(&self) -> String {
        description_of::<StrategySearchSettings>()
    }

    fn config_schema(&self) -> Payload {
        config_schema::<StrategySearchSettings>()
    }

    fn changes_graph(&self) -> bool {
        true
    }

    fn create(&self, config: &Payload, at: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems> {
        Ok(Box::new(StrategySearch::new(read_config(config, at)?, at)?))
    }
}

/// A search with its settings.
struct StrategySearch {
    settings: StrategySearchSettings,
    choices: AllowedStrategies,
    prompts: Option<Prompts>,
}

/// The optimizer of prompts that runs after each change of the graph.
struct Prompts {
    name: Arc<str>,
    optimizer: Box<dyn CandidateSearch>,
}

impl CandidateSearch for StrategySearch {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.search(bench).boxed()
    }
}

impl StrategySearch {
    async fn search(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let start = bench.start();
        let base = bench.full(start).await?;
        if self.settings.cost_weight > 0.0 {
            bench.weigh_cost(CostWeight::of(self.settings.cost_weight, &base));
        }
        let (mut beam, mut tuned) = (vec![start], Vec::new());
        for round in 1..=self.settings.rounds {
            let before = beam.clone();
            let found = self.restructure(bench, &beam, round).await?;
            beam = self.best_of(bench, beam, found);
            let best = beam.first().copied().unwrap_or(start);
            if let Some(prompts) = self.prompts.as_ref().filter(|_| !tuned.contains(&best)) {
                bench.phase(&format!("round {round}: {} on the best graph", prompts.name));
                tuned.push(best);
                let found = prompts.optimize(bench, best).await?;
                beam = self.best_of(bench, beam, vec![found]);
            }
            // Another round would repeat the same moves.
            if beam == before {
                break;
            }
        }
        Ok(beam.first().copied().unwrap_or(start))
    }

    /// Tries moves on some candidates; returns the finalists, evaluated on the whole valset.
    async fn restructure(
        &self,
        bench: &Workbench,
        parents: &[TrialId],
        round: usize,
    ) -> Result<Vec<TrialId>, EarlyStop> {
        let EnteredMoves { to_try, unfit, left } =
            moves::enter(self, bench, parents, round).await?;
        bench.phase(&format!(
            "round {round}: {} changes of the graph; {unfit} invalid, {left} skipped",
            to_try.len()
        ));
        let Some(best) = parents.first() else { return Ok(Vec::new()) };
        let race = Race { minibatch: self.settings.minibatch, finalists: self.settings.finalists };
        race.run(bench, *best, to_try, round).await
    }

    /// The best candidates on the whole valset; cheaper ones first if equal.
    fn best_of(
        &self,
        bench: &Workbench,
        mut beam: Vec<TrialId>,
        found: Vec<TrialId>,
    ) -> Vec<TrialId> {
        for id in found {
            if !beam.contains(&id) && bench.fits(id) {
                beam.push(id);
            }
        }
        race::sort(&mut beam, |id| bench.trial(id).and_then(|trial| trial.full));
        beam.truncate(self.settings.beam);
        beam
    }
}

impl Prompts {
    async fn optimize(&self, bench: &Workbench, best: TrialId) -> Result<TrialId, EarlyStop> {
        let found = self.optimizer.run(&bench.starting_from(best)).await?;
        if bench.trial(found).is_some_and(|trial| trial.full.is_none()) {
            bench.full(found).await?;
        }
        Ok(found)
    }
}
