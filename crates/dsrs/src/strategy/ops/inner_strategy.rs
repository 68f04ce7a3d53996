//! A strategy inside an op: `{strategy, signature?, config?}`. A strategy that calls an LM has its own
//! signature there; the types of an inner op follow from the inputs of the outer one.

use std::sync::{Arc, OnceLock};

use facet::Facet;

use super::TEXT_OR_OBJECT;
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{FieldSchema, SignatureSchema, read_signature};
use crate::strategy::inner_module::{InnerModule, check_parks};
use crate::strategy::op::{InputTypes, Op, OpInput, OpTypes};
use crate::strategy::{BuildEnv, StrategyFactory, registry};
use crate::types::{Type, TypeDefs, TypeScope, absent_value, to_json_schema};
use crate::value::{Fields, Map, Payload};

const SIGNATURE: &str = "signature";
const CONFIG: &str = "config";

/// The settings of a strategy inside an op.
#[derive(Facet)]
pub(super) struct InnerStrategyConfig {
    /// A strategy of the registry.
    strategy: String,
    /// Its signature. Omit it for an op and for a strategy with its own.
    #[facet(dsrs::keywords(TEXT_OR_OBJECT))]
    signature: Option<Payload>,
    /// Its config.
    #[facet(dsrs::object)]
    config: Option<Payload>,
}

/// The place of an inner strategy in the config of an op: a member, or an entry of a member.
#[derive(Clone, Debug)]
pub(super) struct InnerPlace {
    member: &'static str,
    entry: Option<Arc<str>>,
    /// What stands before the paths of its predictors.
    path: Arc<str>,
}

impl InnerPlace {
    /// The member of this name.
    pub(super) fn member(name: &'static str) -> Self {
        Self { member: name, entry: None, path: name.into() }
    }

    /// An entry of a member, whose predictors have another name in front.
    pub(super) fn entry(member: &'static str, entry: Arc<str>, path: Arc<str>) -> Self {
        Self { member, entry: Some(entry), path }
    }

    /// The name of the member or entry.
    pub(super) fn name(&self) -> &str {
        self.entry.as_deref().unwrap_or(self.member)
    }

    /// Calls `act` with the place, from that of the op.
    pub(super) fn within<T>(&self, at: &At<'_>, act: impl FnOnce(&At<'_>) -> T) -> T {
        let config = at.key(CONFIG);
        let member = config.key(self.member);
        match &self.entry {
            None => act(&member),
            Some(entry) => act(&member.key(entry)),
        }
    }
}

/// A strategy inside an op, before its types are known.
pub(super) struct InnerStrategy {
    place: InnerPlace,
    kind: InnerKind,
}

enum InnerKind {
    Strategy(InnerModule),
    Op { name: &'static str, op: Box<dyn Op>, types: OnceLock<OpTypes> },
}

impl InnerKind {
    /// Builds the strategy; `at` is its own place.
    fn build(
        env: &dyn BuildEnv,
        wanted: InnerStrategyConfig,
        path: &str,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let InnerStrategyConfig { strategy, signature: posted, config } = wanted;
        let config = config.unwrap_or_else(|| Payload::map(Map::new()));
        let factory = registry::check(&strategy, Some(&config), at)?;
        let Some(op) = factory.op() else {
            let base = signature(env, factory, &config, posted.as_ref(), scope, at)?;
            let module = registry::create(env, &strategy, &base, Some(&config), at)?;
            check_parks(&*module, &strategy, at)?;
            return Ok(Self::Strategy(InnerModule::under(path, module)));
        };
        if posted.is_some() {
            let detail = "the types of an op are inferred from its inputs; omit `signature`";
            return Err(problem(at, Code::InvalidSignature, detail));
        }
        let (name, types) = (op.name(), OnceLock::new());
        let op = op.read(env, &config, scope, at)?;
        Ok(Self::Op { name, op, types })
    }
}

impl InnerStrategy {
    /// Builds the strategy at a place of the config of an op; `at` is the place of the op.
    pub(super) fn build(
        env: &dyn BuildEnv,
        wanted: InnerStrategyConfig,
        place: InnerPlace,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let kind = place.within(at, |at| InnerKind::build(env, wanted, &place.path, scope, at))?;
        Ok(Self { place, kind })
    }

    /// Its place in the config of the op.
    pub(super) const fn place(&self) -> &InnerPlace {
        &self.place
    }

    /// Its inputs, as far as they are known.
    pub(super) fn inputs(&self) -> Vec<OpInput> {
        match &self.kind {
            InnerKind::Op { op, .. } => op.inputs(),
            InnerKind::Strategy(module) => {
                let schema = module.schema();
                let input = |field: &FieldSchema| OpInput {
                    name: field.name.clone(),
                    ty: Some(field.ty.clone()),
                    required: absent_value(&field.ty, &schema.defs, field.default.as_ref())
                        .is_none(),
                };
                schema.inputs.iter().map(input).collect()
            }
        }
    }

    /// Whether it accepts inputs of other names too.
    pub(super) fn accepts_others(&self) -> bool {
        matches!(&self.kind, InnerKind::Op { op, .. } if op.accepts_others())
    }

    /// Its inputs and outputs, from the types of what feeds it.
    pub(super) fn infer(
        &self,
        given: &mut InputTypes<'_>,
        at: &At<'_>,
    ) -> Result<OpTypes, Problems> {
        match &self.kind {
            InnerKind::Strategy(module) => {
                let schema = module.schema();
                let (inputs, outputs) = (schema.inputs.clone(), schema.outputs.clone());
                Ok(OpTypes { inputs, outputs })
            }
            InnerKind::Op { op, types, .. } => {
                let found = self.place.within(at, |at| op.infer(given, at))?;
                Ok(types.get_or_init(|| found).clone())
            }
        }
    }

    /// The module of the strategy, once its types are inferred.
    pub(super) fn module(self, defs: &Arc<TypeDefs>) -> InnerModule {
        match self.kind {
            InnerKind::Strategy(module) => module,
            InnerKind::Op { name, op, types } => {
                let types = types.into_inner().unwrap_or_default();
                InnerModule::under(&self.place.path, op.module(types.signature(name, defs.clone())))
            }
        }
    }
}

/// The signature of a strategy: the one it brings, or the one in the config.
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
        (Some(own), Some(posted)) if own != posted && fields_of(own) != fields_of(posted) => {
            let detail = "this strategy has its own signature, and this one differs; omit it";
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

/// The names and types of a signature; its texts do not matter.
fn fields_of(signature: &Payload) -> Option<Vec<(Arc<str>, String)>> {
    let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
    let draft = read_signature(signature, &mut scope, &At::Root, &mut problems)?;
    let defs = scope.finish();
    let field = |field: &FieldSchema| {
        let ty = Type::new(field.ty.clone(), defs.clone());
        (field.name.clone(), to_json_schema(&ty).to_json())
    };
    Some(draft.inputs.iter().chain(&draft.outputs).map(field).collect())
}

fn problem(at: &At<'_>, code: Code, detail: &str) -> Problems {
    let pointer = at.key(SIGNATURE).pointer();
    Problem { pointer, code, detail: detail.to_owned() }.into()
}

/// The inputs of an inner strategy from those of the outer op. An input that is not connected has its
/// default.
pub(super) fn inputs_of(module: &InnerModule, given: &Fields) -> Fields {
    let schema = module.schema();
    let value = |field: &FieldSchema| {
        let absent = || absent_value(&field.ty, &schema.defs, field.default.as_ref());
        given.get(&field.name).cloned().or_else(absent).unwrap_or_default()
    };
    schema.inputs.iter().map(|field| (field.name.clone(), value(field))).collect()
}
