//! Strategies and types without a graph: previews and assignability.

use std::sync::Arc;

use dsrs::adapter::ChatAdapter;
use dsrs::problem::{At, Problems};
use dsrs::read::{Object, map};
use dsrs::signature::{SignatureSchema, read_signature};
use dsrs::strategy::{BuildEnv, DynModule, StrategyFactory, registry, stored_graphs};
use dsrs::types::{Type, TypeScope};
use dsrs::value::{Map, ParsedJson, Payload};

use crate::{App, AppError, Invalid};
use dsrs_store::Scope;

/// A strategy applied to a signature.
pub struct Preview {
    /// The signature as the strategy transforms it.
    pub schema: Arc<SignatureSchema>,
    /// Its predictors, by path.
    pub predictors: Vec<(String, PredictorPreview)>,
}

pub struct PredictorPreview {
    /// Its own signature.
    pub schema: Arc<SignatureSchema>,
    /// Its system prompt.
    pub system: String,
}

/// Whether a value of one type may be used as another.
pub struct Assignable {
    /// The source type in canonical form.
    pub from: String,
    /// The target type in canonical form.
    pub to: String,
    /// Where and why not, if so.
    pub mismatch: Option<(String, String)>,
}

impl App {
    /// The strategy with this name.
    pub fn strategy_get(&self, name: &str) -> Result<&'static dyn StrategyFactory, AppError> {
        let missing = || AppError::NotFound(format!("there is no strategy `{name}`"));
        registry::get(name).ok_or_else(missing)
    }

    /// Applies a strategy to `{signature, types?, config?}`.
    pub async fn strategy_preview(
        &self,
        scope: &Scope,
        name: &str,
        request: &ParsedJson,
    ) -> Result<Preview, AppError> {
        self.strategy_get(name)?;
        let build = |env: &dyn BuildEnv| {
            let mut problems = request.duplicates.clone();
            let preview = preview(env, name, &request.payload, &mut problems);
            preview.filter(|_| problems.is_empty()).ok_or(problems)
        };
        let config = request.payload.as_map().and_then(|members| members.get("config"));
        let references = config.map(|config| stored_graphs(name, config)).unwrap_or_default();
        let built = self.build_new(scope, None, references, build).await?;
        built.map_err(|problems| AppError::invalid(Invalid::Request, problems))
    }

    /// Whether a value of type `from` may be used as `to`, from `{from, to, types?}`.
    pub fn type_assignable(&self, request: &ParsedJson) -> Result<Assignable, AppError> {
        let mut problems = request.duplicates.clone();
        let answer = assignable(&request.payload, &mut problems);
        answer
            .filter(|_| problems.is_empty())
            .ok_or_else(|| AppError::invalid(Invalid::Request, problems))
    }
}

fn preview(
    env: &dyn BuildEnv,
    name: &str,
    request: &Payload,
    problems: &mut Problems,
) -> Option<Preview> {
    let module = previewed_module(env, name, request, problems)?;
    let predictors = module.predictors().into_iter().map(|(path, predictor)| {
        let schema = predictor.schema().clone();
        let system = ChatAdapter::build_system(&schema, None);
        (path.to_owned(), PredictorPreview { schema, system })
    });
    Some(Preview { predictors: predictors.collect(), schema: module.schema().clone() })
}

/// Applies a strategy to `{signature, types?, config?}`.
pub(crate) fn previewed_module(
    env: &dyn BuildEnv,
    name: &str,
    request: &Payload,
    problems: &mut Problems,
) -> Option<Box<dyn DynModule>> {
    let mut object = Object::open(request, &At::Root, problems)?;
    let mut scope = read_types(&mut object);
    let config =
        object.optional("config", |config, at, problems| map(config, at, problems).map(|_| config));
    let own = own_signature(env, name, config);
    let op = registry::get(name).and_then(StrategyFactory::op);
    let is_required = object.has("signature") || (own.is_none() && op.is_none());
    let mut read = |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
        read_signature(payload, &mut scope, at, problems)
    };
    let draft = if is_required {
        object.required("signature", read)
    } else {
        own.and_then(|own| read(&own, &At::Root.key("signature"), object.problems()))
    };
    object.close();
    let module = match (op, draft) {
        // The inputs of the signature stand for what would be connected to the op.
        (Some(op), draft) => {
            let inputs = draft.map(|draft| draft.inputs).unwrap_or_default();
            registry::create_op(env, op, inputs, config, scope, &At::Root)
        }
        (None, Some(draft)) => {
            let base = Arc::new(draft.finish(scope.finish()));
            registry::create(env, name, &base, config, &At::Root)
        }
        (None, None) => {
            problems.also(registry::check(name, config, &At::Root).err().unwrap_or_default());
            return None;
        }
    };
    module.map_err(|found| problems.also(found)).ok()
}

/// The signature that a strategy brings itself, if it has one for this config.
fn own_signature(env: &dyn BuildEnv, name: &str, config: Option<&Payload>) -> Option<Payload> {
    let empty = Payload::map(Map::new());
    registry::get(name)?.own_signature(env, config.unwrap_or(&empty), &At::Root)?.ok()
}

fn assignable(request: &Payload, problems: &mut Problems) -> Option<Assignable> {
    let mut object = Object::open(request, &At::Root, problems)?;
    let mut scope = read_types(&mut object);
    let from = object.required("from", |p, at, problems| scope.read_type(p, at, problems));
    let to = object.required("to", |p, at, problems| scope.read_type(p, at, problems));
    object.close();
    let defs = scope.finish();
    let (from, to) = (Type::new(from?, defs.clone()), Type::new(to?, defs));
    let mismatch = from.assignable_to(&to).err().map(|found| (found.path, found.reason));
    Some(Assignable { from: from.ir.to_string(), to: to.ir.to_string(), mismatch })
}

pub(crate) fn read_types(object: &mut Object<'_, '_, '_>) -> TypeScope {
    let scope = object.optional("types", |p, at, problems| Some(TypeScope::read(p, at, problems)));
    scope.unwrap_or_default()
}
