//! `DynModule`: a strategy at work on one signature, untyped. In a typed module one may stand in a
//! `Box`, which the walker knows and refuses.

use std::sync::Arc;

use facet::{Attr as ShapeAttr, Def, Facet, Shape, ShapeBuilder, Type, UserType};
use futures_util::future::BoxFuture;

use super::{RecordedCall, Sources};
use crate::attrs::Attr;
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::signature::SignatureSchema;
use crate::types::{TypeShape, resolve};
use crate::value::{Fields, Selection};

/// Outputs from inputs, at once.
pub type Compute = dyn Fn(&Fields) -> Result<Fields, PredictError> + Send + Sync;

/// A node's behaviour: what it takes, what it gives, and the predictors inside.
///
/// ```
/// use dsrs::problem::At;
/// use dsrs::signature::SignatureSchema;
/// use dsrs::strategy::{DynModule, Stored, registry};
///
/// # #[derive(dsrs::Signature)]
/// # struct QA { #[input] question: String, #[output] answer: String }
/// let schema = SignatureSchema::of::<QA>();
/// let module: Box<dyn DynModule> =
///     registry::create(&Stored, "chain_of_thought", &schema, None, &At::Root).unwrap();
/// assert_eq!(&*module.schema().outputs[0].name, "reasoning");
/// assert_eq!(module.predictors()[0].0, "predict");
/// ```
pub trait DynModule: Send + Sync {
    /// What callers see: the base signature as the strategy transforms it.
    fn schema(&self) -> &Arc<SignatureSchema>;

    /// The predictors inside by their path within the module, in a fixed order. A module that is
    /// its own predictor uses the empty path.
    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)>;

    /// The same predictors, to change.
    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)>;

    /// How many attempts one call makes at most, where attempts make attempts of their own all of
    /// those; 1 for a module that does everything once.
    fn attempts(&self) -> usize {
        1
    }

    /// What a part of its outputs came from in a call that is over; `part` begins with an output
    /// field. Everything, unless the module knows better.
    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let _ = (call, part);
        Sources::all(self.schema())
    }

    /// What it does where it waits for nothing: whoever runs it calls this in place.
    fn compute(&self) -> Option<&Compute> {
        None
    }

    /// Whether an input takes the failure of the node that feeds it as a value.
    fn takes_error(&self, input: &str) -> bool {
        let schema = self.schema();
        schema.input(input).is_some_and(|field| match resolve(&field.ty, &schema.defs).shape {
            TypeShape::Error => true,
            TypeShape::Union(members) => {
                members.iter().any(|member| matches!(member.shape, TypeShape::Error))
            }
            _ => false,
        })
    }

    /// Whether a call may end in a run that waits for a value from outside. Such a module can only be
    /// a node of the graph that is run, since nothing else can go on from there.
    fn parks(&self) -> bool {
        false
    }

    /// Runs once. Inputs are complete and of the schema's types; so are the outputs.
    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>>;
}

// SAFETY: an opaque shape promises nothing but the size and alignment of the type, which
// `for_sized` takes from the type itself.
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
