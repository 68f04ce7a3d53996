//! Signatures as Rust types: what comes in and goes out as structs, and augmentations that add
//! outputs to any of them. Knows nothing of prompts; the schema is made elsewhere, from the shapes.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use facet::Facet;

use super::SignatureSchema;
use crate::reflect::ReflectError;
use crate::value::Payload;

/// What may stand in a prompt: an owned Rust type with a Facet shape.
pub trait Data: for<'a> Facet<'a> + Send + Sync + 'static {}

impl<T: for<'a> Facet<'a> + Send + Sync + 'static> Data for T {}

/// A default of an input: the name of the field, and its value or why it has none.
pub type FieldDefault = (&'static str, Result<Payload, ReflectError>);

/// The contract of one prompt as a type. Derive it:
///
/// ```
/// use dsrs::Signature;
/// use dsrs::signature::SignatureSchema;
///
/// /// Answer the question in a few words.
/// #[derive(Signature)]
/// struct QA {
///     /// what is to be answered
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// let schema = SignatureSchema::of::<QA>();
/// assert_eq!(&*schema.instructions, "Answer the question in a few words.");
/// assert_eq!(schema.inputs[0].description.as_deref(), Some("what is to be answered"));
/// let input = QAInput { question: "2 + 2?".into() };
/// # drop(input);
/// ```
// A `Facet` bound here would clash with the one that derives add to a parameter.
pub trait Signature: Send + Sync + 'static {
    /// The inputs, as a struct.
    type Input: Data;
    /// The outputs, as a struct.
    type Output: Data;

    /// What the LM is told to do. Empty: a plain sentence is made of the field names.
    #[must_use]
    fn instructions() -> &'static str {
        ""
    }

    /// The values that inputs take when they are not given.
    #[must_use]
    fn defaults() -> Vec<FieldDefault> {
        Vec::new()
    }

    /// The schema without what augmentations add: a plain sentence that stands for instructions
    /// names its fields alone, as that of a posted signature does. `None` when nothing is added.
    ///
    /// # Errors
    /// As [`SignatureSchema::try_of`].
    fn unaugmented() -> Result<Option<Arc<SignatureSchema>>, ReflectError> {
        Ok(None)
    }
}

/// Outputs that are added to those of any signature. Derive it:
///
/// ```
/// use dsrs::{Augmentation, Signature};
/// use dsrs::signature::{Augmented, SignatureSchema};
///
/// #[derive(Augmentation)]
/// #[augment(output, append)]
/// struct Confidence {
///     /// from 0 to 1
///     confidence: f64,
/// }
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// let schema = SignatureSchema::of::<Augmented<QA, Confidence>>();
/// let names: Vec<_> = schema.outputs.iter().map(|field| &*field.name).collect();
/// assert_eq!(names, ["answer", "confidence"]);
/// ```
pub trait Augmentation: Send + Sync + 'static {
    /// Outputs together with the added ones, which are reached by `Deref` layer by layer.
    type Wrap<T: Data>: Data + Deref;
}

/// The first adds around what the second adds.
impl<A: Augmentation, B: Augmentation> Augmentation for (A, B) {
    type Wrap<T: Data> = A::Wrap<B::Wrap<T>>;
}

/// A signature with the outputs of an augmentation. Exists as a type only.
#[derive(Facet)]
#[facet(opaque)]
pub struct Augmented<S: Signature, A: Augmentation>(PhantomData<fn() -> (S, A)>);

impl<S: Signature, A: Augmentation> Signature for Augmented<S, A> {
    type Input = S::Input;
    type Output = A::Wrap<S::Output>;

    fn instructions() -> &'static str {
        S::instructions()
    }

    fn defaults() -> Vec<FieldDefault> {
        S::defaults()
    }

    fn unaugmented() -> Result<Option<Arc<SignatureSchema>>, ReflectError> {
        match S::unaugmented()? {
            None => SignatureSchema::try_of::<S>().map(Some),
            within => Ok(within),
        }
    }
}
