//! The asserts of the input and output types of modules, collected once for each pair of types. Knows
//! nothing of what a module computes.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::predict::{PredictError, SignatureChecks, fields};
use crate::signature::{Data, FieldSchema, fields_of};
use crate::types::TypeDefs;

/// The asserts by input and output type; `None` for types without any. A `static` in a generic function
/// would be shared by all types.
type BoundaryCache = RwLock<HashMap<(TypeId, TypeId), Option<Arc<SignatureChecks>>>>;

/// The asserts that a typed module holds its input and its output to.
pub(super) struct Boundary(Option<Arc<SignatureChecks>>);

impl Boundary {
    /// The asserts of these types.
    pub(super) fn of<I: Data, O: Data>() -> Self {
        static CACHE: OnceLock<BoundaryCache> = OnceLock::new();
        let known = CACHE.get_or_init(BoundaryCache::default);
        let id = (TypeId::of::<I>(), TypeId::of::<O>());
        if let Some(found) = known.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Self(found.clone());
        }
        let (inputs, outputs) = (described::<I>(), described::<O>());
        let checks = SignatureChecks::between((&inputs.0, &inputs.1), (&outputs.0, &outputs.1));
        let checks = Some(checks).filter(|checks| !checks.is_empty()).map(Arc::new);
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        Self(known.entry(id).or_insert(checks).clone())
    }

    /// Checks an input.
    ///
    /// # Errors
    /// All asserts that it breaks.
    pub(super) fn admit_input<I: Data>(&self, input: &I) -> Result<(), PredictError> {
        let Some(checks) = self.0.as_ref().filter(|checks| checks.has_inputs()) else {
            return Ok(());
        };
        // A value that is no data is refused where it is used.
        fields(input).map_or(Ok(()), |input| checks.admit_inputs(&input))
    }

    /// Checks an output.
    ///
    /// # Errors
    /// All asserts that it breaks.
    pub(super) fn admit_output<O: Data>(&self, output: &O) -> Result<(), PredictError> {
        let Some(checks) = self.0.as_ref().filter(|checks| checks.has_outputs()) else {
            return Ok(());
        };
        fields(output).map_or(Ok(()), |output| checks.admit_outputs(&output))
    }
}

/// The fields of a type. A type that cannot be described as fields has none: a module may accept values
/// that no LM reads.
fn described<T: Data>() -> (Vec<FieldSchema>, Arc<TypeDefs>) {
    fields_of::<T>().unwrap_or_default()
}
