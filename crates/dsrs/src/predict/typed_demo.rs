//! Demos of typed predictors: Rust values, converted to and from plain data.

use std::sync::Arc;

use super::state;
use crate::problem::{At, Code, Problem, Problems};
use crate::reflect::{ReflectError, from_payload, misfits, to_payload};
use crate::signature::{Data, Signature};
use crate::value::{Fields, Payload};

/// A worked example of a typed signature.
///
/// ```
/// use dsrs::{Predict, Signature, TypedDemo};
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
/// let demo = TypedDemo::new(input, QAOutput { answer: "4".into() });
/// let qa = Predict::<QA>::builder().demo(&demo).build().unwrap();
/// assert_eq!(qa.demos().unwrap()[0].output.answer, "4");
/// ```
#[derive(Debug, Clone)]
pub struct TypedDemo<S: Signature> {
    /// Its inputs.
    pub input: S::Input,
    /// Its outputs, those that augmentations add included.
    pub output: S::Output,
}

impl<S: Signature> TypedDemo<S> {
    /// A demo.
    pub const fn new(input: S::Input, output: S::Output) -> Self {
        Self { input, output }
    }

    /// The demo as plain data. Adds a problem for each side that is no data.
    pub(super) fn to_state(&self, at: &At<'_>, problems: &mut Problems) -> state::Demo {
        let input = side(&self.input, &at.key("input"), problems);
        let output = side(&self.output, &at.key("output"), problems);
        state::Demo { input, output }
    }
}

fn side<T: Data>(value: &T, at: &At<'_>, problems: &mut Problems) -> Fields {
    match fields(value) {
        Ok(fields) => fields,
        Err(error) => {
            problems.push(type_problem(at, &error));
            Fields::new()
        }
    }
}

/// A struct as named fields.
///
/// # Errors
/// When a value in it has no place in data, or it is no struct.
pub(crate) fn fields<T: Data>(value: &T) -> Result<Fields, ReflectError> {
    match to_payload(value)? {
        Payload::Map(members) => Ok(Arc::unwrap_or_clone(members)),
        _ => Err(ReflectError::new("is not a struct with named fields")),
    }
}

/// Checks that all that demos have fits the Rust types, which may be narrower than those of the
/// schema: 300 is an `int` and no `u8`. What a demo leaves out is not needed.
pub(super) fn check_typed<S: Signature>(
    demos: &[state::Demo],
    at: &At<'_>,
) -> Result<(), Problems> {
    let mut problems = Problems::new();
    for (index, demo) in demos.iter().enumerate() {
        let here = at.index(index);
        check_side::<S::Input>(&demo.input, &here.key("input"), &mut problems);
        check_side::<S::Output>(&demo.output, &here.key("output"), &mut problems);
    }
    problems.or(())
}

fn check_side<T: Data>(fields: &Fields, at: &At<'_>, problems: &mut Problems) {
    match misfits::<T>(fields) {
        Ok(found) => {
            let found = found.into_iter();
            found.for_each(|(name, error)| problems.push(type_problem(&at.key(&name), &error)));
        }
        Err(error) => problems.push(type_problem(at, &error)),
    }
}

/// Demos as Rust values; every one that leaves out an output is named.
pub(super) fn admit_typed<S: Signature>(
    demos: &[state::Demo],
    at: &At<'_>,
) -> Result<Vec<TypedDemo<S>>, Problems> {
    let mut problems = Problems::new();
    let mut typed = Vec::with_capacity(demos.len());
    for (index, demo) in demos.iter().enumerate() {
        let here = at.index(index);
        let input = value::<S::Input>(&demo.input, &here.key("input"), &mut problems);
        let output = value::<S::Output>(&demo.output, &here.key("output"), &mut problems);
        typed.extend(input.zip(output).map(|(input, output)| TypedDemo { input, output }));
    }
    problems.or(typed)
}

fn value<T: Data>(fields: &Fields, at: &At<'_>, problems: &mut Problems) -> Option<T> {
    let found = from_payload(&Payload::map(fields.clone()));
    found.map_err(|error| problems.push(type_problem(at, &error))).ok()
}

fn type_problem(at: &At<'_>, error: &ReflectError) -> Problem {
    Problem { pointer: at.pointer(), code: Code::WrongType, detail: error.to_string() }
}
