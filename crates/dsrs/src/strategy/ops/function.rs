//! The base of most ops: an op that is its types and one function. A file of an op contains an
//! [`OpSpec`] and an [`OpFunction`]; the rest of a strategy is here.

use std::sync::Arc;

use facet::Facet;

use super::provenance::all;
use crate::document::{config_schema, read_config};
use crate::predict::PredictError;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::strategy::op::{ComputeModule, InputTypes, Op, OpFactory, OpInput, OpTypes};
use crate::strategy::{BuildEnv, DynModule, Flow};
use crate::types::TypeScope;
use crate::value::{Fields, Payload, Selection};

/// Makes an op with the settings of a config; the place is the node's.
type MakeOp<C> = fn(C, &mut TypeScope, &At<'_>) -> Result<Box<dyn Op>, Problems>;

/// What the registry knows about an op.
pub(super) struct OpSpec<C> {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) make: MakeOp<C>,
}

/// An op with a complete config: its types, and the function that computes its one output.
pub(super) trait OpFunction: Send + Sync + Sized + 'static {
    /// The inputs that are known whatever is connected, in order.
    fn inputs(&self) -> Vec<OpInput>;

    /// Whether it accepts inputs of other names too.
    fn accepts_others(&self) -> bool {
        false
    }

    /// The inputs that accept the failure of the node that feeds them.
    fn accepts_errors(&self) -> &'static [&'static str] {
        &[]
    }

    /// Its inputs and its output, from the types of what is connected.
    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems>;

    /// Adapts it to the types that were inferred.
    fn prepare(&mut self, schema: &SignatureSchema) {
        let _ = schema;
    }

    /// The value of the output.
    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError>;

    /// Where a part of the output came from; everything, unless the op knows better.
    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        let _ = within;
        all(inputs)
    }
}

/// An op of a function, as [`OpSpec::make`] returns it.
pub(super) fn op(function: impl OpFunction) -> Box<dyn Op> {
    Box::new(FunctionOp(function))
}

impl<C: Facet<'static>> OpFactory for OpSpec<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        config_schema::<C>()
    }

    fn read(
        &self,
        _: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        (self.make)(read_config(config, &at.key("config"))?, scope, at)
    }
}

struct FunctionOp<F>(F);

impl<F: OpFunction> Op for FunctionOp<F> {
    fn inputs(&self) -> Vec<OpInput> {
        self.0.inputs()
    }

    fn accepts_others(&self) -> bool {
        self.0.accepts_others()
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        self.0.infer(inputs, at)
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let mut function = self.0;
        function.prepare(&schema);
        let function = Arc::new(function);
        let (computing, tracing) = (function.clone(), function.clone());
        ComputeModule::new(schema, move |inputs| computing.compute(inputs))
            .accepting_errors(function.accepts_errors())
            .with_flows(move |inputs, within| tracing.flows(inputs, within))
    }
}
