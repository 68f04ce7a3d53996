//! `DynModule`: a strategy built for one signature, whose inputs and outputs are data. A typed module
//! may hold one in a `Box`; the walker that finds predictors refuses it with an explanation.

use std::sync::Arc;

use facet::{Attr as ShapeAttr, Def, Facet, Shape, ShapeBuilder, Type, UserType};
use futures_util::future::BoxFuture;

use super::{RecordedCall, Sources};
use crate::attrs::Attr;
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::types::{TypeShape, resolve};
use crate::value::{Fields, Selection};

/// Computes outputs from inputs without waiting.
pub type Compute = dyn Fn(&Fields) -> Result<Fields, PredictError> + Send + Sync;

/// The asserts of the parts of a module on its inputs.
pub trait InnerAsserts {
    /// Reports those that the inputs break; `at` is the place of the inputs. Inputs may be absent.
    fn report_broken(&self, inputs: &Fields, at: &At<'_>, problems: &mut Problems);
}

/// The behavior of a node: its inputs, its outputs, and the predictors inside.
///
/// ```
/// use dsrs::problem::At;
/// use dsrs::signature::SignatureSchema;
/// use dsrs::strategy::{DynModule, StoredEnv, registry};
///
/// # #[derive(dsrs::Signature)]
/// # struct QA { #[input] question: String, #[output] answer: String }
/// let schema = SignatureSchema::of::<QA>();
/// let module: Box<dyn DynModule> =
///     registry::create(&StoredEnv, "chain_of_thought", &schema, None, &At::Root).unwrap();
/// assert_eq!(&*module.schema().outputs[0].name, "reasoning");
/// assert_eq!(module.predictors()[0].0, "predict");
/// ```
pub trait DynModule: Send + Sync {
    /// Its inputs and outputs: the base signature as the strategy transforms it.
    fn schema(&self) -> &Arc<SignatureSchema>;

    /// The predictors inside by their path within the module, in a fixed order. A module that is
    /// its own predictor uses the empty path.
    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)>;

    /// The same predictors, to change.
    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)>;

    /// How many attempts one call makes at most, including attempts within attempts; 1 for a module
    /// that does everything once.
    fn attempts(&self) -> usize {
        1
    }

    /// Where a part of its outputs came from in a finished call; `part` begins with an output field.
    /// By default everything: all inputs and all that happened.
    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let _ = (call, part);
        Sources::all(self.schema())
    }

    /// The function of a module that never waits. The executor calls it in place, without a future.
    fn compute(&self) -> Option<&Compute> {
        None
    }

    /// Whether a call computes little besides its requests to models, however long its definition may
    /// be: no expression, no search, no other module.
    fn computes_little(&self) -> bool {
        false
    }

    /// The asserts that its inputs must hold besides those of its schema, because parts of the module
    /// receive them as they are; `None` if there are none.
    fn inner_asserts(&self) -> Option<&dyn InnerAsserts> {
        None
    }

    /// Whether an input accepts the failure of the node that feeds it as a value.
    fn accepts_error(&self, input: &str) -> bool {
        let schema = self.schema();
        schema.input(input).is_some_and(|field| match resolve(&field.ty, &schema.defs).shape {
            TypeShape::Error => true,
            TypeShape::Union(members) => {
                members.iter().any(|member| matches!(member.shape, TypeShape::Error))
            }
            _ => false,
        })
    }

    /// Whether a call may park the run until a value arrives from outside. Such a module can only be a
    /// node of the graph that is run: a run resumes from nodes.
    fn parks(&self) -> bool {
        false
    }

    /// Runs once. Inputs and outputs are complete and have the schema's types.
    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>>;
}

// SAFETY: an opaque shape promises only the size and alignment of the type, and `for_sized` reads
// both from the type itself.
#[allow(unsafe_code)]
unsafe impl Facet<'_> for Box<dyn DynModule> {
    const SHAPE: &'static Shape = &const {
        ShapeBuilder::for_sized::<Self>("Box<dyn DynModule>")
            .ty(Type::User(UserType::Opaque))
            .def(Def::Undefined)
            .attributes(
                &const { [ShapeAttr::new(Some("dsrs"), "dyn_module", &const { Attr::DynModule })] },
            )
            .build()
    };
}
