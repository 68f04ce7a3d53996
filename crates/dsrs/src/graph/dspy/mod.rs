//! The JSON that DSPy 3 writes with `program.save("x.json")` and reads with `program.load`: to a
//! tuned state and back. Format after `dspy/primitives/base_module.py` and `dspy/predict/predict.py`
//! of <https://github.com/stanfordnlp/dspy>. Knows nothing of files or HTTP.
//!
//! A file contains `{path: {demos, signature: {instructions, fields}, lm, traces, train}}` beside
//! `metadata`; that of a lone `dspy.Predict` is such a member itself, without a path. Paths are the
//! same on both sides: the attribute of a module is the name of the node, unless the node says
//! otherwise (`dspy_paths`): a module in a list or a dict, or one that is called several times. If only
//! one node of a graph calls an LM, its path may also be that of a lone module: `predict` for
//! `reply.predict`, and no path at all for a `predict` node.

mod decisions;
mod module;
mod names;
mod python_values;
mod read;
mod write;

use std::sync::Arc;

use indexmap::IndexMap;

use super::predictor_path;
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
    /// The paths in the file, by the paths here, where they differ.
    renamed: IndexMap<String, Arc<str>>,
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
        let renamed = by_path.keys().filter_map(|path| {
            let (node, within) = split(path);
            let own = program.graph().node(node)?.dspy_path(within)?;
            Some((path.clone(), own.clone()))
        });
        Self { renamed: renamed.collect(), by_path, alone }
    }

    /// The predictors of a typed module, which DSPy knows by the same paths. One without a path is a
    /// lone `dspy.Predict`.
    fn of_module(found: Vec<(String, &'p dyn DynPredictor)>) -> Self {
        let by_path = found.into_iter().collect();
        Self { by_path, renamed: IndexMap::new(), alone: None }
    }

    /// The path of a predictor as that of the lone module in its node.
    fn lone<'s>(&self, path: &'s str) -> Option<&'s str> {
        if path.is_empty() {
            return Some(path);
        }
        self.alone.as_ref().map(|_| split(path).1)
    }

    /// The path of a predictor in the file.
    fn in_file<'s>(&'s self, path: &'s str) -> &'s str {
        self.renamed.get(path).map_or(path, AsRef::as_ref)
    }

    /// The predictors of a path in the file; several if DSPy calls one several times.
    fn find(&self, path: &str) -> Vec<(&str, &'p dyn DynPredictor)> {
        let named = self.renamed.iter().filter(|(_, own)| own.as_ref() == path);
        let own = self.by_path.get_key_value(path).or_else(|| {
            let path = predictor_path(self.alone.as_deref()?, path);
            self.by_path.get_key_value(&path)
        });
        let named = named.filter_map(|(own, _)| self.by_path.get_key_value(own));
        let mut found: Vec<_> = own
            .into_iter()
            .chain(named)
            .map(|(path, predictor)| (path.as_str(), *predictor))
            .collect();
        found.dedup_by_key(|(path, _)| *path);
        found
    }

    /// All paths in the file, for a person.
    fn listed(&self) -> String {
        listed(self.paths())
    }

    /// All paths in the file.
    fn paths(&self) -> impl Iterator<Item = &str> {
        self.by_path.keys().map(|path| self.in_file(path))
    }
}

/// A path's node, and the path within it.
fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}
