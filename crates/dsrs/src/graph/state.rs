//! The tuned state of a whole graph: overrides by predictor path, as data, and what of it carries
//! over when the graph changes. Knows nothing of versions or storage.

use std::sync::Arc;

use indexmap::IndexMap;

use super::check::absent_input;
use super::program::Program;
use super::resolve::same;
use crate::predict::{DynPredictor, PredictState, read_state, state_to_payload};
use crate::problem::{At, Problems};
use crate::read;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, brief};
use crate::value::Payload;

/// Predictor states by path; a path that is not there is at its defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphState(pub IndexMap<Arc<str>, PredictState>);

impl GraphState {
    /// Reads `{path: {instruction, demos, lm?}}`. States that override nothing, and what is left
    /// of those that cannot be read, stay, so that their paths and their other parts are checked
    /// too.
    pub fn read(predictors: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let found = read::members(predictors, at, problems, |_, state, at, problems| {
            Some(read_state(state, at, problems).unwrap_or_default())
        })?;
        Some(Self(found.into_iter().collect()))
    }

    /// The same shape back, in the state's order.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let states = self.0.iter();
        Payload::map(states.map(|(path, s)| (path.clone(), state_to_payload(s))).collect())
    }
}

/// What became of a state when its graph changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carried {
    /// The state for the new graph.
    pub state: GraphState,
    /// The paths whose overrides still hold.
    pub carried: Vec<Arc<str>>,
    /// The paths whose overrides do not, and why.
    pub dropped: Vec<(Arc<str>, String)>,
}

/// Carries a state from one program to its successor: a predictor keeps its overrides when the
/// same path is still there with every field of before, by name and type. New outputs are allowed,
/// and new inputs that need not be given. `renamed` are names that nodes had and have, in the order
/// in which they got them: their paths follow.
#[must_use]
pub fn carry_over(
    state: &GraphState,
    old: &Program,
    new: &Program,
    renamed: &[(Arc<str>, Arc<str>)],
) -> Carried {
    let before = old.predictors();
    let after = new.predictors();
    let find = |all: &[(String, &dyn DynPredictor)], path: &str| {
        all.iter().find(|(found, _)| found == path).map(|(_, p)| p.schema().clone())
    };
    let mut budget = CompareBudget::of_a_document();
    let mut result = Carried::default();
    for (was, tuned) in &state.0 {
        let path = &follow(was, renamed);
        let verdict = match (find(&before, was), find(&after, path)) {
            (_, None) => Err("the new version has no such predictor".to_owned()),
            (None, Some(_)) => Ok(()),
            (Some(old), Some(new)) => fits(&old, &new, &mut budget),
        };
        match verdict {
            Ok(()) => {
                result.carried.push(path.clone());
                result.state.0.insert(path.clone(), tuned.clone());
            }
            Err(reason) => result.dropped.push((path.clone(), reason)),
        }
    }
    result
}

/// The path of a predictor after its node was renamed.
fn follow(path: &Arc<str>, renamed: &[(Arc<str>, Arc<str>)]) -> Arc<str> {
    renamed.iter().fold(path.clone(), |path, (was, is)| {
        match path
            .strip_prefix(was.as_ref())
            .filter(|rest| rest.is_empty() || rest.starts_with('.'))
        {
            Some(rest) => format!("{is}{rest}").into(),
            None => path,
        }
    })
}

fn fits(
    old: &SignatureSchema,
    new: &SignatureSchema,
    budget: &mut CompareBudget,
) -> Result<(), String> {
    let mut kept = |kind: &str, before: &FieldSchema, after: Option<&FieldSchema>| match after {
        None => Err(format!("{kind} `{}` is gone", before.name)),
        Some(after) if same(&old.type_of(before), &new.type_of(after), budget) => Ok(()),
        Some(after) => {
            let (was, is) = (brief(&before.ty), brief(&after.ty));
            Err(format!("{kind} `{}` was `{was}` and is `{is}`", before.name))
        }
    };
    for field in &old.inputs {
        kept("input", field, new.input(&field.name))?;
    }
    for field in &old.outputs {
        kept("output", field, new.output(&field.name))?;
    }
    let is_new = |field: &&FieldSchema| old.input(&field.name).is_none();
    match new.inputs.iter().filter(is_new).find(|field| absent_input(new, field).is_none()) {
        Some(field) => {
            Err(format!("input `{}` is new and required, and no demo has it", field.name))
        }
        None => Ok(()),
    }
}
