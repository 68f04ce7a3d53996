//! `branch`: an expression chooses one of two connected values, or one of two strategies, of which only
//! the chosen one runs.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::arms::{Arm, ArmDrafts, common};
use super::function::{OpFunction, op};
use super::inner_strategy::{InnerPlace, InnerStrategyConfig};
use super::provenance::{all, input};
use super::{VALUE, failed, invalid, value};
use crate::document::{config_schema, read_config};
use crate::expr::Expression;
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::op::{InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, ConfigRef, DynModule, Flow, RecordedCall, Sources};
use crate::types::{TypeIR, TypeScope};
use crate::value::{Fields, Payload, Selection};

const IF: &str = "if";
const THEN: &str = "then";
const ELSE: &str = "else";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

#[derive(Facet)]
#[facet(dsrs::keywords(r#"{"dependentRequired": {"then": ["else"], "else": ["then"]}}"#))]
struct BranchConfig {
    /// A Jinja expression over inputs, such as `score > 0.5`.
    #[facet(rename = "if")]
    condition: String,
    /// What runs if the expression is true.
    then: Option<InnerStrategyConfig>,
    /// What runs if the expression is false.
    #[facet(rename = "else")]
    otherwise: Option<InnerStrategyConfig>,
}

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "branch"
    }

    fn description(&self) -> &'static str {
        "The expression `if` chooses between the values connected to `then` and `else`, or between \
         two strategies in the config, of which only the chosen one runs. Costs what that one costs."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<BranchConfig>()
    }

    fn calls_lm(&self) -> bool {
        true
    }

    fn predictors(&self) -> &[&'static str] {
        &[THEN, ELSE]
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::SignedStrategy(THEN), ConfigRef::SignedStrategy(ELSE)]
    }

    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let config: BranchConfig = read_config(config, &at.key("config"))?;
        let condition = Expression::compile(&config.condition)
            .map_err(|error| invalid(at, IF, Code::InvalidConfig, error.reason))?;
        let (Some(then), Some(otherwise)) = (config.then, config.otherwise) else {
            return Ok(op(ValueBranch(condition)));
        };
        let wanted = [(InnerPlace::member(THEN), then), (InnerPlace::member(ELSE), otherwise)];
        let arms = ArmDrafts::build(env, wanted, scope, at)?;
        Ok(Box::new(StrategyBranch { condition, arms }))
    }
}

/// Whether the condition holds for these inputs.
fn holds(condition: &Expression, inputs: &Fields) -> Result<bool, PredictError> {
    let values = inputs.iter().map(|(name, value)| (name.as_ref(), value));
    condition.is_true(values).map_err(|error| failed(format!("`if`: {}", error.reason)))
}

/// The inputs that the condition names; one may be absent if the condition says so.
fn condition_inputs(condition: &Expression) -> impl Iterator<Item = OpInput> {
    condition.names().into_iter().map(|name| {
        let may_be_absent = condition.may_be_absent(&name, None);
        let input = OpInput::open(name);
        if may_be_absent { input.optional() } else { input }
    })
}

/// The inputs that the condition reads.
fn condition_flows(condition: &Expression, inputs: &Fields) -> Vec<Flow> {
    let names = condition.names().into_iter().filter(|name| inputs.contains_key(name));
    names.map(|name| Flow::input(&name)).collect()
}

/// A choice between two values.
struct ValueBranch(Expression);

impl OpFunction for ValueBranch {
    fn inputs(&self) -> Vec<OpInput> {
        let mut inputs = vec![OpInput::open(THEN), OpInput::open(ELSE)];
        inputs.extend(
            condition_inputs(&self.0).filter(|input| ![THEN, ELSE].contains(&&*input.name)),
        );
        inputs
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        let (then, otherwise) = (inputs.type_of(THEN).ir, inputs.type_of(ELSE).ir);
        let ty = common(inputs, &then, &otherwise);
        let accepted = |(name, ir): (&Arc<str>, &TypeIR)| match name.as_ref() {
            THEN | ELSE => (name.clone(), ty.clone()),
            _ => (name.clone(), ir.clone()),
        };
        Ok(OpTypes::of(inputs.types().iter().map(accepted), VALUE, ty.clone()))
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let chosen = if holds(&self.0, inputs)? { THEN } else { ELSE };
        Ok(value(inputs, chosen).clone())
    }

    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        let Ok(holds) = holds(&self.0, inputs) else { return all(inputs) };
        let chosen = input(if holds { THEN } else { ELSE }).then(within);
        [Flow::copied(chosen)].into_iter().chain(condition_flows(&self.0, inputs)).collect()
    }
}

/// A choice between two strategies.
struct StrategyBranch {
    condition: Expression,
    arms: ArmDrafts,
}

impl Op for StrategyBranch {
    fn inputs(&self) -> Vec<OpInput> {
        self.arms.inputs(condition_inputs(&self.condition))
    }

    fn accepts_others(&self) -> bool {
        self.arms.accepts_others()
    }

    fn infer(&self, types: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        self.arms.infer(types, self.condition.names(), at)
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { condition, arms } = *self;
        Box::new(BranchModule { condition, arms: arms.modules(&schema), schema })
    }
}

struct BranchModule {
    schema: Arc<SignatureSchema>,
    condition: Expression,
    /// `then` and `else`.
    arms: Vec<Arm>,
}

impl BranchModule {
    fn chosen(&self, inputs: &Fields) -> Result<&Arm, PredictError> {
        let position = usize::from(!holds(&self.condition, inputs)?);
        self.arms.get(position).ok_or_else(|| failed("there is no strategy to run"))
    }
}

impl DynModule for BranchModule {
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

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let Ok(arm) = self.chosen(call.inputs) else { return Sources::all(&self.schema) };
        let mut sources = arm.sources(call, part);
        sources.flows.extend(condition_flows(&self.condition, call.inputs));
        sources
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move { self.chosen(&input)?.run(ctx, &input).await })
    }
}
