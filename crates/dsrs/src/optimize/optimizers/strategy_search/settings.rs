//! The config of a search: its members, and what the schema cannot say of them. Knows registries by
//! name, and nothing of graphs.

use super::Prompts;
use super::StrategySearch;
use super::choices::{AllowedStrategies, StrategyChoice};
use super::moves::MoveKind;
use super::race::Race;
use crate::optimize::create_optimizer;
use crate::optimize::optimizers::config::{count, member, number};
use crate::problem::{At, Code, Problem, Problems};
use crate::strategy::registry;
use crate::value::Payload;

pub(super) const PROPERTIES: [(&str, &str); 10] = [
    (
        "strategies",
        r#"{"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"},
            {"type": "object", "properties": {"strategy": {"type": "string"},
                "config": {"type": "object"}}, "required": ["strategy"],
                "additionalProperties": false}]},
            "description": "strategies to try, by name or with a config (`best_of_n` and `refine` need one with a reward); by default all of the registry that need none"}"#,
    ),
    (
        "moves",
        r#"{"type": "array", "minItems": 1, "uniqueItems": true,
            "items": {"enum": ["strategy", "revise", "plan", "rewrite", "remove"]},
            "default": ["strategy", "revise", "plan", "rewrite", "remove"],
            "description": "kinds of changes: another strategy for a node; a node that revises the outputs of another; a node that plans for another; a node that rewrites a text input of another; removal of a node"}"#,
    ),
    (
        "max_nodes",
        r#"{"type": "integer", "minimum": 1, "maximum": 5000, "default": 32,
            "description": "nodes of a graph that a change makes larger, at most"}"#,
    ),
    (
        "rounds",
        r#"{"type": "integer", "minimum": 1, "maximum": 100, "default": 4,
            "description": "rounds of structure and prompts, at most; a round that finds nothing better is the last"}"#,
    ),
    (
        "beam",
        r#"{"type": "integer", "minimum": 1, "maximum": 16, "default": 1,
            "description": "graphs that the next round starts from"}"#,
    ),
    (
        "candidates",
        r#"{"type": "integer", "minimum": 1, "maximum": 1000, "default": 32,
            "description": "changes per round; if there are more, they are drawn at random"}"#,
    ),
    (
        "minibatch",
        r#"{"type": "integer", "minimum": 1, "maximum": 10000, "default": 20,
            "description": "examples for the first comparison of all changes of a round; the better half is compared on twice as many, and so on"}"#,
    ),
    (
        "finalists",
        r#"{"type": "integer", "minimum": 1, "maximum": 100, "default": 3,
            "description": "changes per round that are evaluated on the whole valset"}"#,
    ),
    (
        "cost_weight",
        r#"{"type": "number", "minimum": 0, "default": 0,
            "description": "how much more a graph that costs twice as much must score, such as 0.05"}"#,
    ),
    (
        "prompt_optimizer",
        r#"{"type": "object", "properties": {"optimizer": {"type": "string"},
            "config": {"type": "object"}}, "required": ["optimizer"],
            "additionalProperties": false,
            "description": "an optimizer that tunes the prompts of the best graph of each round"}"#,
    ),
];

/// Reads a config that fits the schema; `at` is its place.
pub(super) fn read(config: &Payload, at: &At<'_>) -> Result<StrategySearch, Problems> {
    let mut problems = Problems::new();
    let choices = choices(config, &at.key("strategies"), &mut problems);
    let prompts = member(config, "prompt_optimizer");
    let place = at.key("prompt_optimizer");
    let prompts = prompts.map(|prompts| read_prompts(prompts, &place));
    let prompts = prompts.transpose().unwrap_or_else(|found| {
        problems.append(found);
        None
    });
    let kinds = member(config, "moves").and_then(Payload::as_list);
    let kinds = kinds.map_or_else(
        || MoveKind::ALL.to_vec(),
        |named| named.iter().filter_map(|name| MoveKind::named(name.as_str()?)).collect(),
    );
    problems.or(StrategySearch {
        choices,
        kinds,
        max_nodes: count(config, "max_nodes", 32),
        rounds: count(config, "rounds", 4),
        beam: count(config, "beam", 1),
        candidates: count(config, "candidates", 32),
        race: Race {
            minibatch: count(config, "minibatch", 20),
            finalists: count(config, "finalists", 3),
        },
        cost_weight: number(config, "cost_weight", 0.0),
        prompts,
    })
}

fn choices(config: &Payload, at: &At<'_>, problems: &mut Problems) -> AllowedStrategies {
    let Some(named) = member(config, "strategies").and_then(Payload::as_list) else {
        return AllowedStrategies::Registry;
    };
    let mut read = Vec::with_capacity(named.len());
    for (position, one) in named.iter().enumerate() {
        let at = at.index(position);
        let strategy = member(one, "strategy").unwrap_or(one).as_str().unwrap_or_default();
        let posted = member(one, "config");
        let factory = match registry::check(strategy, posted, &at) {
            Ok(factory) => factory,
            Err(found) => {
                problems.append(found);
                continue;
            }
        };
        let config = posted.cloned().or_else(|| StrategyChoice::config_for(factory));
        match config.filter(|_| factory.op().is_none() && factory.calls_lm()) {
            Some(config) => read.push(StrategyChoice { strategy: factory.name().into(), config }),
            None => problems.add(&at, Code::InvalidValue, unusable(strategy)),
        }
    }
    AllowedStrategies::Listed(read)
}

fn unusable(strategy: &str) -> String {
    format!(
        "`{strategy}` cannot replace a node: name a strategy that calls an LM, with a `config` if \
         it needs one"
    )
}

fn read_prompts(prompts: &Payload, at: &At<'_>) -> Result<Prompts, Problems> {
    let name = member(prompts, "optimizer").and_then(Payload::as_str).unwrap_or_default();
    let (factory, optimizer) = create_optimizer(name, member(prompts, "config"), at)?;
    if factory.changes_graph() {
        let pointer = at.key("optimizer").pointer();
        let detail = format!("`{name}` changes the graph, too; name one that optimizes prompts");
        return Err(Problem { pointer, code: Code::InvalidValue, detail }.into());
    }
    Ok(Prompts { name: name.into(), optimizer })
}
