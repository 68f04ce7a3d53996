//! Moves: changes of a candidate's graph that may help, and the candidates that come of them. A move
//! is a list of edits; what they make of the document is built as any document is, so that every edge
//! is checked, and what does not check is no candidate. Knows graphs, and nothing of scores.

use std::sync::Arc;

use super::choices::{Choice, Choices};
use super::heirs::{Inherited, inherit, node_of};
use super::{insertions, removals};
use crate::graph::{Edit, Edits, GraphState, Node, Program};
use crate::optimize::optimizers::config::member;
use crate::optimize::{Candidate, Stop, TrialId, Workbench};
use crate::problem::At;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::{Stored, registry};
use crate::value::{Map, Payload};

/// A kind of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    pub(super) edits: Vec<Edit>,
}

/// A node whose prompts are its own: one that may be changed.
pub(super) struct Site<'p> {
    pub(super) program: &'p Program,
    pub(super) name: &'p Arc<str>,
    pub(super) node: &'p Node,
    /// The node as it stands in the document.
    pub(super) written: &'p Map,
}

impl Kind {
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

    fn moves(self, site: &Site<'_>, choices: &Choices) -> Vec<Move> {
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
            let own = factory.own_signature(&Stored, &config, &At::Root).is_some();
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

    fn now(&self) -> Choice {
        let config = self.written.get("config").cloned();
        let config = config.unwrap_or_else(|| Payload::map(Map::new()));
        Choice { strategy: self.node.strategy().into(), config }
    }
}

fn strategies(site: &Site<'_>, choices: &Choices) -> Vec<Move> {
    let now = site.now();
    let others = choices.of_node(site.base(), &now).into_iter();
    let replace = others.map(|Choice { strategy, config }| {
        let inner = member(&config, "module").and_then(|module| member(module, "strategy"));
        let inner =
            inner.and_then(Payload::as_str).map_or_else(String::new, |s| format!(" of {s}"));
        let what = format!("`{}`: {} becomes {strategy}{inner}", site.name, now.strategy);
        let node = site.with([("strategy", Payload::Str(strategy)), ("config", config)]);
        Move { what, edits: vec![Edit::ReplaceNode { name: site.name.clone(), node }] }
    });
    replace.collect()
}

/// The candidates that moves make of others.
pub(super) struct Candidates<'b> {
    bench: &'b Workbench,
    max_nodes: usize,
    found: Vec<(Candidate, TrialId, String)>,
    unfit: usize,
}

impl<'b> Candidates<'b> {
    pub(super) const fn new(bench: &'b Workbench, max_nodes: usize) -> Self {
        Self { bench, max_nodes, found: Vec::new(), unfit: 0 }
    }

    /// Makes all moves of a candidate.
    pub(super) async fn of(
        &mut self,
        parent: TrialId,
        kinds: &[Kind],
        choices: &Choices,
    ) -> Result<(), Stop> {
        let candidate = self.bench.candidate(parent);
        let program = self.bench.program(&candidate).await?;
        let sites = Site::all(&program);
        let moves = kinds
            .iter()
            .flat_map(|kind| sites.iter().flat_map(move |site| kind.moves(site, choices)));
        let moves: Vec<Move> = moves.collect();
        drop(sites);
        for Move { what, edits } in moves {
            match self.make(&candidate, &program, edits).await {
                Some((made, _)) if made.document == candidate.document => {}
                Some((made, dropped)) => self.found.push((made, parent, what + &told(&dropped))),
                None => self.unfit += 1,
            }
        }
        Ok(())
    }

    /// What edits make of a candidate, and whose state is lost; `None` when it does not check or
    /// does not serve those who know the graph.
    async fn make(
        &self,
        candidate: &Candidate,
        program: &Program,
        edits: Vec<Edit>,
    ) -> Option<(Candidate, Vec<Arc<str>>)> {
        let document = Arc::new(Edits(edits).applied_to(&candidate.document).ok()?);
        let bare = Candidate { document, state: GraphState::default() };
        let made = self.bench.check(&bare).await.ok()?;
        let nodes = |program: &Program| program.graph().nodes().count();
        if !serves_as(program, &made) || nodes(&made) > self.max_nodes.max(nodes(program)) {
            return None;
        }
        let Inherited { state, dropped } = inherit(&candidate.state, program, &made);
        let made = Candidate { document: Arc::new(made.document().clone()), state };
        self.bench.check(&made).await.ok()?;
        Some((made, dropped))
    }

    /// Puts so many of them on the board, and says which are still to be tried, and how many moves
    /// did not check.
    pub(super) fn enter(self, most: usize, round: usize) -> (Vec<TrialId>, usize) {
        let mut chosen: Vec<usize> = (0..self.found.len()).collect();
        if chosen.len() > most {
            self.bench.rng(&format!("moves of round {round}")).shuffle(&mut chosen);
            chosen.truncate(most);
            chosen.sort_unstable();
        }
        let mut entered: Vec<TrialId> = Vec::with_capacity(chosen.len());
        for (position, (candidate, parent, what)) in self.found.into_iter().enumerate() {
            if chosen.binary_search(&position).is_err() {
                continue;
            }
            let id = self.bench.enter(candidate, &[parent], what);
            let known = self.bench.trial(id).is_some_and(|trial| trial.full.is_some());
            if !known && !entered.contains(&id) {
                entered.push(id);
            }
        }
        (entered, self.unfit)
    }
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
