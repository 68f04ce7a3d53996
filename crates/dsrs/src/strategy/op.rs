//! `Op`: a strategy that computes instead of asking an LM. It has no posted signature: its types
//! follow from its config and from what is connected. Knows types and values and nothing of graphs.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use indexmap::IndexMap;

use super::{BuildEnv, Compute, DynModule, Flow, RecordedCall, Sources, StrategyFactory};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, Type, TypeDefs, TypeIR, TypeScope};
use crate::value::{Fields, Payload, Selection};

/// What a strategy without a posted signature is described by. Registered as a
/// [`StrategyRegistration`](super::StrategyRegistration) of [`OpStrategy`].
pub trait OpFactory: Send + Sync {
    /// The name under which graphs use it.
    fn name(&self) -> &'static str;

    /// What it does and when to use it, in a sentence or two.
    fn description(&self) -> &'static str;

    /// The JSON Schema of its config. Unknown members are refused by it.
    fn config_schema(&self) -> Payload;

    /// Whether running it may call an LM: where it runs another strategy.
    fn calls_lm(&self) -> bool {
        false
    }

    /// The paths of the predictors that it may have.
    fn predictors(&self) -> &[&'static str] {
        &[]
    }

    /// The config with everything filled in that is written down; `None` when it is complete.
    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        let _ = (env, config);
        None
    }

    /// Reads a config that the schema accepts. What its types define is added to the scope; `at` is
    /// the place of the node.
    ///
    /// # Errors
    /// Everything that does not fit.
    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems>;
}

/// An op as its config has it: complete but for the types of what is connected.
pub trait Op: Send + Sync {
    /// The inputs that are known without a look at what is connected, in order.
    fn inputs(&self) -> Vec<OpInput>;

    /// Whether it takes inputs of other names too, in the order in which they are connected.
    fn takes_others(&self) -> bool {
        false
    }

    /// What it takes and gives, from the types of what feeds its inputs. A type that it does not
    /// take is answered with one that it does: whoever checks the connection reports the two. `at`
    /// is the place of the node.
    ///
    /// # Errors
    /// What is wrong with the config for these types.
    fn infer(&self, given: &mut Given<'_>, at: &At<'_>) -> Result<OpTypes, Problems>;

    /// The op at work on the signature that was inferred for it.
    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule>;
}

/// An input that an op knows.
#[derive(Clone, Debug, PartialEq)]
pub struct OpInput {
    /// Its name.
    pub name: Arc<str>,
    /// The type that it takes; `None` where it depends on what is connected.
    pub ty: Option<TypeIR>,
    /// Whether something must feed it.
    pub required: bool,
}

impl OpInput {
    /// An input that takes what is connected.
    #[must_use]
    pub fn open(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), ty: None, required: true }
    }

    /// An input of a type.
    #[must_use]
    pub fn of(name: impl Into<Arc<str>>, ty: TypeIR) -> Self {
        Self { name: name.into(), ty: Some(ty), required: true }
    }

    /// The same input, which may be left out.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { required: false, ..self }
    }
}

/// What an op takes and gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpTypes {
    /// Its inputs, in order.
    pub inputs: Vec<FieldSchema>,
    /// Its outputs, in order.
    pub outputs: Vec<FieldSchema>,
}

impl OpTypes {
    /// Fields of these names and types.
    #[must_use]
    pub fn of<N: Into<Arc<str>>>(
        inputs: impl IntoIterator<Item = (N, TypeIR)>,
        output: &str,
        ty: TypeIR,
    ) -> Self {
        let inputs = inputs.into_iter().map(|(name, ty)| FieldSchema::of(name, ty));
        Self { inputs: inputs.collect(), outputs: vec![FieldSchema::of(output, ty)] }
    }
}

/// The types of what feeds an op, in the order of its inputs. Everything that it requires is there.
pub struct Given<'g> {
    types: IndexMap<Arc<str>, TypeIR>,
    defs: &'g Arc<TypeDefs>,
    budget: &'g mut CompareBudget,
}

impl<'g> Given<'g> {
    /// These types, over these definitions.
    #[must_use]
    pub const fn new(
        types: IndexMap<Arc<str>, TypeIR>,
        defs: &'g Arc<TypeDefs>,
        budget: &'g mut CompareBudget,
    ) -> Self {
        Self { types, defs, budget }
    }

    /// The type of what feeds an input, if anything does.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TypeIR> {
        self.types.get(name)
    }

    /// The complete type of what feeds an input; null where nothing does.
    #[must_use]
    pub fn type_of(&self, name: &str) -> Type {
        let ir = self.get(name).cloned().unwrap_or(TypeIR::Null);
        Type::new(ir, self.defs.clone())
    }

    /// All of them by name.
    #[must_use]
    pub const fn types(&self) -> &IndexMap<Arc<str>, TypeIR> {
        &self.types
    }

    /// The definitions that they may name.
    #[must_use]
    pub const fn defs(&self) -> &'g Arc<TypeDefs> {
        self.defs
    }

    /// Whether values of one type may be delivered where another is wanted; not, when comparing
    /// costs too much, which whoever checks the connection reports.
    pub fn fits(&mut self, from: &TypeIR, to: &TypeIR) -> bool {
        if from == to {
            return true;
        }
        let ty = |ir: &TypeIR| Type::new(ir.clone(), self.defs.clone());
        !self.budget.is_exhausted() && ty(from).assignable_within(self.budget, &ty(to)).is_ok()
    }

    /// The same definitions and budget for other types, such as those of elements.
    pub fn within(&mut self, types: IndexMap<Arc<str>, TypeIR>) -> Given<'_> {
        Given { types, defs: self.defs, budget: self.budget }
    }
}

/// An op as a strategy of the registry.
pub struct OpStrategy(pub &'static dyn OpFactory);

impl StrategyFactory for OpStrategy {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn description(&self) -> &'static str {
        self.0.description()
    }

    fn config_schema(&self) -> Payload {
        self.0.config_schema()
    }

    fn calls_lm(&self) -> bool {
        self.0.calls_lm()
    }

    fn predictors(&self) -> &[&'static str] {
        self.0.predictors()
    }

    fn op(&self) -> Option<&'static dyn OpFactory> {
        Some(self.0)
    }

    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        self.0.pin(env, config)
    }

    /// Makes the op for a signature that was inferred for it.
    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let mut scope = TypeScope::from(base.defs.clone());
        let op = self.0.read(env, config, &mut scope, at)?;
        let given = base.inputs.iter().map(|field| (field.name.clone(), field.ty.clone()));
        let mut budget = CompareBudget::for_document();
        let types = op.infer(&mut Given::new(given.collect(), &base.defs, &mut budget), at)?;
        if alike(&types.inputs, &base.inputs) && alike(&types.outputs, &base.outputs) {
            return Ok(op.module(base.clone()));
        }
        let detail = "the types of an op follow from what is connected, and these are others";
        let pointer = at.key("signature").pointer();
        Err(Problem { pointer, code: Code::InvalidSignature, detail: detail.to_owned() }.into())
    }
}

fn alike(one: &[FieldSchema], two: &[FieldSchema]) -> bool {
    let mut pairs = one.iter().zip(two);
    one.len() == two.len() && pairs.all(|(one, two)| one.name == two.name && one.ty == two.ty)
}

impl OpTypes {
    /// The signature of an op of these types.
    #[must_use]
    pub fn signature(self, told: &str, defs: Arc<TypeDefs>) -> Arc<SignatureSchema> {
        let Self { inputs, outputs } = self;
        Arc::new(SignatureSchema { instructions: told.into(), inputs, outputs, defs })
    }
}

/// A module that computes its outputs at once.
pub struct Computed {
    schema: Arc<SignatureSchema>,
    compute: Box<Compute>,
    takes_errors: &'static [&'static str],
    tell: Option<Box<Tell>>,
}

/// From the inputs of a call that is over and a way into the value that it gave: the ways that led
/// there.
pub type Tell = dyn Fn(&Fields, &Selection) -> Vec<Flow> + Send + Sync;

impl Computed {
    /// A module whose only output is what `compute` gives.
    pub fn boxed(
        schema: Arc<SignatureSchema>,
        compute: impl Fn(&Fields) -> Result<Payload, PredictError> + Send + Sync + 'static,
    ) -> Box<dyn DynModule> {
        Box::new(Self::new(schema, compute))
    }

    /// As [`Self::boxed`]; these inputs take errors, whatever their types say: `any | error` is
    /// `any`.
    pub fn taking_errors(
        schema: Arc<SignatureSchema>,
        inputs: &'static [&'static str],
        compute: impl Fn(&Fields) -> Result<Payload, PredictError> + Send + Sync + 'static,
    ) -> Self {
        Self { takes_errors: inputs, ..Self::new(schema, compute) }
    }

    /// A module that gives what `compute` does, to be told more of.
    pub fn new(
        schema: Arc<SignatureSchema>,
        compute: impl Fn(&Fields) -> Result<Payload, PredictError> + Send + Sync + 'static,
    ) -> Self {
        let name = schema.outputs.first().map(|field| field.name.clone());
        let compute = move |inputs: &Fields| {
            let value = compute(inputs)?;
            Ok(name.clone().map(|name| (name, value)).into_iter().collect())
        };
        Self { schema, compute: Box::new(compute), takes_errors: &[], tell: None }
    }
}

impl Computed {
    /// The same module, which can tell more of where its output came from than all of its inputs.
    #[must_use]
    pub fn telling(
        self,
        tell: impl Fn(&Fields, &Selection) -> Vec<Flow> + Send + Sync + 'static,
    ) -> Box<dyn DynModule> {
        Box::new(Self { tell: Some(Box::new(tell)), ..self })
    }
}

impl DynModule for Computed {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        Vec::new()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        Vec::new()
    }

    fn compute(&self) -> Option<&Compute> {
        Some(&*self.compute)
    }

    fn takes_error(&self, input: &str) -> bool {
        self.takes_errors.contains(&input)
    }

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        match (&self.tell, part.split_first()) {
            (Some(tell), Some((_, within))) => Sources::of(tell(call.inputs, &within)),
            _ => Sources::all(&self.schema),
        }
    }

    fn forward<'a>(
        &'a self,
        _: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(ready((self.compute)(&input)))
    }
}
