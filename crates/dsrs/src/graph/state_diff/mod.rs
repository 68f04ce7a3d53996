//! What turns one tuned state into another, field by field: instructions, demos, LM settings of
//! every predictor, also between versions of a graph. Pure data in and out; knows nothing of
//! versions or storage.

mod demos;
mod show;

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::GraphState;
use super::program::Program;
use crate::predict::{
    DecisionRule, DecisionRules, DynPredictor, LmOverrides, NearestDemos, PredictState,
    lm_to_payload, read_lm,
};
use crate::problem::{At, Problems};
use crate::value::{Map, Payload};

pub use demos::{DemoChange, DemoField};

/// The differences by predictor path, in the order of the new program; paths that only the old one
/// has are last. Equal predictors are not listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateDiff(pub IndexMap<Arc<str>, PredictorDiff>);

/// Which of the two programs has a predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Both have it.
    Both,
    /// Only the new one; its changes start from the defaults.
    Added,
    /// Only the old one; its changes lead to the defaults.
    Removed,
}

/// Before and after; `None` where there is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange<T> {
    /// In the old state.
    pub before: Option<T>,
    /// In the new state.
    pub after: Option<T>,
}

impl<T: PartialEq> ValueChange<T> {
    fn of(before: Option<T>, after: Option<T>) -> Option<Self> {
        (before != after).then_some(Self { before, after })
    }
}

/// An instruction that changed, as an override or in what calls use.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionChange {
    /// The overrides; `None` is the signature's own instruction.
    pub set: ValueChange<Arc<str>>,
    /// What calls use; `None` where there is no such predictor.
    pub effective: ValueChange<Arc<str>>,
}

/// The differences of one predictor.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictorDiff {
    /// Which of the two programs has it.
    pub presence: Presence,
    /// Its instruction, if it is another.
    pub instruction: Option<InstructionChange>,
    /// Its demos: what makes the new list of the old one.
    pub demos: Vec<DemoChange>,
    /// Its LM settings that are others, by name.
    pub lm: IndexMap<Arc<str>, ValueChange<Payload>>,
    /// How the demos of a call are chosen, if that is another.
    pub nearest: Option<ValueChange<NearestDemos>>,
    /// Its rules of decisions that are others, by output.
    pub decisions: IndexMap<Arc<str>, ValueChange<DecisionRule>>,
}

/// What turns the state of `old` into that of `new`.
#[must_use]
pub fn state_diff(old: &Program, new: &Program) -> StateDiff {
    let (before, after) = (sides(old), sides(new));
    let paths: IndexSet<&Arc<str>> = after.keys().chain(before.keys()).collect();
    let changed = paths.into_iter().filter_map(|path| {
        let found = predictor(before.get(path).copied(), after.get(path).copied())?;
        Some((path.clone(), found))
    });
    StateDiff(changed.collect())
}

impl StateDiff {
    /// Whether both say the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Turns the old state into the new one. For any other state the result is meaningless, but it
    /// never panics. Predictors without overrides are omitted.
    #[must_use]
    pub fn apply(&self, old: &GraphState) -> GraphState {
        let mut state = old.clone();
        for (path, change) in &self.0 {
            let before = state.0.shift_remove(path).unwrap_or_default();
            if change.presence != Presence::Removed {
                state.0.insert(path.clone(), change.apply(before));
            }
        }
        state.0.retain(|_, tuned| !tuned.is_default());
        state
    }
}

impl PredictorDiff {
    fn apply(&self, before: PredictState) -> PredictState {
        let instruction = match &self.instruction {
            Some(change) => change.set.after.clone(),
            None => before.instruction,
        };
        let mut lm = before.lm;
        for (name, change) in &self.lm {
            set(&mut lm, name, change.after.as_ref());
        }
        let demos = demos::apply(&self.demos, &before.demos);
        let nearest = match &self.nearest {
            Some(change) => change.after.clone(),
            None => before.nearest,
        };
        let mut decisions = before.decisions;
        for (output, change) in &self.decisions {
            match &change.after {
                Some(rule) => drop(decisions.insert(output.clone(), rule.clone())),
                None => drop(decisions.shift_remove(output)),
            }
        }
        PredictState { instruction, demos, lm, nearest, decisions }
    }
}

fn sides(program: &Program) -> IndexMap<Arc<str>, &dyn DynPredictor> {
    program.predictors().into_iter().map(|(path, found)| (path.into(), found)).collect()
}

fn predictor(
    old: Option<&dyn DynPredictor>,
    new: Option<&dyn DynPredictor>,
) -> Option<PredictorDiff> {
    let presence = match (old, new) {
        (Some(_), Some(_)) => Presence::Both,
        (None, _) => Presence::Added,
        (_, None) => Presence::Removed,
    };
    let nothing = PredictState::default();
    let (before, after) =
        (old.map_or(&nothing, |p| p.state()), new.map_or(&nothing, |p| p.state()));
    let instruction_of =
        |found: Option<&dyn DynPredictor>| found.map(|p| Arc::from(p.instruction()));
    let set = (before.instruction.clone(), after.instruction.clone());
    let effective = (instruction_of(old), instruction_of(new));
    let differs = set.0 != set.1 || effective.0 != effective.1;
    let instruction = differs.then_some(InstructionChange {
        set: ValueChange { before: set.0, after: set.1 },
        effective: ValueChange { before: effective.0, after: effective.1 },
    });
    let demos = demos::changes(&before.demos, &after.demos);
    let lm = settings(&before.lm, &after.lm);
    let nearest = ValueChange::of(before.nearest.clone(), after.nearest.clone());
    let decisions = rules(&before.decisions, &after.decisions);
    let settled = lm.is_empty() && nearest.is_none() && decisions.is_empty();
    let same = instruction.is_none() && demos.is_empty() && settled;
    (presence != Presence::Both || !same).then_some(PredictorDiff {
        presence,
        instruction,
        demos,
        lm,
        nearest,
        decisions,
    })
}

fn rules(
    before: &DecisionRules,
    after: &DecisionRules,
) -> IndexMap<Arc<str>, ValueChange<DecisionRule>> {
    let outputs: IndexSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
    let changed = outputs.into_iter().filter_map(|output| {
        let change = ValueChange::of(before.get(output).cloned(), after.get(output).cloned())?;
        Some((output.clone(), change))
    });
    changed.collect()
}

fn settings(before: &LmOverrides, after: &LmOverrides) -> IndexMap<Arc<str>, ValueChange<Payload>> {
    let members = |lm| lm_to_payload(lm).and_then(|settings| settings.as_map().cloned());
    let (before, after): (Map, Map) =
        (members(before).unwrap_or_default(), members(after).unwrap_or_default());
    let names: IndexSet<&Arc<str>> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let change = ValueChange::of(before.get(name).cloned(), after.get(name).cloned())?;
        Some((name.clone(), change))
    });
    changed.collect()
}

/// Sets one member by its name in documents.
fn set(lm: &mut LmOverrides, name: &str, value: Option<&Payload>) {
    let document = lm_to_payload(lm);
    let mut members = document.as_ref().and_then(Payload::as_map).cloned().unwrap_or_default();
    match value {
        Some(value) => members.insert(name.into(), value.clone()),
        None => members.shift_remove(name),
    };
    let changed = read_lm(&Payload::map(members), &At::Root, &mut Problems::default());
    *lm = changed.unwrap_or_default();
}
