//! DSPy's files of typed modules. A typed module and the program in DSPy with the same attributes have
//! the same paths.

use facet::Facet;

use super::{Predictors, read, write};
use crate::module::{Module, named_predictors};
use crate::problem::{At, Code, Problem, Problems};
use crate::value::Payload;

/// A typed module's state as `program.save("x.json")` writes that of the program in DSPy with the same
/// attributes; see [`to_dspy`](super::to_dspy). `dsrs::save_json` writes it to a file.
///
/// # Errors
/// A module that cannot be searched, or a predictor whose path has another meaning in such a file.
pub fn module_to_dspy<M: Module + Facet<'static>>(module: &M) -> Result<Payload, Problems> {
    write::write(&predictors(module)?)
}

/// Loads a file that `program.save("x.json")` of DSPy 3 wrote into a typed module, or changes nothing.
/// Predictors that the file leaves out are at their defaults. Returns JSON Pointers of the members
/// that have no meaning here.
///
/// ```
/// use dsrs::graph::{load_dspy, module_to_dspy};
/// use dsrs::{ChainOfThought, Signature};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// let file = module_to_dspy(&ChainOfThought::<QA>::new()).unwrap();
/// let mut qa = ChainOfThought::<QA>::new();
/// assert_eq!(load_dspy(&mut qa, &file).unwrap(), ["/metadata"]);
/// ```
///
/// # Errors
/// Every path, field and value that does not fit the module.
pub fn load_dspy<M: Module + Facet<'static>>(
    module: &mut M,
    file: &Payload,
) -> Result<Vec<String>, Problems> {
    let found = read::read(file, &predictors(module)?, &At::Root)?;
    Module::load_state(module, found.state)?;
    Ok(found.ignored)
}

fn predictors<M: Facet<'static>>(module: &M) -> Result<Predictors<'_>, Problems> {
    let found = named_predictors(module).map_err(|error| Problem {
        pointer: At::Root.pointer(),
        code: Code::WrongType,
        detail: error.to_string(),
    })?;
    Ok(Predictors::of_module(found))
}
