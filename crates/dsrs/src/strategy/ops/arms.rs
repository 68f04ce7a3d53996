//! Strategies of which one runs: the inputs of all of them, the outputs that all have, and the conversions between these
//! and those of each one. What `branch`, `switch` and `try` share; does not know how one is chosen.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::inner_strategy::{InnerPlace, InnerStrategy, InnerStrategyConfig, inputs_of};
use super::{failed, value};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::inner_module::InnerModule;
use crate::strategy::op::{InputTypes, OpInput, OpTypes};
use crate::strategy::{BuildEnv, RecordedCall, Sources};
use crate::types::{Conversion, Type, TypeIR, TypeScope, brief};
use crate::value::{Fields, Selection};

/// The strategies before their types are known.
pub(super) struct ArmDrafts(Vec<InnerStrategy>);

impl ArmDrafts {
    /// Builds the strategies at places of the config of an op; `at` is the place of the op.
    pub(super) fn build(
        env: &dyn BuildEnv,
        wanted: impl IntoIterator<Item = (InnerPlace, InnerStrategyConfig)>,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let (mut built, mut problems) = (Vec::new(), Problems::new());
        for (place, config) in wanted {
            match InnerStrategy::build(env, config, place, scope, at) {
                Ok(inner) => built.push(inner),
                Err(found) => problems.append(found),
            }
        }
        problems.or(Self(built))
    }

    /// The inputs of all strategies and those of the choice.
    pub(super) fn inputs(&self, of_choice: impl IntoIterator<Item = OpInput>) -> Vec<OpInput> {
        let mut inputs: IndexMap<Arc<str>, OpInput> = IndexMap::new();
        for input in self.0.iter().flat_map(InnerStrategy::inputs).chain(of_choice) {
            match inputs.get_mut(&input.name) {
                None => drop(inputs.insert(input.name.clone(), input)),
                Some(known) => {
                    known.required |= input.required;
                    // If several strategies have a type of their own, the connected value decides.
                    if known.ty != input.ty {
                        known.ty = known.ty.take().xor(input.ty);
                    }
                }
            }
        }
        inputs.into_values().collect()
    }

    pub(super) fn accepts_others(&self) -> bool {
        self.0.iter().any(InnerStrategy::accepts_others)
    }

    /// The inputs that are connected, those of the choice among them, and the outputs that all strategies have.
    pub(super) fn infer(
        &self,
        types: &mut InputTypes<'_>,
        of_choice: impl IntoIterator<Item = Arc<str>>,
        at: &At<'_>,
    ) -> Result<OpTypes, Problems> {
        let mut found = Vec::with_capacity(self.0.len());
        for inner in &self.0 {
            found.push(inner.infer(&mut types_for(types, inner), at)?);
        }
        let mut inputs = self.shared_inputs(types, &found, at)?;
        for name in of_choice {
            let ty = types.type_of(&name).ir;
            inputs.entry(name).or_insert(ty);
        }
        inputs.retain(|name, _| types.get(name).is_some());
        let outputs = shared_outputs(types, &found);
        if let (true, Some(last)) = (outputs.is_empty(), self.0.last()) {
            let detail = match self.0.len() {
                2 => "the two strategies have no output of the same name".to_owned(),
                count => format!("the {count} strategies have no output of the same name"),
            };
            return Err(mismatch(last, detail, at));
        }
        let inputs = inputs.into_iter().map(|(name, ty)| FieldSchema::of(name, ty)).collect();
        Ok(OpTypes { inputs, outputs })
    }

    /// For each input a type that all strategies accept.
    fn shared_inputs(
        &self,
        types: &mut InputTypes<'_>,
        found: &[OpTypes],
        at: &At<'_>,
    ) -> Result<IndexMap<Arc<str>, TypeIR>, Problems> {
        let mut inputs: IndexMap<Arc<str>, (TypeIR, &InnerStrategy)> = IndexMap::new();
        let fields = self.0.iter().zip(found);
        for (inner, field) in
            fields.flat_map(|(inner, types)| types.inputs.iter().map(move |f| (inner, f)))
        {
            let (narrow, first) = match inputs.get(&field.name).cloned() {
                None => (field.ty.clone(), inner),
                Some((known, first)) if types.fits(&known, &field.ty) => (known, first),
                Some((known, first)) if types.fits(&field.ty, &known) => (field.ty.clone(), first),
                Some((known, first)) => {
                    let detail = format!(
                        "the input `{}` is `{}` in `{}` and `{}` here; no value is both",
                        field.name,
                        brief(&known),
                        first.place().name(),
                        brief(&field.ty)
                    );
                    return Err(mismatch(inner, detail, at));
                }
            };
            inputs.insert(field.name.clone(), (narrow, first));
        }
        Ok(inputs.into_iter().map(|(name, (ty, _))| (name, ty)).collect())
    }

    /// The strategies, once the types of the op are known.
    pub(super) fn modules(self, schema: &SignatureSchema) -> Vec<Arm> {
        let arm = |inner: InnerStrategy| {
            let name = inner.place().name().into();
            Arm::new(name, inner.module(&schema.defs), schema)
        };
        self.0.into_iter().map(arm).collect()
    }
}

fn mismatch(inner: &InnerStrategy, detail: String, at: &At<'_>) -> Problems {
    let pointer = inner.place().within(at, |at| at.pointer());
    Problem { pointer, code: Code::TypeMismatch, detail }.into()
}

/// The outputs that all strategies have, each of a type for the values of all.
fn shared_outputs(types: &mut InputTypes<'_>, found: &[OpTypes]) -> Vec<FieldSchema> {
    let Some((first, others)) = found.split_first() else { return Vec::new() };
    let shared = first.outputs.iter().filter_map(|field| {
        let ty = others.iter().try_fold(field.ty.clone(), |ty, other| {
            let other = other.outputs.iter().find(|other| other.name == field.name)?;
            Some(common(types, &ty, &other.ty))
        })?;
        Some(FieldSchema::of(field.name.clone(), ty))
    });
    shared.collect()
}

/// A type for values of either type: the wider one if there is one, a union otherwise.
pub(super) fn common(types: &mut InputTypes<'_>, one: &TypeIR, two: &TypeIR) -> TypeIR {
    match (types.fits(one, two), types.fits(two, one)) {
        (true, _) => two.clone(),
        (false, true) => one.clone(),
        (false, false) => TypeIR::union([one.clone(), two.clone()]),
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
pub(super) struct Arm {
    name: Arc<str>,
    module: InnerModule,
    into: HashMap<Arc<str>, Conversion>,
    out: Vec<(Arc<str>, Conversion)>,
}

impl Arm {
    fn new(name: Arc<str>, module: InnerModule, around: &SignatureSchema) -> Self {
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
        Self { name, module, into, out }
    }

    /// Runs it with the inputs of the op.
    ///
    /// # Errors
    /// Why it failed.
    pub(super) async fn run(&self, ctx: &Ctx, given: &Fields) -> Result<Fields, PredictError> {
        let unfit =
            |name: &str, error: crate::types::ConvertError| failed(format!("`{name}`: {error}"));
        let mut inputs = inputs_of(&self.module, given);
        for (name, value) in &mut inputs {
            if let Some(conversion) = self.into.get(name) {
                *value = conversion.apply(value).map_err(|error| unfit(name, error))?;
            }
        }
        let found = self.module.forward(&ctx.at(&self.name, 0), inputs).await?;
        let output = |(name, conversion): &(Arc<str>, Conversion)| {
            let value =
                conversion.apply(value(&found, name)).map_err(|error| unfit(name, error))?;
            Ok((name.clone(), value))
        };
        self.out.iter().map(output).collect()
    }

    pub(super) fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    pub(super) fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    /// Where a part of the output came from, if this is the one that ran.
    pub(super) fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let inputs = inputs_of(&self.module, call.inputs);
        self.module.sources(&RecordedCall { inputs: &inputs, ..*call }, part)
    }
}
