//! The JSON that DSPy 3 writes with `program.save("x.json")` and reads with `program.load`: to a
//! tuned state and back. Format after `dspy/primitives/base_module.py` and `dspy/predict/predict.py`
//! of <https://github.com/stanfordnlp/dspy>. Knows nothing of files or HTTP.
//!
//! A file contains `{path: {demos, signature: {instructions, fields}, lm, traces, train}}` beside
//! `metadata`; that of a lone `dspy.Predict` is such a member itself, without a path. Paths are the
//! same on both sides: the attribute of a module is the name of the node. If only one node of a
//! graph calls an LM, its path may also be that of a lone module: `predict` for `reply.predict`,
//! and no path at all for a `predict` node.

mod module;
mod names;
mod python_values;
mod read;
mod write;

use indexmap::IndexMap;

use super::node::predictor_path;
use super::program::Program;
use crate::predict::DynPredictor;
use crate::read::listed;

pub use module::{load_dspy, module_to_dspy};
pub use read::{DspyImport, from_dspy};
pub use write::to_dspy;

/// The member of a file that is no predictor.
const METADATA: &str = "metadata";

/// The members of a predictor in a file.
const DEMOS: &str = "demos";
const SIGNATURE: &str = "signature";
const LM: &str = "lm";

/// The predictors of a program, found by both spellings of their paths.
struct Predictors<'p> {
    by_path: IndexMap<String, &'p dyn DynPredictor>,
    /// The only node that calls an LM; none if its path as a lone module would be the path of
    /// another.
    alone: Option<String>,
}

impl<'p> Predictors<'p> {
    fn of(program: &'p Program) -> Self {
        let by_path: IndexMap<String, _> = program.predictors().into_iter().collect();
        let node = by_path.keys().next().map(|path| split(path).0.to_owned());
        let is_alone = |node: &String| {
            by_path
                .keys()
                .map(|path| split(path))
                .all(|(other, within)| other == node && !by_path.contains_key(within))
        };
        let alone = node.filter(is_alone);
        Self { by_path, alone }
    }

    /// The predictors of a typed module, which DSPy knows by the same paths. One without a path is a
    /// lone `dspy.Predict`.
    fn of_module(found: Vec<(String, &'p dyn DynPredictor)>) -> Self {
        Self { by_path: found.into_iter().collect(), alone: None }
    }

    /// The path of a predictor as that of the lone module in its node.
    fn lone<'s>(&self, path: &'s str) -> Option<&'s str> {
        if path.is_empty() {
            return Some(path);
        }
        self.alone.as_ref().map(|_| split(path).1)
    }

    fn find(&self, path: &str) -> Option<(&str, &'p dyn DynPredictor)> {
        let known = self.by_path.get_key_value(path).or_else(|| {
            let path = predictor_path(self.alone.as_deref()?, path);
            self.by_path.get_key_value(&path)
        });
        known.map(|(path, predictor)| (path.as_str(), *predictor))
    }

    /// All paths, for a person.
    fn listed(&self) -> String {
        listed(self.by_path.keys().map(String::as_str))
    }
}

/// A path's node, and the path within it.
fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}
