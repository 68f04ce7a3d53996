//! Carrying a state over to the next version of a graph: which overrides still apply, and why the
//! others do not. Knows nothing of versions or storage.

use std::sync::Arc;

use super::GraphState;
use super::check::{absent_input, same_type};
use super::program::Program;
use crate::predict::{DynPredictor, PredictState, SignatureChecks, misfit_rules};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, brief};

/// The result of carrying over a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarryOver {
    /// The state for the new graph.
    pub state: GraphState,
    /// The paths whose overrides still apply.
    pub carried: Vec<Arc<str>>,
    /// The paths whose overrides were dropped, with the reason.
    pub dropped: Vec<(Arc<str>, String)>,
}

/// Carries a state over from one program to its successor. A predictor retains its overrides if its
/// path still exists with all of its fields, by name and type. New outputs are allowed, and so are
/// new optional inputs. `renamed` lists old and new names of nodes in order; paths follow.
#[must_use]
pub fn carry_over(
    state: &GraphState,
    old: &Program,
    new: &Program,
    renamed: &[(Arc<str>, Arc<str>)],
) -> CarryOver {
    let before = old.predictors();
    let after = new.predictors();
    let find = |all: &[(String, &dyn DynPredictor)], path: &str| {
        all.iter().find(|(found, _)| found == path).map(|(_, p)| p.schema().clone())
    };
    let mut budget = CompareBudget::for_document();
    let mut result = CarryOver::default();
    for (was, tuned) in &state.0 {
        let path = &follow(was, renamed);
        let verdict = match (find(&before, was), find(&after, path)) {
            (_, None) => Err("the new version has no such predictor".to_owned()),
            (None, Some(_)) => Ok(()),
            (Some(old), Some(new)) => {
                fits(&old, &new, &mut budget).and_then(|()| demos_fit(tuned, &new))
            }
        };
        match verdict {
            Ok(()) => {
                let mut tuned = tuned.clone();
                let decides = after.iter().find(|(found, _)| found == &**path);
                let decisions = decides.map_or(&[][..], |(_, predictor)| predictor.decisions());
                for (output, reason) in misfit_rules(decisions, &tuned.decisions) {
                    tuned.decisions.shift_remove(&output);
                    let reason = format!("the rule of `{output}` no longer fits: {reason}");
                    result.dropped.push((path.clone(), reason));
                }
                result.carried.push(path.clone());
                result.state.0.insert(path.clone(), tuned);
            }
            Err(reason) => result.dropped.push((path.clone(), reason)),
        }
    }
    result
}

/// The path of a predictor after renames of its node.
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

/// Whether the demos hold the asserts of the new version.
fn demos_fit(state: &PredictState, new: &SignatureSchema) -> Result<(), String> {
    let checks = SignatureChecks::of(new);
    for (index, demo) in state.demos.iter().enumerate() {
        checks.admit_demo(demo).map_err(|error| format!("demo {index}: {error}"))?;
    }
    Ok(())
}

fn fits(
    old: &SignatureSchema,
    new: &SignatureSchema,
    budget: &mut CompareBudget,
) -> Result<(), String> {
    let mut unchanged = |kind: &str, before: &FieldSchema, after: Option<&FieldSchema>| match after
    {
        None => Err(format!("{kind} `{}` is gone", before.name)),
        Some(after) if same_type(&old.type_of(before), &new.type_of(after), budget) => Ok(()),
        Some(after) => {
            let (was, is) = (brief(&before.ty), brief(&after.ty));
            Err(format!("{kind} `{}` was `{was}` and is `{is}`", before.name))
        }
    };
    for field in &old.inputs {
        unchanged("input", field, new.input(&field.name))?;
    }
    for field in &old.outputs {
        unchanged("output", field, new.output(&field.name))?;
    }
    let is_new = |field: &&FieldSchema| old.input(&field.name).is_none();
    match new.inputs.iter().filter(is_new).find(|field| absent_input(new, field).is_none()) {
        Some(field) => {
            Err(format!("input `{}` is new and required, and no demo has it", field.name))
        }
        None => Ok(()),
    }
}
