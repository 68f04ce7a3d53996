//! `loop`: a strategy over and over, each round with what the one before it returned, until a condition holds or a number
//! of rounds is reached. The state that a round passes on is named: `carry`.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;
use indexmap::IndexMap;

use super::inner_strategy::{InnerPlace, InnerStrategy, InnerStrategyConfig, inputs_of};
use super::{failed, invalid};
use crate::document::{config_schema, read_config};
use crate::expr::Expression;
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind, SpanKind, SpanStatus};
use crate::problem::{At, Code, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::inner_module::{InnerModule, MODULE};
use crate::strategy::op::{InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, ConfigRef, DynModule};
use crate::types::{Conversion, TypeIR, TypeScope, brief};
use crate::value::{Fields, Payload};

const CARRY: &str = "carry";
const UNTIL: &str = "until";

/// The output with the number of rounds.
const ROUNDS: &str = "rounds";

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

#[derive(Facet)]
struct LoopConfig {
    /// What runs in each round.
    module: InnerStrategyConfig,
    /// The inputs of the next round that are outputs of this one: the name of the output by that of the input. All other
    /// inputs are the same in each round.
    carry: Option<IndexMap<String, String>>,
    /// The most rounds.
    #[facet(dsrs::minimum(1), dsrs::maximum(100))]
    max: u32,
    /// A Jinja expression over the outputs of a round, its inputs and `rounds`: the loop ends once it is true. Default: the
    /// loop makes all rounds.
    until: Option<String>,
    /// Whether the outputs of the last round are returned, or the node fails, if `until` was never true.
    #[facet(default = LoopLimit::Keep)]
    at_limit: LoopLimit,
}

/// What becomes of a loop whose condition was never true.
#[derive(Clone, Copy, PartialEq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
enum LoopLimit {
    Keep,
    Fail,
}

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "loop"
    }

    fn description(&self) -> &'static str {
        "Runs a strategy up to `max` times, until the expression `until` is true. `carry` names the outputs of a round that \
         are inputs of the next one. Returns the outputs of the last round and `rounds`."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<LoopConfig>()
    }

    fn calls_lm(&self) -> bool {
        true
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE]
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::SignedStrategy(MODULE)]
    }

    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let LoopConfig { module, carry, max, until, at_limit } =
            read_config(config, &at.key("config"))?;
        let until = until.map(|text| Expression::compile(&text)).transpose();
        let until = until.map_err(|error| invalid(at, UNTIL, Code::InvalidConfig, error.reason))?;
        if at_limit == LoopLimit::Fail && until.is_none() {
            let detail = "name the condition whose absence is a failure";
            return Err(invalid(at, UNTIL, Code::MissingField, detail));
        }
        let inner = InnerStrategy::build(env, module, InnerPlace::member(MODULE), scope, at)?;
        let carry = carry.unwrap_or_default().into_iter();
        let carry = carry.map(|(input, output)| (input.into(), output.into())).collect();
        Ok(Box::new(Loop { inner, carry, max, until, fails: at_limit == LoopLimit::Fail }))
    }
}

struct Loop {
    inner: InnerStrategy,
    /// Outputs by the inputs of the next round.
    carry: IndexMap<Arc<str>, Arc<str>>,
    max: u32,
    until: Option<Expression>,
    fails: bool,
}

impl Op for Loop {
    fn inputs(&self) -> Vec<OpInput> {
        self.inner.inputs()
    }

    fn accepts_others(&self) -> bool {
        self.inner.accepts_others()
    }

    fn infer(&self, given: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let is_given: Vec<Arc<str>> = given.types().keys().cloned().collect();
        let inner = self.inner.infer(&mut self.with_carried(given), at)?;
        self.check_carry(&inner, given, at)?;
        self.check_until(&inner, at)?;
        let mut outputs = inner.outputs;
        if outputs.iter().any(|field| *field.name == *ROUNDS) {
            let detail =
                format!("the strategy has an output `{ROUNDS}`, which is the number of rounds");
            return Err(invalid(at, MODULE, Code::ReservedName, detail));
        }
        outputs.push(FieldSchema::of(ROUNDS, TypeIR::Int));
        let inputs = inner.inputs.into_iter().filter(|field| is_given.contains(&field.name));
        Ok(OpTypes { inputs: inputs.collect(), outputs })
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { inner, carry, max, until, fails } = *self;
        let module = inner.module(&schema.defs);
        let carried = carried(carry, module.schema());
        Box::new(LoopModule { schema, module, carried, max, until, fails })
    }
}

impl Loop {
    /// What is connected, and the inputs that have values from the second round on.
    fn with_carried<'g>(&self, given: &'g mut InputTypes<'_>) -> InputTypes<'g> {
        let mut types = given.types().clone();
        for input in self.inner.inputs() {
            if let (true, Some(ty)) = (self.carry.contains_key(&input.name), input.ty) {
                types.entry(input.name).or_insert(ty);
            }
        }
        given.within(types)
    }

    /// Each name must exist, and an output must have the type of the input that it becomes.
    fn check_carry(
        &self,
        inner: &OpTypes,
        types: &mut InputTypes<'_>,
        at: &At<'_>,
    ) -> Result<(), Problems> {
        let config = at.key("config");
        let (place, mut problems) = (config.key(CARRY), Problems::new());
        for (to, from) in &self.carry {
            let at = place.key(to);
            let input = named(&inner.inputs, to, "input", &at, &mut problems);
            let output = named(&inner.outputs, from, "output", &at, &mut problems);
            let (Some(input), Some(output)) = (input, output) else { continue };
            if !types.fits(&output.ty, &input.ty) {
                let (from_ty, to_ty) = (brief(&output.ty), brief(&input.ty));
                let detail = format!(
                    "the output `{from}` is `{from_ty}`, and the next round needs `{to}` as `{to_ty}`"
                );
                problems.add(&at, Code::TypeMismatch, detail);
            }
        }
        problems.or(())
    }

    fn check_until(&self, inner: &OpTypes, at: &At<'_>) -> Result<(), Problems> {
        let Some(until) = &self.until else { return Ok(()) };
        let fields = || inner.outputs.iter().chain(&inner.inputs).map(|field| &*field.name);
        let known = || fields().chain([ROUNDS]);
        let unknown: Vec<_> = until
            .names()
            .into_iter()
            .filter(|name| !known().any(|known| *known == **name))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let names = listed(unknown.iter().map(|name| &**name));
        let detail = format!("there is no {names}; a round has {}", listed(known()));
        Err(invalid(at, UNTIL, Code::UnknownField, detail))
    }
}

/// The field of a name, or the problem that there is none.
fn named<'f>(
    fields: &'f [FieldSchema],
    name: &str,
    kind: &str,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<&'f FieldSchema> {
    let found = fields.iter().find(|field| *field.name == *name);
    if found.is_none() {
        let known = listed(fields.iter().map(|field| &*field.name));
        let detail = format!("the strategy has no {kind} `{name}`; it has {known}");
        problems.add(at, Code::UnknownField, detail);
    }
    found
}

/// What a round passes on: the input of the next round, the output, and its conversion.
struct Carried {
    to: Arc<str>,
    from: Arc<str>,
    conversion: Conversion,
}

fn carried(carry: IndexMap<Arc<str>, Arc<str>>, schema: &SignatureSchema) -> Vec<Carried> {
    let each = carry.into_iter().filter_map(|(to, from)| {
        let (input, output) = (schema.input(&to)?, schema.output(&from)?);
        let conversion = Conversion::between(&schema.type_of(output), &schema.type_of(input));
        Some(Carried { to, from, conversion })
    });
    each.collect()
}

struct LoopModule {
    schema: Arc<SignatureSchema>,
    module: InnerModule,
    carried: Vec<Carried>,
    max: u32,
    until: Option<Expression>,
    fails: bool,
}

impl LoopModule {
    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let mut inputs = inputs_of(&self.module, &input);
        for number in 1..=self.max {
            if number > 1 {
                // A computing round never waits; the run may have ended meanwhile.
                tokio::task::yield_now().await;
            }
            let mut outputs = self.round(ctx, number, &inputs).await?;
            outputs.insert(ROUNDS.into(), Payload::Int(number.into()));
            if number == self.max || self.is_done(&inputs, &outputs)? {
                let is_unmet = self.fails && !self.is_done(&inputs, &outputs)?;
                return if is_unmet { Err(self.unmet()) } else { Ok(outputs) };
            }
            self.carry(&mut inputs, &outputs)?;
        }
        Err(self.unmet())
    }

    /// Runs one round, under a span of its own unless it only computes.
    async fn round(&self, ctx: &Ctx, number: u32, inputs: &Fields) -> Result<Fields, PredictError> {
        check_time(ctx, number)?;
        if self.module.computes() {
            return self.module.forward(ctx, inputs.clone()).await;
        }
        ctx.check_room()?;
        let ctx = &ctx.at(MODULE, number as usize);
        let trace = ctx.trace();
        let span = trace.open(SpanKind::Round, &ctx.node.node, ctx.parent, |span| {
            span.attempt = Some(number);
        });
        let result = self.module.forward(&ctx.under(span), inputs.clone()).await;
        match &result {
            Ok(_) => trace.close(span, SpanStatus::Succeeded, |_| {}),
            Err(error) => trace.close(span, SpanStatus::Failed, |span| span.fail(error)),
        }
        result.map_err(|error| PredictError {
            message: format!("round {number}: {}", error.message),
            ..error
        })
    }

    fn is_done(&self, inputs: &Fields, outputs: &Fields) -> Result<bool, PredictError> {
        let Some(until) = &self.until else { return Ok(false) };
        let others = inputs.iter().filter(|(name, _)| !outputs.contains_key(*name));
        let values = outputs.iter().chain(others).map(|(name, value)| (name.as_ref(), value));
        until.is_true(values).map_err(|error| failed(format!("`until`: {}", error.reason)))
    }

    fn carry(&self, inputs: &mut Fields, outputs: &Fields) -> Result<(), PredictError> {
        for Carried { to, from, conversion } in &self.carried {
            let value = conversion.apply(super::value(outputs, from));
            let value = value.map_err(|error| failed(format!("`{to}`: {error}")))?;
            inputs.insert(to.clone(), value);
        }
        Ok(())
    }

    fn unmet(&self) -> PredictError {
        failed(format!("`until` was not true after {} rounds", self.max))
    }
}

/// Nothing else stops a loop that computes.
fn check_time(ctx: &Ctx, number: u32) -> Result<(), PredictError> {
    if ctx.run.cancelled.is_cancelled() {
        return Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled"));
    }
    if tokio::time::Instant::now() < ctx.node.deadline {
        return Ok(());
    }
    let message = format!("the node ran out of time before round {number}");
    Err(PredictError::new(PredictErrorKind::Timeout, message))
}

impl DynModule for LoopModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }

    fn attempts(&self) -> usize {
        self.module.attempts()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
