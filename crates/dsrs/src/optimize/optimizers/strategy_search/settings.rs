//! The settings of a search, and what their schema cannot say. Knows registries by name, and nothing of graphs.

use facet::Facet;

use super::Prompts;
use super::StrategySearch;
use super::choices::{AllowedStrategies, StrategyChoice};
use super::moves::MoveKind;
use crate::optimize::create_optimizer;
use crate::problem::{At, Code, Problem, Problems};
use crate::strategy::registry;
use crate::value::Payload;

/// Changes the graph itself: tries other strategies for its nodes, adds nodes that plan, rewrite or revise, and removes
/// nodes that do not help. Inputs and outputs stay. Can alternate with an optimizer of prompts and weigh cost.
#[derive(Facet)]
pub(super) struct StrategySearchSettings {
    /// Strategies to try, by name or with a config (`best_of_n` and `refine` need one with a reward); by default all of
    /// the registry that need none.
    #[facet(dsrs::items(1))]
    pub(super) strategies: Option<Vec<ListedStrategy>>,
    /// Kinds of changes: another strategy for a node; a node that revises the outputs of another; a node that plans for
    /// another; a node that rewrites a text input of another; removal of a node.
    #[facet(default = MoveKind::ALL.to_vec(), dsrs::distinct("kind of change"))]
    pub(super) moves: Vec<MoveKind>,
    /// The most nodes of a graph that a change makes larger.
    #[facet(default = 32, dsrs::minimum(1), dsrs::maximum(5000))]
    pub(super) max_nodes: usize,
    /// The most rounds of structure and prompts; a round that finds nothing better is the last.
    #[facet(default = 4, dsrs::minimum(1), dsrs::maximum(100))]
    pub(super) rounds: usize,
    /// Graphs that the next round starts from.
    #[facet(default = 1, dsrs::minimum(1), dsrs::maximum(16))]
    pub(super) beam: usize,
    /// Changes per round; if there are more, they are drawn at random.
    #[facet(default = 32, dsrs::minimum(1), dsrs::maximum(1000))]
    pub(super) candidates: usize,
    /// Examples for the first comparison of all changes of a round; the better half is compared on twice as many, and so
    /// on.
    #[facet(default = 20, dsrs::minimum(1), dsrs::maximum(10_000))]
    pub(super) minibatch: usize,
    /// Changes per round that are evaluated on the whole valset.
    #[facet(default = 3, dsrs::minimum(1), dsrs::maximum(100))]
    pub(super) finalists: usize,
    /// How much more a graph that costs twice as much must score, such as 0.05.
    #[facet(default = 0.0, dsrs::minimum(0))]
    pub(super) cost_weight: f64,
    /// An optimizer that tunes the prompts of the best graph of each round.
    pub(super) prompt_optimizer: Option<PromptOptimizer>,
}

/// A strategy in a config.
#[derive(Facet)]
#[repr(C)]
pub(super) enum ListedStrategy {
    Name(String),
    Configured(ConfiguredStrategy),
}

#[derive(Facet)]
pub(super) struct ConfiguredStrategy {
    strategy: String,
    #[facet(dsrs::object)]
    config: Option<Payload>,
}

#[derive(Facet)]
pub(super) struct PromptOptimizer {
    optimizer: String,
    #[facet(dsrs::object)]
    config: Option<Payload>,
}

impl StrategySearch {
    /// A search with these settings, whose place is `at`.
    pub(super) fn new(settings: StrategySearchSettings, at: &At<'_>) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let choices = match &settings.strategies {
            Some(listed) => listed_choices(listed, &at.key("strategies"), &mut problems),
            None => AllowedStrategies::Registry,
        };
        let prompts = settings.prompt_optimizer.as_ref();
        let prompts = prompts.map(|prompts| prompts.create(&at.key("prompt_optimizer")));
        let prompts = prompts.transpose().unwrap_or_else(|refused| {
            problems.append(refused);
            None
        });
        problems.or(Self { settings, choices, prompts })
    }
}

fn listed_choices(
    listed: &[ListedStrategy],
    at: &At<'_>,
    problems: &mut Problems,
) -> AllowedStrategies {
    let mut choices = Vec::with_capacity(listed.len());
    for (position, entry) in listed.iter().enumerate() {
        let at = at.index(position);
        let (strategy, posted) = match entry {
            ListedStrategy::Name(name) => (name, None),
            ListedStrategy::Configured(entry) => (&entry.strategy, entry.config.as_ref()),
        };
        let factory = match registry::check(strategy, posted, &at) {
            Ok(factory) => factory,
            Err(refused) => {
                problems.append(refused);
                continue;
            }
        };
        let config = posted.cloned().or_else(|| StrategyChoice::config_for(factory));
        match config.filter(|_| factory.op().is_none() && factory.calls_lm()) {
            Some(config) => {
                choices.push(StrategyChoice { strategy: factory.name().into(), config })
            }
            None => problems.add(&at, Code::InvalidValue, unusable(strategy)),
        }
    }
    AllowedStrategies::Listed(choices)
}

fn unusable(strategy: &str) -> String {
    format!(
        "`{strategy}` cannot replace a node: name a strategy that calls an LM, with a `config` if \
         it needs one"
    )
}

impl PromptOptimizer {
    fn create(&self, at: &At<'_>) -> Result<Prompts, Problems> {
        let name = &*self.optimizer;
        let (factory, optimizer) = create_optimizer(name, self.config.as_ref(), at)?;
        if factory.changes_graph() {
            let pointer = at.key("optimizer").pointer();
            let detail =
                format!("`{name}` changes the graph, too; name one that optimizes prompts");
            return Err(Problem { pointer, code: Code::InvalidValue, detail }.into());
        }
        Ok(Prompts { name: name.into(), optimizer })
    }
}
