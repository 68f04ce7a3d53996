//! Moves: changes of a candidate's graph that may help, and the candidates that result. A move is a
//! list of edits; the edited document is built like any other, so every edge is checked, and a graph
//! that does not check becomes no candidate. Knows graphs; knows nothing of scores.

use std::sync::Arc;

use facet::Facet;

use super::choices::{AllowedStrategies, StrategyChoice, member};
use super::inherit::{InheritedState, inherit};
use super::site::{Move, Site};
use super::{StrategySearch, insertions, removals};
use crate::graph::{Edit, Edits, GraphState, Program};
use crate::optimize::{Candidate, EarlyStop, TrialId, Workbench};
use crate::signature::FieldSchema;
use crate::value::Payload;

/// A kind of move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub(super) enum MoveKind {
    Strategy,
    Revise,
    Plan,
    Rewrite,
    Remove,
}

impl MoveKind {
    pub(super) const ALL: [Self; 5] =
        [Self::Strategy, Self::Revise, Self::Plan, Self::Rewrite, Self::Remove];

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

/// A move of a candidate that is not checked yet.
struct PlannedMove {
    parent: TrialId,
    candidate: Arc<Candidate>,
    program: Arc<Program>,
    made: Move,
}

/// The result of the moves of a round.
pub(super) struct EnteredMoves {
    /// Candidates on the board that were not tried yet.
    pub(super) to_try: Vec<TrialId>,
    /// How many moves did not check.
    pub(super) unfit: usize,
    /// How many moves were not looked at.
    pub(super) left: usize,
}

/// Applies moves to candidates and enters the results on the board, up to a limit. If there are more
/// moves, they are sampled, so that a large graph is not built once per node.
pub(super) async fn enter(
    search: &StrategySearch,
    bench: &Workbench,
    parents: &[TrialId],
    round: usize,
) -> Result<EnteredMoves, EarlyStop> {
    let planned = plan(search, bench, parents).await?;
    let mut order: Vec<usize> = (0..planned.len()).collect();
    if order.len() > search.settings.candidates {
        bench.rng(&format!("moves of round {round}")).shuffle(&mut order);
    }
    let (mut found, mut unfit, mut left) = (Vec::new(), 0, order.len());
    for position in order {
        let Some(one) = planned.get(position) else { continue };
        if found.len() == search.settings.candidates {
            break;
        }
        left -= 1;
        match make(bench, one, search.settings.max_nodes).await {
            Some((made, _)) if made.document == one.candidate.document => {}
            Some((made, dropped)) => found.push((position, made, loss_note(&dropped))),
            None => unfit += 1,
        }
    }
    // The board lists them in the order in which they were planned.
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
        for kind in &search.settings.moves {
            let moves = sites.iter().flat_map(|site| kind.moves(site, &search.choices));
            planned.extend(moves.map(|made| {
                let (candidate, program) = (candidate.clone(), program.clone());
                PlannedMove { parent: *parent, candidate, program, made }
            }));
        }
    }
    Ok(planned)
}

/// The candidate after a move, and the paths whose state is lost; `None` if the graph does not check or
/// has other inputs or outputs.
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

fn loss_note(dropped: &[Arc<str>]) -> String {
    match dropped {
        [] => String::new(),
        dropped => format!("; the state of {} is lost", dropped.join(", ")),
    }
}

/// Whether two programs have the same inputs and outputs, by name and type.
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
