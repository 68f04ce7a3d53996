//! Moves: changes of a candidate's graph that may help, and the candidates that come of them. A move
//! is a list of edits; what they make of the document is built as any document is, so that every edge
//! is checked, and what does not check is no candidate. Knows graphs, and nothing of scores.

use std::sync::Arc;

use super::choices::{AllowedStrategies, StrategyChoice};
use super::inherit::{InheritedState, inherit, node_of};
use super::{StrategySearch, insertions, removals};
use crate::graph::{Edit, Edits, GraphState, Node, Program};
use crate::optimize::optimizers::config::member;
use crate::optimize::{Candidate, EarlyStop, TrialId, Workbench};
use crate::problem::At;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::{StoredEnv, registry};
use crate::value::{Map, Payload};

/// A kind of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    Strategy,
    Revise,
    Plan,
    Rewrite,
    Remove,
}

/// A change of a graph.
pub(super) struct Move {
    /// What it does, in a few words.
    pub(super) what: String,
    pub(super) edits: Edits,
}

/// A node whose prompts are its own: one that may be changed.
pub(super) struct Site<'p> {
    pub(super) program: &'p Program,
    pub(super) name: &'p Arc<str>,
    pub(super) node: &'p Node,
    /// The node as it stands in the document.
    pub(super) written: &'p Map,
}

impl MoveKind {
    pub(super) const ALL: [Self; 5] =
        [Self::Strategy, Self::Revise, Self::Plan, Self::Rewrite, Self::Remove];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Strategy => "strategy",
            Self::Revise => "revise",
            Self::Plan => "plan",
            Self::Rewrite => "rewrite",
            Self::Remove => "remove",
        }
    }

    fn moves(self, site: &Site<'_>, choices: &AllowedStrategies) -> Vec<Move> {
        match self {
            Self::Strategy => strategies(site, choices),
            Self::Revise => insertions::revise(site).into_iter().collect(),
            Self::Plan => insertions::plan(site).into_iter().collect(),
            Self::Rewrite => insertions::rewrite(site),
            Self::Remove => removals::remove(site).into_iter().collect(),
        }
    }
}

impl<'p> Site<'p> {
    /// The nodes of a program that call an LM by prompts of their own; not those that stand for
    /// something that was made elsewhere, as stored graphs do.
    pub(super) fn all(program: &'p Program) -> Vec<Self> {
        let paths: Vec<String> = program.predictors().into_iter().map(|(path, _)| path).collect();
        let written = member(program.document(), "nodes");
        let nodes = program.graph().nodes().filter_map(|(name, node)| {
            let written = written.and_then(|nodes| member(nodes, name))?.as_map()?;
            let factory = registry::get(node.strategy())?;
            let config = written.get("config").cloned().unwrap_or_default();
            let own = factory.own_signature(&StoredEnv, &config, &At::Root).is_some();
            let prompts = paths.iter().any(|path| node_of(path) == name.as_ref());
            let plain = factory.op().is_none() && factory.calls_lm() && !own;
            (plain && prompts).then_some(Self { program, name, node, written })
        });
        nodes.collect()
    }

    pub(super) fn base(&self) -> &SignatureSchema {
        self.node.base()
    }

    /// The node with other members.
    pub(super) fn with<'m>(
        &self,
        members: impl IntoIterator<Item = (&'m str, Payload)>,
    ) -> Payload {
        let mut written = self.written.clone();
        for (name, member) in members {
            written.insert(name.into(), member);
        }
        Payload::map(written)
    }

    fn now(&self) -> StrategyChoice {
        let config = self.written.get("config").cloned();
        let config = config.unwrap_or_else(|| Payload::map(Map::new()));
        StrategyChoice { strategy: self.node.strategy().into(), config }
    }
}

fn strategies(site: &Site<'_>, choices: &AllowedStrategies) -> Vec<Move> {
    let now = site.now();
    let others = choices.of_node(site.base(), &now).into_iter();
    let replace = others.map(|StrategyChoice { strategy, config }| {
        let inner = member(&config, "module").and_then(|module| member(module, "strategy"));
        let inner =
            inner.and_then(Payload::as_str).map_or_else(String::new, |s| format!(" of {s}"));
        let what = format!("`{}`: {} becomes {strategy}{inner}", site.name, now.strategy);
        let node = site.with([("strategy", Payload::Str(strategy)), ("config", config)]);
        let edit = Edit::ReplaceNode { name: site.name.clone(), node };
        Move { what, edits: Edits(vec![edit]) }
    });
    replace.collect()
}

/// A move of a candidate, before anyone has looked whether it checks.
struct PlannedMove {
    parent: TrialId,
    candidate: Arc<Candidate>,
    program: Arc<Program>,
    made: Move,
}

/// What came of the moves of a round.
pub(super) struct EnteredMoves {
    /// Those on the board that are still to be tried.
    pub(super) to_try: Vec<TrialId>,
    /// How many did not check.
    pub(super) unfit: usize,
    /// How many nobody looked at.
    pub(super) left: usize,
}

/// Makes moves of candidates and puts what comes of them on the board: so many at most. Where there
/// are more, chance says which, so that a large graph is not built for each of its nodes.
pub(super) async fn enter(
    search: &StrategySearch,
    bench: &Workbench,
    parents: &[TrialId],
    round: usize,
) -> Result<EnteredMoves, EarlyStop> {
    let planned = plan(search, bench, parents).await?;
    let mut order: Vec<usize> = (0..planned.len()).collect();
    if order.len() > search.candidates {
        bench.rng(&format!("moves of round {round}")).shuffle(&mut order);
    }
    let (mut found, mut unfit, mut left) = (Vec::new(), 0, order.len());
    for position in order {
        let Some(one) = planned.get(position) else { continue };
        if found.len() == search.candidates {
            break;
        }
        left -= 1;
        match make(bench, one, search.max_nodes).await {
            Some((made, _)) if made.document == one.candidate.document => {}
            Some((made, dropped)) => found.push((position, made, told(&dropped))),
            None => unfit += 1,
        }
    }
    // The board has them in the order in which they were thought of.
    found.sort_unstable_by_key(|(position, ..)| *position);
    let mut to_try: Vec<TrialId> = Vec::with_capacity(found.len());
    for (position, candidate, dropped) in found {
        let Some(PlannedMove { parent, made, .. }) = planned.get(position) else { continue };
        let id = bench.enter(candidate, &[*parent], format!("{}{dropped}", made.what));
        let known = bench.trial(id).is_some_and(|trial| trial.full.is_some());
        if !known && !to_try.contains(&id) {
            to_try.push(id);
        }
    }
    Ok(EnteredMoves { to_try, unfit, left })
}

async fn plan(
    search: &StrategySearch,
    bench: &Workbench,
    parents: &[TrialId],
) -> Result<Vec<PlannedMove>, EarlyStop> {
    let mut planned = Vec::new();
    for parent in parents {
        let candidate = bench.candidate(*parent);
        let program = bench.program(&candidate).await?;
        let sites = Site::all(&program);
        for kind in &search.kinds {
            let moves = sites.iter().flat_map(|site| kind.moves(site, &search.choices));
            planned.extend(moves.map(|made| {
                let (candidate, program) = (candidate.clone(), program.clone());
                PlannedMove { parent: *parent, candidate, program, made }
            }));
        }
    }
    Ok(planned)
}

/// What a move makes of a candidate, and whose state is lost; `None` when it does not check or does
/// not serve those who know the graph.
async fn make(
    bench: &Workbench,
    planned: &PlannedMove,
    max_nodes: usize,
) -> Option<(Candidate, Vec<Arc<str>>)> {
    let PlannedMove { candidate, program, made, .. } = planned;
    let document = Arc::new(made.edits.apply_to(&candidate.document).ok()?);
    let bare = Candidate { document, state: GraphState::default() };
    let built = bench.check(&bare).await.ok()?;
    let nodes = |program: &Program| program.graph().nodes().count();
    if !serves_as(program, &built) || nodes(&built) > max_nodes.max(nodes(program)) {
        return None;
    }
    let InheritedState { state, dropped } = inherit(&candidate.state, program, &built);
    let made = Candidate { document: Arc::new(built.document().clone()), state };
    bench.check(&made).await.ok()?;
    Some((made, dropped))
}

fn told(dropped: &[Arc<str>]) -> String {
    match dropped {
        [] => String::new(),
        dropped => format!("; what was tuned in {} is lost", dropped.join(", ")),
    }
}

/// Whether a program takes and gives what another does, by name and type.
fn serves_as(known: &Program, made: &Program) -> bool {
    let (known, made) = (known.signature(), made.signature());
    let alike = |one: &[FieldSchema], two: &[FieldSchema]| {
        let same = |(one, two): (&FieldSchema, &FieldSchema)| {
            let (was, is) = (known.type_of(one), made.type_of(two));
            one.name == two.name && was.assignable_to(&is).is_ok() && is.assignable_to(&was).is_ok()
        };
        one.len() == two.len() && one.iter().zip(two).all(same)
    };
    alike(&known.inputs, &made.inputs) && alike(&known.outputs, &made.outputs)
}
