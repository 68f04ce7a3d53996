//! Typed examples: an input, and what is expected of the output. Knows modules by their types only.

use std::sync::Arc;

use crate::graph::Program;
use crate::module::Module;
use crate::optimize::Example;
use crate::problem::{At, Code, Problem, Problems};
use crate::reflect::to_payload;
use crate::signature::{Data, SignatureSchema};
use crate::types::{absent_value, admit_field};
use crate::value::{Fields, Payload};

/// An example for a typed module.
///
/// What is expected may be the whole output of the module, a part of it (a struct with some of its
/// fields, or with options that are `None` where nothing is expected), and other fields that only the
/// metric reads. `()` expects nothing.
///
/// ```
/// use dsrs::Signature;
/// use dsrs::optimize::TypedExample;
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// let input = QAInput { question: "2 + 2?".into() };
/// let example = TypedExample::new(input, QAOutput { answer: "4".into() });
/// assert_eq!(example.expected.answer, "4");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TypedExample<I, E> {
    /// The input of the module.
    pub input: I,
    /// What is expected.
    pub expected: E,
}

impl<I, E> TypedExample<I, E> {
    /// An example.
    pub const fn new(input: I, expected: E) -> Self {
        Self { input, expected }
    }
}

impl<I> TypedExample<I, ()> {
    /// An example for metrics that judge the output alone.
    pub const fn input(input: I) -> Self {
        Self { input, expected: () }
    }
}

/// The examples of an optimization by purpose. Those that are not given are taken from the others as
/// over HTTP: of a trainset alone, a quarter is held out and a quarter is for choosing; of a trainset
/// and a valset, half of the valset is held out; of a trainset and a testset, a third of the trainset
/// is for choosing. An example in several sets belongs to the testset before the valset before the
/// trainset.
#[derive(Clone, Debug)]
pub struct TypedExamples<I, E> {
    pub(super) sets: [Option<Vec<TypedExample<I, E>>>; 3],
}

impl<I, E> TypedExamples<I, E> {
    /// Examples for demos and reflections.
    pub fn new(trainset: impl IntoIterator<Item = TypedExample<I, E>>) -> Self {
        Self { sets: [Some(trainset.into_iter().collect()), None, None] }
    }

    /// Examples by which candidates are chosen.
    #[must_use]
    pub fn valset(mut self, valset: impl IntoIterator<Item = TypedExample<I, E>>) -> Self {
        self.sets[1] = Some(valset.into_iter().collect());
        self
    }

    /// Examples that only measure the result.
    #[must_use]
    pub fn testset(mut self, testset: impl IntoIterator<Item = TypedExample<I, E>>) -> Self {
        self.sets[2] = Some(testset.into_iter().collect());
        self
    }
}

impl<I, E> From<Vec<TypedExample<I, E>>> for TypedExamples<I, E> {
    fn from(trainset: Vec<TypedExample<I, E>>) -> Self {
        Self::new(trainset)
    }
}

impl<I, E, const N: usize> From<[TypedExample<I, E>; N]> for TypedExamples<I, E> {
    fn from(trainset: [TypedExample<I, E>; N]) -> Self {
        Self::new(trainset)
    }
}

/// A typed example as the engine has it; `schema` is that of `program`, which is the module.
pub(super) fn engine_example<M: Module, E: Data>(
    example: &TypedExample<M::Input, E>,
    (program, schema): (&Program, &SignatureSchema),
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Example> {
    let inputs = inputs(&example.input, schema, &at.key("input"), problems);
    let at = at.key("expected");
    let given = fields(&example.expected, &at, problems)?;
    let before = problems.len();
    let mut expected = Fields::with_capacity(given.len());
    for (name, value) in given {
        let Some(field) = schema.outputs.iter().find(|field| field.name == name) else {
            expected.insert(name, value);
            continue;
        };
        // An option that is `None` expects nothing of an output that is never null.
        if value.is_null() && absent_value(&field.ty, &schema.defs, None).is_none() {
            continue;
        }
        let output = program.graph().output_field(&name);
        let constraints = output.map_or(&[][..], |output| &output.constraints);
        let checked = (&*field.name, &schema.type_of(field), constraints);
        let fitting = admit_field(&value, checked, &at.key(&name), problems);
        expected.extend(fitting.map(|value| (name, value)));
    }
    (problems.len() == before).then_some(())?;
    Some(Example::of(inputs?, expected))
}

/// The fields of an input that holds the asserts of the module.
fn inputs<T: Data>(
    input: &T,
    schema: &SignatureSchema,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Fields> {
    let given = fields(input, at, problems)?;
    let before = problems.len();
    for field in &schema.inputs {
        if let Some(value) = given.get(&field.name) {
            let checked = (&*field.name, &schema.type_of(field), &*field.constraints);
            admit_field(value, checked, &at.key(&field.name), problems);
        }
    }
    (problems.len() == before).then_some(given)
}

fn fields<T: Data>(value: &T, at: &At<'_>, problems: &mut Problems) -> Option<Fields> {
    let refused = match to_payload(value) {
        Ok(Payload::Map(members)) => return Some(Arc::unwrap_or_clone(members)),
        Ok(Payload::Null) => return Some(Fields::new()),
        Ok(_) => "is not a struct with named fields".to_owned(),
        Err(error) => error.to_string(),
    };
    problems.push(Problem { pointer: at.pointer(), code: Code::WrongType, detail: refused });
    None
}
