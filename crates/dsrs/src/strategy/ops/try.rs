//! `try`: a strategy, and another one or a value if it fails in one of some ways. The end of the run, a cancellation and a
//! spent budget are no failures of the strategy: they are never caught.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::arms::{Arm, ArmDrafts};
use super::inner_strategy::{InnerPlace, InnerStrategyConfig};
use super::{failed, invalid};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problems};
use crate::read::{listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::inner_module::MODULE;
use crate::strategy::op::{InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, ConfigRef, DynModule};
use crate::types::{Type, TypeDefs, TypeIR, TypeScope, admit};
use crate::value::{Fields, Map, Payload};

const CATCH: &str = "catch";
const ELSE: &str = "else";
const VALUE: &str = "value";

/// The output with the code of the failure.
const CAUGHT: &str = "caught";

/// The codes of failures that may be caught.
const CODES: [&str; 20] = [
    "lm_error",
    "rate_limited",
    "provider_quota_exhausted",
    "answer_filtered",
    "answer_incomplete",
    "timeout",
    "parse_error",
    "constraint_failed",
    "reward_failed",
    "invalid_value",
    "unknown_model",
    "no_model",
    "tools_unsupported",
    "missing_graph",
    "op_failed",
    "tool_failed",
    "tool_unavailable",
    "program_failed",
    "sandbox_failed",
    "module_failed",
];

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

#[derive(Facet)]
struct TryConfig {
    /// What runs.
    module: InnerStrategyConfig,
    /// The codes of the failures that are caught. Default: all that may be caught.
    #[facet(dsrs::keywords(r#"{"minItems": 1, "uniqueItems": true}"#))]
    catch: Option<Vec<String>>,
    /// What runs after a failure.
    #[facet(rename = "else")]
    otherwise: Option<InnerStrategyConfig>,
    /// The outputs after a failure, by name.
    #[facet(dsrs::object)]
    value: Option<Payload>,
}

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "try"
    }

    fn description(&self) -> &'static str {
        "Runs the strategy `module`. If it fails with one of the codes in `catch`, runs the strategy `else`, or returns \
         `value`. The output `caught` is the code of the failure, or null."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<TryConfig>()
    }

    fn calls_lm(&self) -> bool {
        true
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE, ELSE]
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::SignedStrategy(MODULE), ConfigRef::SignedStrategy(ELSE)]
    }

    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let TryConfig { module, catch, otherwise, value } = read_config(config, &at.key("config"))?;
        check_codes(catch.as_deref().unwrap_or_default(), at)?;
        if otherwise.is_some() == value.is_some() {
            let detail = "name either `else` or `value`";
            return Err(invalid(
                at,
                if value.is_some() { VALUE } else { ELSE },
                Code::InvalidConfig,
                detail,
            ));
        }
        let otherwise = otherwise.map(|otherwise| (InnerPlace::member(ELSE), otherwise));
        let wanted = [(InnerPlace::member(MODULE), module)].into_iter().chain(otherwise);
        let arms = ArmDrafts::build(env, wanted, scope, at)?;
        Ok(Box::new(Try { arms, catch, value }))
    }
}

fn check_codes(codes: &[String], at: &At<'_>) -> Result<(), Problems> {
    let mut problems = Problems::new();
    for (position, code) in
        codes.iter().enumerate().filter(|(_, code)| !CODES.contains(&code.as_str()))
    {
        let hint = nearest(code, CODES)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let detail = format!(
            "no failure with the code `{code}` can be caught{hint}; these can: {}",
            listed(CODES.into_iter())
        );
        problems.add(&at.key("config").key(CATCH).index(position), Code::InvalidConfig, detail);
    }
    problems.or(())
}

struct Try {
    arms: ArmDrafts,
    catch: Option<Vec<String>>,
    value: Option<Payload>,
}

impl Op for Try {
    fn inputs(&self) -> Vec<OpInput> {
        self.arms.inputs([])
    }

    fn accepts_others(&self) -> bool {
        self.arms.accepts_others()
    }

    fn infer(&self, types: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let mut found = self.arms.infer(types, [], at)?;
        if found.outputs.iter().any(|field| *field.name == *CAUGHT) {
            let detail =
                format!("the strategy has an output `{CAUGHT}`, which is the code of the failure");
            return Err(invalid(at, MODULE, Code::ReservedName, detail));
        }
        if let Some(value) = &self.value {
            check_value(value, &found.outputs, types.defs(), at)?;
        }
        found.outputs.push(FieldSchema::of(CAUGHT, TypeIR::Str.optional()));
        Ok(found)
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { arms, catch, value } = *self;
        let value = value.map(|value| exact(&value, &schema));
        Box::new(TryModule { arms: arms.modules(&schema), schema, catch, value })
    }
}

/// The value must have the outputs of the strategy and no others.
fn check_value(
    value: &Payload,
    outputs: &[FieldSchema],
    defs: &Arc<TypeDefs>,
    at: &At<'_>,
) -> Result<(), Problems> {
    let (config, mut problems) = (at.key("config"), Problems::new());
    let place = config.key(VALUE);
    let given = value.as_map();
    for field in outputs {
        let found = given.and_then(|members| members.get(&field.name));
        let ty = Type::new(field.ty.clone(), defs.clone());
        admit(found.unwrap_or(&Payload::Null), &ty, &place.key(&field.name), &mut problems);
    }
    let known = || outputs.iter().map(|field| &*field.name);
    for name in
        given.into_iter().flat_map(Map::keys).filter(|name| !known().any(|known| *known == ***name))
    {
        let detail = format!("the strategy has no output `{name}`; it has {}", listed(known()));
        problems.add(&place.key(name), Code::UnknownField, detail);
    }
    problems.or(())
}

/// Checked outputs as values of exactly their types.
fn exact(value: &Payload, schema: &SignatureSchema) -> Fields {
    let given = value.as_map();
    let outputs = schema.outputs.iter().filter(|field| *field.name != *CAUGHT);
    let exact = outputs.map(|field| {
        let given = given.and_then(|given| given.get(&field.name)).cloned().unwrap_or_default();
        let admitted = admit(&given, &schema.type_of(field), &At::Root, &mut Problems::new());
        (field.name.clone(), admitted.unwrap_or(given))
    });
    exact.collect()
}

struct TryModule {
    schema: Arc<SignatureSchema>,
    /// The strategy, then the one after a failure, if there is no value.
    arms: Vec<Arm>,
    catch: Option<Vec<String>>,
    value: Option<Fields>,
}

impl TryModule {
    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let mut arms = self.arms.iter();
        let first = arms.next().ok_or_else(|| failed("there is no strategy to run"))?;
        let error = match first.run(ctx, &input).await {
            Ok(outputs) => return Ok(with_code(outputs, Payload::Null)),
            Err(error) if self.catches(ctx, &error) => error,
            Err(error) => return Err(error),
        };
        let outputs = match (arms.next(), &self.value) {
            (Some(otherwise), _) => otherwise.run(ctx, &input).await?,
            (None, value) => value.clone().unwrap_or_default(),
        };
        Ok(with_code(outputs, error.kind.code().into()))
    }

    fn catches(&self, ctx: &Ctx, error: &PredictError) -> bool {
        let is_over = match error.kind {
            PredictErrorKind::Cancelled
            | PredictErrorKind::Waiting { .. }
            | PredictErrorKind::Budget => true,
            _ => Instant::now() >= ctx.node.deadline,
        };
        let code = error.kind.code();
        let is_named = |codes: &Vec<String>| codes.iter().any(|named| named == code);
        !is_over && self.catch.as_ref().is_none_or(is_named)
    }
}

fn with_code(mut outputs: Map, code: Payload) -> Fields {
    outputs.insert(CAUGHT.into(), code);
    outputs
}

impl DynModule for TryModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.arms.iter().flat_map(Arm::predictors).collect()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.arms.iter_mut().flat_map(Arm::predictors_mut).collect()
    }

    fn attempts(&self) -> usize {
        self.arms.iter().map(Arm::attempts).max().unwrap_or(1)
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
