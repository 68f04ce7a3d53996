//! `branch`: an expression chooses one of two connected values, or one of two strategies, of which only
//! the chosen one runs.

use std::collections::HashMap;
use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;
use indexmap::IndexMap;

use super::function::{OpFunction, op};
use super::inner_strategy::{InnerStrategy, InnerStrategyConfig, inputs_of};
use super::provenance::{all, input};
use super::{VALUE, failed, invalid, value};
use crate::document::{config_schema, read_config};
use crate::expr::Expression;
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::inner_module::InnerModule;
use crate::strategy::op::{InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, ConfigRef, DynModule, Flow, RecordedCall, Sources};
use crate::types::{Conversion, Type, TypeIR, TypeScope, brief};
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
        let then = InnerStrategy::build(env, then, THEN, scope, at);
        let otherwise = InnerStrategy::build(env, otherwise, ELSE, scope, at);
        match (then, otherwise) {
            (Ok(then), Ok(otherwise)) => {
                Ok(Box::new(StrategyBranch { condition, then, otherwise }))
            }
            (then, otherwise) => {
                let mut problems = then.err().unwrap_or_default();
                problems.append(otherwise.err().unwrap_or_default());
                Err(problems)
            }
        }
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

/// A type for values of either type: the wider one if there is one, a union otherwise.
fn common(types: &mut InputTypes<'_>, one: &TypeIR, two: &TypeIR) -> TypeIR {
    match (types.fits(one, two), types.fits(two, one)) {
        (true, _) => two.clone(),
        (false, true) => one.clone(),
        (false, false) => TypeIR::union([one.clone(), two.clone()]),
    }
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
    then: InnerStrategy,
    otherwise: InnerStrategy,
}

impl Op for StrategyBranch {
    fn inputs(&self) -> Vec<OpInput> {
        let arms = self.then.inputs().into_iter().chain(self.otherwise.inputs());
        let mut inputs: IndexMap<Arc<str>, OpInput> = IndexMap::new();
        for input in arms.chain(condition_inputs(&self.condition)) {
            match inputs.get_mut(&input.name) {
                None => drop(inputs.insert(input.name.clone(), input)),
                Some(known) => {
                    known.required |= input.required;
                    // If both arms have a type of their own, the connected value decides.
                    if known.ty != input.ty {
                        known.ty = known.ty.take().xor(input.ty);
                    }
                }
            }
        }
        inputs.into_values().collect()
    }

    fn accepts_others(&self) -> bool {
        self.then.accepts_others() || self.otherwise.accepts_others()
    }

    fn infer(&self, types: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let then = self.then.infer(&mut types_for(types, &self.then), at)?;
        let otherwise = self.otherwise.infer(&mut types_for(types, &self.otherwise), at)?;
        let mut inputs = self.shared_inputs(types, &then, &otherwise, at)?;
        inputs.retain(|name, _| types.get(name).is_some());
        let mut outputs = Vec::new();
        for field in &then.outputs {
            let other = otherwise.outputs.iter().find(|other| other.name == field.name);
            if let Some(other) = other {
                outputs
                    .push(FieldSchema::of(field.name.clone(), common(types, &field.ty, &other.ty)));
            }
        }
        if outputs.is_empty() {
            let detail = "the two strategies have no output of the same name";
            return Err(invalid(at, ELSE, Code::TypeMismatch, detail));
        }
        let inputs = inputs.into_iter().map(|(name, ty)| FieldSchema::of(name, ty)).collect();
        Ok(OpTypes { inputs, outputs })
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { condition, then, otherwise } = *self;
        let arm = |inner: InnerStrategy| Arm::new(inner.module(&schema.defs), &schema);
        let (then, otherwise) = (arm(then), arm(otherwise));
        Box::new(BranchModule { condition, then, otherwise, schema })
    }
}

impl StrategyBranch {
    /// For each input a type that both strategies accept.
    fn shared_inputs(
        &self,
        types: &mut InputTypes<'_>,
        then: &OpTypes,
        otherwise: &OpTypes,
        at: &At<'_>,
    ) -> Result<IndexMap<Arc<str>, TypeIR>, Problems> {
        let mut inputs: IndexMap<Arc<str>, TypeIR> = IndexMap::new();
        for field in then.inputs.iter().chain(&otherwise.inputs) {
            let narrow = match inputs.get(&field.name).cloned() {
                None => field.ty.clone(),
                Some(known) if types.fits(&known, &field.ty) => known,
                Some(known) if types.fits(&field.ty, &known) => field.ty.clone(),
                Some(known) => {
                    let detail = format!(
                        "the input `{}` is `{}` in `then` and `{}` here; no value is both",
                        field.name,
                        brief(&known),
                        brief(&field.ty)
                    );
                    return Err(invalid(at, ELSE, Code::TypeMismatch, detail));
                }
            };
            inputs.insert(field.name.clone(), narrow);
        }
        for name in self.condition.names() {
            let ty = types.type_of(&name).ir;
            inputs.entry(name).or_insert(ty);
        }
        Ok(inputs)
    }
}

/// The types of the inputs of one strategy.
fn types_for<'g>(all: &'g mut InputTypes<'_>, inner: &InnerStrategy) -> InputTypes<'g> {
    let known = inner.inputs();
    let accepts = |name: &Arc<str>| known.iter().any(|input| input.name == *name);
    let types = all.types().iter().filter(|(name, _)| inner.accepts_others() || accepts(name));
    let types = types.map(|(name, ir)| (name.clone(), ir.clone())).collect();
    all.within(types)
}

/// One strategy, with the conversions of its inputs and outputs.
struct Arm {
    module: InnerModule,
    into: HashMap<Arc<str>, Conversion>,
    out: Vec<(Arc<str>, Conversion)>,
}

impl Arm {
    fn new(module: InnerModule, around: &SignatureSchema) -> Self {
        let own = module.schema().clone();
        let between = |from: Type, to: Type| Conversion::between(&from, &to);
        let into = own.inputs.iter().filter_map(|field| {
            let given = around.input(&field.name)?;
            Some((field.name.clone(), between(around.type_of(given), own.type_of(field))))
        });
        let into = into.collect();
        let out = around.outputs.iter().filter_map(|field| {
            let found = own.output(&field.name)?;
            Some((field.name.clone(), between(own.type_of(found), around.type_of(field))))
        });
        let out = out.collect();
        Self { module, into, out }
    }

    async fn run(&self, ctx: &Ctx, given: &Fields) -> Result<Fields, PredictError> {
        let unfit =
            |name: &str, error: crate::types::ConvertError| failed(format!("`{name}`: {error}"));
        let mut inputs = inputs_of(&self.module, given);
        for (name, value) in &mut inputs {
            if let Some(conversion) = self.into.get(name) {
                *value = conversion.apply(value).map_err(|error| unfit(name, error))?;
            }
        }
        let found = self.module.forward(ctx, inputs).await?;
        let output = |(name, conversion): &(Arc<str>, Conversion)| {
            let value =
                conversion.apply(value(&found, name)).map_err(|error| unfit(name, error))?;
            Ok((name.clone(), value))
        };
        self.out.iter().map(output).collect()
    }
}

struct BranchModule {
    schema: Arc<SignatureSchema>,
    condition: Expression,
    then: Arm,
    otherwise: Arm,
}

impl DynModule for BranchModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let mut found = self.then.module.predictors();
        found.extend(self.otherwise.module.predictors());
        found
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let mut found = self.then.module.predictors_mut();
        found.extend(self.otherwise.module.predictors_mut());
        found
    }

    fn attempts(&self) -> usize {
        self.then.module.attempts().max(self.otherwise.module.attempts())
    }

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let arm = match holds(&self.condition, call.inputs) {
            Ok(true) => &self.then,
            Ok(false) => &self.otherwise,
            Err(_) => return Sources::all(&self.schema),
        };
        let inputs = inputs_of(&arm.module, call.inputs);
        let mut sources = arm.module.sources(&RecordedCall { inputs: &inputs, ..*call }, part);
        sources.flows.extend(condition_flows(&self.condition, call.inputs));
        sources
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            let holds = holds(&self.condition, &input)?;
            let arm = if holds { &self.then } else { &self.otherwise };
            arm.run(ctx, &input).await
        })
    }
}
