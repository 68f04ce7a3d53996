//! A node: a strategy on a base signature, with the settings of its calls.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::lm::Models;
use crate::predict::{DynPredictor, LmOverrides, SignatureChecks};
use crate::problem::{At, Code, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::{BuildEnv, DynModule, Op, pinned, registry};
use crate::types::{Class, ClassField, Type, TypeDefs, TypeIR};
use crate::value::{Map, Payload};

/// The default timeout of a node, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 60_000;
/// The default number of retries of a failed LM request.
pub const DEFAULT_RETRIES: u32 = 2;
/// The default number of retries after an answer that does not fit.
pub const DEFAULT_PARSE_RETRIES: u32 = 1;

/// Everything about a node's calls that is not its prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSettings {
    /// The model and its parameters.
    pub lm: LmOverrides,
    /// The timeout of the whole node, retries included.
    pub timeout: Duration,
    /// Retries of an LM request after a transient failure.
    pub retries: u32,
    /// Retries after an answer that does not fit.
    pub parse_retries: u32,
    /// The paths that predictors of the node have in the files of a DSPy program, by their paths
    /// within the node, where they differ: `steps[0]` for the node `steps_0`.
    pub dspy_paths: IndexMap<Arc<str>, Arc<str>>,
}

impl NodeSettings {
    /// The same with the alias of the model written out, so that a node has one document however it was
    /// made.
    fn resolved(mut self) -> Self {
        self.lm.model.get_or_insert_with(|| Arc::from(Models::DEFAULT));
        self
    }
}

impl Default for NodeSettings {
    fn default() -> Self {
        Self {
            lm: LmOverrides::default(),
            timeout: Duration::from_millis(DEFAULT_TIMEOUT_MS),
            retries: DEFAULT_RETRIES,
            parse_retries: DEFAULT_PARSE_RETRIES,
            dspy_paths: IndexMap::new(),
        }
    }
}

/// A strategy on a base signature.
pub struct Node {
    pub(super) strategy: Arc<str>,
    pub(super) base: Arc<SignatureSchema>,
    pub(super) config: Payload,
    pub(super) settings: NodeSettings,
    pub(super) module: Box<dyn DynModule>,
    outputs: Type,
    checks: SignatureChecks,
}

impl Node {
    /// Makes a node; `at` is its place in a document.
    ///
    /// # Errors
    /// `unknown_strategy`, `invalid_config`, `unknown_model`, and problems that the strategy reports.
    pub fn create(
        env: &dyn BuildEnv,
        strategy: &str,
        base: Arc<SignatureSchema>,
        config: Payload,
        settings: NodeSettings,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let settings = settings.resolved();
        let mut problems = Problems::new();
        check_model(env, &settings.lm, &at.key("lm"), &mut problems);
        let config = pinned(env, strategy, config);
        match registry::create(env, strategy, &base, Some(&config), at) {
            Ok(module) if problems.is_empty() => {
                let outputs = class_of(&module.schema().outputs, &module.schema().defs);
                let (strategy, checks) =
                    (Arc::from(strategy), SignatureChecks::of(module.schema()));
                Ok(Self { strategy, base, config, settings, module, outputs, checks })
            }
            Ok(_) => Err(problems),
            Err(found) => {
                problems.append(found);
                Err(problems)
            }
        }
    }

    /// Makes the node of an op on the signature that was inferred for it; the config is complete.
    pub(super) fn of_op(
        strategy: Arc<str>,
        op: Box<dyn Op>,
        base: Arc<SignatureSchema>,
        config: Payload,
        settings: NodeSettings,
    ) -> Self {
        let settings = settings.resolved();
        let outputs = class_of(&base.outputs, &base.defs);
        let module = op.module(base.clone());
        let checks = SignatureChecks::of(module.schema());
        Self { strategy, base, config, settings, module, outputs, checks }
    }

    /// Makes a node of a module that no registry knows, under the name of its type.
    pub(super) fn of_module(
        name: Arc<str>,
        module: Box<dyn DynModule>,
        settings: NodeSettings,
    ) -> Self {
        let settings = settings.resolved();
        let base = module.schema().clone();
        let outputs = class_of(&base.outputs, &base.defs);
        let config = Payload::map(Map::new());
        let checks = SignatureChecks::of(&base);
        Self { strategy: name, base, config, settings, module, outputs, checks }
    }

    /// Checks the readable parts of a broken node, so that all its problems are reported at once.
    pub(super) fn check_parts(
        env: &dyn BuildEnv,
        strategy: Option<&str>,
        config: Option<&Payload>,
        settings: &NodeSettings,
        at: &At<'_>,
    ) -> Problems {
        let mut problems = Problems::new();
        check_model(env, &settings.lm, &at.key("lm"), &mut problems);
        if let Some(strategy) = strategy {
            problems.append(registry::check(strategy, config, at).err().unwrap_or_default());
        }
        problems
    }

    /// The same node with a fresh, untuned module, to build it with another state.
    pub(super) fn fresh(&self, env: &dyn BuildEnv, at: &At<'_>) -> Result<Self, Problems> {
        Self::create(
            env,
            &self.strategy,
            self.base.clone(),
            self.config.clone(),
            self.settings.clone(),
            at,
        )
    }

    /// Whether the node may wait for a value from outside, while the run is parked.
    #[must_use]
    pub fn parks(&self) -> bool {
        self.module.parks()
    }

    /// The strategy's name.
    #[must_use]
    pub fn strategy(&self) -> &str {
        &self.strategy
    }

    /// The config of the strategy, with the versions of the stored graphs that it names.
    #[must_use]
    pub const fn config(&self) -> &Payload {
        &self.config
    }

    /// Whether its types are inferred from its connections, so that it has no written signature.
    #[must_use]
    pub fn is_op(&self) -> bool {
        registry::get(&self.strategy).is_some_and(|factory| factory.op().is_some())
    }

    /// The signature as posted, before the strategy transformed it; for an op, as inferred.
    #[must_use]
    pub fn base(&self) -> &Arc<SignatureSchema> {
        &self.base
    }

    /// The signature as callers see it.
    #[must_use]
    pub fn schema(&self) -> &Arc<SignatureSchema> {
        self.module.schema()
    }

    /// The settings of its calls.
    #[must_use]
    pub fn settings(&self) -> &NodeSettings {
        &self.settings
    }

    /// All outputs as one class, the root of selections.
    #[must_use]
    pub fn outputs(&self) -> &Type {
        &self.outputs
    }

    /// The asserts on its inputs and outputs.
    pub(super) const fn checks(&self) -> &SignatureChecks {
        &self.checks
    }

    /// Refuses paths in DSPy's files for predictors that the node does not have; `at` is its place.
    pub(super) fn check_dspy_paths(&self, at: &At<'_>, problems: &mut Problems) {
        let known: Vec<&str> = self.module.predictors().into_iter().map(|(path, _)| path).collect();
        for unknown in
            self.settings.dspy_paths.keys().filter(|path| !known.contains(&path.as_ref()))
        {
            let names = known.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
            let detail = format!("the node has no predictor `{unknown}`; it has {names}");
            problems.add(&at.key("dspy_paths").key(unknown), Code::UnknownField, detail);
        }
    }

    /// The path of a predictor of the node in DSPy's files, if it differs from its path in the graph.
    pub(super) fn dspy_path(&self, within: &str) -> Option<&Arc<str>> {
        self.settings.dspy_paths.get(within)
    }

    /// Its predictors, by path within the graph.
    pub(super) fn predictors<'n>(
        &'n self,
        name: &str,
    ) -> impl Iterator<Item = (String, &'n dyn DynPredictor)> {
        let name = name.to_owned();
        let paths = self.module.predictors().into_iter();
        paths.map(move |(path, predictor)| (predictor_path(&name, path), predictor))
    }
}

/// The path of a predictor within the graph: the node's name, then the path within the module.
pub(crate) fn predictor_path(node: &str, within: &str) -> String {
    if within.is_empty() { node.to_owned() } else { format!("{node}.{within}") }
}

/// Fields as one inline class.
pub(super) fn class_of(fields: &[FieldSchema], defs: &Arc<TypeDefs>) -> Type {
    let member = |field: &FieldSchema| {
        let constraints = field.constraints.clone();
        (field.name.clone(), ClassField { constraints, ..ClassField::of(field.ty.clone()) })
    };
    let members = fields.iter().map(member);
    let class = Class { description: None, fields: members.collect() };
    Type::new(TypeIR::Class(Arc::new(class)), defs.clone())
}

/// Reports a model alias that is not configured.
pub(super) fn check_model(
    env: &dyn BuildEnv,
    lm: &LmOverrides,
    at: &At<'_>,
    problems: &mut Problems,
) {
    if let Some(alias) = lm.model.as_deref().filter(|alias| !env.knows_model(alias)) {
        let detail =
            format!("the model alias `{alias}` is not configured; GET /v1/models lists them");
        problems.add(&at.key("model"), Code::UnknownModel, detail);
    }
}
