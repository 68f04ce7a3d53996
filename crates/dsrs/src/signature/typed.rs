//! Signatures as Rust types: inputs and outputs are structs, and augmentations add outputs to any
//! signature. Knows nothing of prompts. `reflection` builds the schema from the shapes.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use facet::Facet;

use super::SignatureSchema;
use crate::reflect::ReflectError;

/// An owned Rust type with a Facet shape, which can appear in a prompt: a type of fields. Derive it beside
/// `Clone` and `Debug`:
///
/// ```
/// use dsrs::{Data, Signature};
///
/// #[derive(Clone, Debug, Data)]
/// enum Mood {
///     Calm,
///     /// needs an answer today
///     Angry,
/// }
///
/// #[derive(Clone, Debug, Data)]
/// struct Customer {
///     /// as in the signature of the mail
///     name: String,
///     #[alias = "years"]
///     #[assert("this < 150")]
///     age: Option<u8>,
/// }
///
/// #[derive(Signature)]
/// struct Triage {
///     #[input]
///     mail: String,
///     #[output]
///     mood: Mood,
///     #[output]
///     customers: Vec<Customer>,
/// }
/// ```
///
/// Enums of plain names need nothing else; one whose variants have fields needs `#[repr(u8)]`. What
/// `derive(Data)` generates is the impl of `Facet`, so a type that derives `dsrs::facet::Facet` is data, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not data: it cannot be in a prompt or an answer",
    label = "not data",
    note = "derive it: `#[derive(Clone, Debug, dsrs::Data)]`",
    note = "or derive `Facet` with two attributes: `#[derive(Clone, Debug, dsrs::facet::Facet)]` and `#[facet(crate = dsrs::facet)]`"
)]
pub trait Data: for<'a> Facet<'a> + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: for<'a> Facet<'a> + Send + Sync + 'static> Data for T {}

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

    /// The instruction for the LM. If it is empty, the schema gets a plain sentence of the field names.
    #[must_use]
    fn instructions() -> &'static str {
        ""
    }

    /// Whether the defaults that are written as texts are values of their types.
    ///
    /// # Errors
    /// The first that is not, with the name of its field.
    fn check_defaults() -> Result<(), ReflectError> {
        Ok(())
    }

    /// The schema without the outputs of augmentations, `None` if there are none. If the signature
    /// has no instructions, the sentence that replaces them lists only the fields of this schema.
    ///
    /// # Errors
    /// As [`SignatureSchema::try_of`].
    fn unaugmented() -> Result<Option<Arc<SignatureSchema>>, ReflectError> {
        Ok(None)
    }
}

/// Outputs that can be added to any signature. Derive it:
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
    /// The added outputs around others, which are accessible by `Deref`.
    type Wrap<T: Data>: Data + Deref;
}

/// The outputs of the first are added around those of the second.
impl<A: Augmentation, B: Augmentation> Augmentation for (A, B) {
    type Wrap<T: Data> = A::Wrap<B::Wrap<T>>;
}

/// A signature with the outputs of an augmentation. Only used as a type.
#[derive(Facet)]
#[facet(opaque)]
pub struct Augmented<S: Signature, A: Augmentation>(PhantomData<fn() -> (S, A)>);

impl<S: Signature, A: Augmentation> Signature for Augmented<S, A> {
    type Input = S::Input;
    type Output = A::Wrap<S::Output>;

    fn instructions() -> &'static str {
        S::instructions()
    }

    fn check_defaults() -> Result<(), ReflectError> {
        S::check_defaults()
    }

    fn unaugmented() -> Result<Option<Arc<SignatureSchema>>, ReflectError> {
        match S::unaugmented()? {
            None => SignatureSchema::try_of::<S>().map(Some),
            within => Ok(within),
        }
    }
}
