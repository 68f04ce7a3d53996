//! `Op`: a strategy that computes and calls no LM. It has no posted signature: its types follow from
//! its config and from what is connected. Knows types and values and nothing of graphs.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use indexmap::IndexMap;

use super::{
    BuildEnv, Compute, ConfigRef, DynModule, Flow, RecordedCall, Sources, StrategyFactory,
};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, Type, TypeDefs, TypeIR, TypeScope};
use crate::value::{Fields, Payload, Selection};

/// Describes an op to the registry. Register it as a
/// [`StrategyRegistration`](super::StrategyRegistration) of [`OpStrategy`].
pub trait OpFactory: Send + Sync {
    /// The name that graphs use.
    fn name(&self) -> &'static str;

    /// What it does and when to use it, in a sentence or two.
    fn description(&self) -> &'static str;

    /// The JSON Schema of its config. Unknown members are refused by it.
    fn config_schema(&self) -> Payload;

    /// Whether running it may call an LM, because it runs another strategy.
    fn calls_lm(&self) -> bool {
        false
    }

    /// The paths of the predictors that it may have.
    fn predictors(&self) -> &[&'static str] {
        &[]
    }

    /// The places of its config that refer to stored graphs and to other strategies.
    fn config_refs(&self) -> &'static [ConfigRef] {
        &[]
    }

    /// Reads a config that the schema accepts. Definitions in its types are added to the scope; `at`
    /// is the place of the node.
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

/// An op with its config, before the types of the connected values are known.
pub trait Op: Send + Sync {
    /// The inputs that are known whatever is connected, in order.
    fn inputs(&self) -> Vec<OpInput>;

    /// Whether it accepts inputs of other names too, in the order of their connections.
    fn accepts_others(&self) -> bool {
        false
    }

    /// Its inputs and outputs, from the types of what feeds its inputs. For a type that it does not
    /// accept it returns one that it does; the check of the connection reports the mismatch. `at` is
    /// the place of the node.
    ///
    /// # Errors
    /// Problems of the config with these types.
    fn infer(&self, given: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems>;

    /// The module of the op for the signature that was inferred.
    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule>;
}

/// An input of an op.
#[derive(Clone, Debug, PartialEq)]
pub struct OpInput {
    /// Its name.
    pub name: Arc<str>,
    /// The type that it accepts; `None` if it depends on what is connected.
    pub ty: Option<TypeIR>,
    /// Whether it must be connected.
    pub required: bool,
}

impl OpInput {
    /// An input of any type.
    #[must_use]
    pub fn open(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), ty: None, required: true }
    }

    /// An input of a type.
    #[must_use]
    pub fn of(name: impl Into<Arc<str>>, ty: TypeIR) -> Self {
        Self { name: name.into(), ty: Some(ty), required: true }
    }

    /// The same input, optional.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { required: false, ..self }
    }
}

/// The inputs and outputs of an op.
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

/// The types of the values that feed an op, in the order of its inputs. Required inputs are present.
pub struct InputTypes<'g> {
    types: IndexMap<Arc<str>, TypeIR>,
    defs: &'g Arc<TypeDefs>,
    budget: &'g mut CompareBudget,
}

impl<'g> InputTypes<'g> {
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

    /// The complete type of what feeds an input; null if nothing does.
    #[must_use]
    pub fn type_of(&self, name: &str) -> Type {
        let ir = self.get(name).cloned().unwrap_or(TypeIR::Null);
        Type::new(ir, self.defs.clone())
    }

    /// All types by name.
    #[must_use]
    pub const fn types(&self) -> &IndexMap<Arc<str>, TypeIR> {
        &self.types
    }

    /// The definitions that the types may name.
    #[must_use]
    pub const fn defs(&self) -> &'g Arc<TypeDefs> {
        self.defs
    }

    /// Whether values of one type can be used as another. False if the comparison is too expensive,
    /// which the check of the connection reports.
    pub fn fits(&mut self, from: &TypeIR, to: &TypeIR) -> bool {
        if from == to {
            return true;
        }
        let ty = |ir: &TypeIR| Type::new(ir.clone(), self.defs.clone());
        !self.budget.is_exhausted() && ty(from).assignable_within(self.budget, &ty(to)).is_ok()
    }

    /// The same definitions and budget for other types, such as those of elements.
    pub fn within(&mut self, types: IndexMap<Arc<str>, TypeIR>) -> InputTypes<'_> {
        InputTypes { types, defs: self.defs, budget: self.budget }
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

    fn config_refs(&self) -> &'static [ConfigRef] {
        self.0.config_refs()
    }

    /// Builds the op for a signature that was inferred.
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
        let types = op.infer(&mut InputTypes::new(given.collect(), &base.defs, &mut budget), at)?;
        if alike(&types.inputs, &base.inputs) && alike(&types.outputs, &base.outputs) {
            return Ok(op.module(base.clone()));
        }
        let detail = "the types of an op are inferred from its connections, and these differ";
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
    pub fn signature(self, instructions: &str, defs: Arc<TypeDefs>) -> Arc<SignatureSchema> {
        let Self { inputs, outputs } = self;
        Arc::new(SignatureSchema { instructions: instructions.into(), inputs, outputs, defs })
    }
}

/// A module that computes its output without waiting.
pub struct ComputeModule {
    schema: Arc<SignatureSchema>,
    compute: Box<Compute>,
    error_inputs: &'static [&'static str],
    flows: Option<Box<FlowFn>>,
}

/// From the inputs of a finished call and a path into its output: the flows that led there.
pub type FlowFn = dyn Fn(&Fields, &Selection) -> Vec<Flow> + Send + Sync;

impl ComputeModule {
    /// A module whose only output is the value that `compute` returns.
    pub fn new(
        schema: Arc<SignatureSchema>,
        compute: impl Fn(&Fields) -> Result<Payload, PredictError> + Send + Sync + 'static,
    ) -> Self {
        let name = schema.outputs.first().map(|field| field.name.clone());
        let compute = move |inputs: &Fields| {
            let value = compute(inputs)?;
            Ok(name.clone().map(|name| (name, value)).into_iter().collect())
        };
        Self { schema, compute: Box::new(compute), error_inputs: &[], flows: None }
    }

    /// The same module; these inputs accept errors, whatever their types say: `any | error` is `any`.
    #[must_use]
    pub fn accepting_errors(self, inputs: &'static [&'static str]) -> Self {
        Self { error_inputs: inputs, ..self }
    }

    /// The same module, which knows more exactly where its output came from than "all inputs".
    #[must_use]
    pub fn with_flows(
        self,
        flows: impl Fn(&Fields, &Selection) -> Vec<Flow> + Send + Sync + 'static,
    ) -> Box<dyn DynModule> {
        Box::new(Self { flows: Some(Box::new(flows)), ..self })
    }
}

impl DynModule for ComputeModule {
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

    fn accepts_error(&self, input: &str) -> bool {
        self.error_inputs.contains(&input)
    }

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        match (&self.flows, part.split_first()) {
            (Some(flows), Some((_, within))) => Sources::of(flows(call.inputs, &within)),
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
