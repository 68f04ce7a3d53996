//! A strategy inside an op: `{strategy, signature?, config?}`. One that asks an LM has its own
//! signature there; one that is an op takes its types from what the outer op is given.

use std::sync::{Arc, OnceLock};

use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{SignatureSchema, read_signature};
use crate::strategy::config::{config_schema, described, member, schema};
use crate::strategy::op::{Given, Op, OpInput, OpTypes};
use crate::strategy::wrapped::{Wrapped, check_parks};
use crate::strategy::{BuildEnv, StrategyFactory, registry};
use crate::types::{TypeDefs, TypeScope, absent_value};
use crate::value::{Fields, Map, Payload};

const STRATEGY: &str = "strategy";
const SIGNATURE: &str = "signature";
const CONFIG: &str = "config";

/// The config schema of a strategy inside an op.
pub(super) fn inner_schema(description: &str) -> Payload {
    let members = [
        (STRATEGY, schema(r#"{"type": "string", "description": "a strategy of the registry"}"#)),
        (
            SIGNATURE,
            schema(
                r#"{"type": ["string", "object"], "description": "its signature; none for an op, and for a strategy that brings its own"}"#,
            ),
        ),
        (CONFIG, schema(r#"{"type": "object", "description": "its config"}"#)),
    ];
    described(config_schema(members, &[STRATEGY]), description)
}

/// A strategy inside an op, before its types are known.
pub(super) struct Inner {
    path: &'static str,
    kind: Kind,
}

enum Kind {
    Strategy(Wrapped),
    Op { name: &'static str, op: Box<dyn Op>, types: OnceLock<OpTypes> },
}

impl Inner {
    /// Reads a member of an op's config; its predictors are found under the member's name. `at` is
    /// the place of the op.
    pub(super) fn read(
        env: &dyn BuildEnv,
        config: &Payload,
        path: &'static str,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let (config_at, nothing) = (at.key(CONFIG), Payload::map(Map::new()));
        let at = config_at.key(path);
        let wanted = member(config, path).unwrap_or(&nothing);
        let strategy = member(wanted, STRATEGY).and_then(Payload::as_str).unwrap_or_default();
        let config = member(wanted, CONFIG).unwrap_or(&nothing);
        let posted = member(wanted, SIGNATURE);
        let factory = registry::check(strategy, Some(config), &at)?;
        let Some(op) = factory.op() else {
            let base = signature(env, factory, config, posted, scope, &at)?;
            let module = registry::create(env, strategy, &base, Some(config), &at)?;
            check_parks(&*module, strategy, &at)?;
            return Ok(Self { path, kind: Kind::Strategy(Wrapped::under(path, module)) });
        };
        if posted.is_some() {
            let detail = "the types of an op follow from what it is given; leave `signature` out";
            return Err(problem(&at, Code::InvalidSignature, detail));
        }
        let (name, types) = (op.name(), OnceLock::new());
        let op = op.read(env, config, scope, &at)?;
        Ok(Self { path, kind: Kind::Op { name, op, types } })
    }

    /// What it takes, as far as that is known.
    pub(super) fn inputs(&self) -> Vec<OpInput> {
        match &self.kind {
            Kind::Op { op, .. } => op.inputs(),
            Kind::Strategy(module) => {
                let schema = module.schema();
                let input = |field: &crate::signature::FieldSchema| OpInput {
                    name: field.name.clone(),
                    ty: Some(field.ty.clone()),
                    required: absent_value(&field.ty, &schema.defs, field.default.as_ref())
                        .is_none(),
                };
                schema.inputs.iter().map(input).collect()
            }
        }
    }

    /// Whether it takes inputs of other names too.
    pub(super) fn takes_others(&self) -> bool {
        matches!(&self.kind, Kind::Op { op, .. } if op.takes_others())
    }

    /// What it takes and gives, from the types of what it is given.
    pub(super) fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        match &self.kind {
            Kind::Strategy(module) => {
                let schema = module.schema();
                let (inputs, outputs) = (schema.inputs.clone(), schema.outputs.clone());
                Ok(OpTypes { inputs, outputs })
            }
            Kind::Op { op, types, .. } => {
                let config_at = at.key(CONFIG);
                let found = op.infer(given, &config_at.key(self.path))?;
                Ok(types.get_or_init(|| found).clone())
            }
        }
    }

    /// The strategy at work, once its types were inferred.
    pub(super) fn module(self, defs: &Arc<TypeDefs>) -> Wrapped {
        match self.kind {
            Kind::Strategy(module) => module,
            Kind::Op { name, op, types } => {
                let types = types.into_inner().unwrap_or_default();
                Wrapped::under(self.path, op.module(types.signature(name, defs.clone())))
            }
        }
    }
}

/// The signature of a strategy: its own, or the one that stands beside it.
fn signature(
    env: &dyn BuildEnv,
    factory: &dyn StrategyFactory,
    config: &Payload,
    posted: Option<&Payload>,
    scope: &mut TypeScope,
    at: &At<'_>,
) -> Result<Arc<SignatureSchema>, Problems> {
    let own = factory.own_signature(env, config, at).transpose()?;
    let text = match (&own, posted) {
        (Some(own), Some(posted)) if own != posted => {
            let detail =
                "this strategy brings its own signature, and this is another; leave it out";
            return Err(problem(at, Code::InvalidSignature, detail));
        }
        (Some(own), _) => own,
        (None, Some(posted)) => posted,
        (None, None) => return Err(problem(at, Code::MissingField, "`signature` is missing")),
    };
    let mut problems = Problems::new();
    let draft = read_signature(text, scope, &at.key(SIGNATURE), &mut problems);
    match draft.filter(|_| problems.is_empty()) {
        Some(draft) => Ok(Arc::new(draft.finish(scope.defs().clone()))),
        None => Err(problems),
    }
}

fn problem(at: &At<'_>, code: Code, detail: &str) -> Problems {
    let pointer = at.key(SIGNATURE).pointer();
    Problem { pointer, code, detail: detail.to_owned() }.into()
}

/// The config with what is written down of the strategies inside: pinned graphs, and the signature
/// of those that bring their own, so that the definition loads when they are gone.
pub(super) fn pinned(env: &dyn BuildEnv, config: &Payload, names: &[&str]) -> Option<Payload> {
    let mut members = config.as_map()?.clone();
    for name in names {
        if let Some(Payload::Map(inner)) = members.get_mut(*name) {
            pin(env, Arc::make_mut(inner));
        }
    }
    Some(members.into())
}

fn pin(env: &dyn BuildEnv, inner: &mut Map) {
    let Some(Payload::Str(strategy)) = inner.get(STRATEGY).cloned() else { return };
    let config = inner.get(CONFIG).cloned().unwrap_or_else(|| Map::new().into());
    let config = registry::pinned(env, &strategy, config);
    let own = registry::get(&strategy)
        .and_then(|factory| factory.own_signature(env, &config, &At::Root))
        .and_then(Result::ok);
    if let Some(own) = own
        && !inner.contains_key(SIGNATURE)
    {
        inner.insert(SIGNATURE.into(), own);
    }
    if inner.contains_key(CONFIG) {
        inner.insert(CONFIG.into(), config);
    }
}

/// The inputs of a strategy inside, out of those of the op around it; what was not connected is
/// what it is when it is absent.
pub(super) fn inputs_of(module: &Wrapped, given: &Fields) -> Fields {
    let schema = module.schema();
    let value = |field: &crate::signature::FieldSchema| {
        let absent = || absent_value(&field.ty, &schema.defs, field.default.as_ref());
        given.get(&field.name).cloned().or_else(absent).unwrap_or_default()
    };
    schema.inputs.iter().map(|field| (field.name.clone(), value(field))).collect()
}
