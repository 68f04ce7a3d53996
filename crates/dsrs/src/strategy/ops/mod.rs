//! The functional ops: strategies that compute and call no LM, one file each. `function` is the base
//! of most of them: a new op is an `OpSpec` and an `OpFunction`, about 30 lines (`is_error.rs` is the
//! smallest). This file holds what they share and knows nothing of graphs.

mod aggregate;
mod arithmetic;
mod arms;
mod branch;
mod case_path;
mod coerce;
mod collect;
mod concat;
mod element;
mod format;
mod format_spec;
mod function;
mod inner_strategy;
mod is_error;
mod r#loop;
mod map;
mod merge;
mod number;
mod parse_structured;
mod plain_text;
mod provenance;
mod python_notation;
mod render;
mod select;
mod slot_template;
mod switch;
mod text;
mod r#try;
mod unwrap_or;

pub use case_path::case_path;

use std::sync::Arc;

use facet::Facet;

use super::op::{InputTypes, OpInput};
use crate::predict::{PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::types::{TypeDefs, TypeIR, TypeScope, TypeShape, resolve};
use crate::value::{Fields, Payload, SizeExcess};

/// The output of ops that write a text, and the input of ops that read one.
const TEXT: &str = "text";
/// The output of all other ops, and the input of ops with one value.
const VALUE: &str = "value";
/// The member of a config that is a type.
const TYPE: &str = "type";

/// The value of an input; null where it has none.
fn value<'f>(inputs: &'f Fields, name: &str) -> &'f Payload {
    static NULL: Payload = Payload::Null;
    inputs.get(name).unwrap_or(&NULL)
}

/// The failure of an op.
fn failed(reason: impl Into<String>) -> PredictError {
    PredictError::new(PredictErrorKind::Op, reason)
}

/// The failure of an op whose values are too large.
fn too_large(excess: SizeExcess) -> PredictError {
    failed(format!("the values of this op {excess}"))
}

/// A problem with a member of the config.
fn invalid(at: &At<'_>, name: &str, code: Code, detail: impl Into<String>) -> Problems {
    let pointer = at.key("config").key(name).pointer();
    Problem { pointer, code, detail: detail.into() }.into()
}

/// The type that a config names.
fn read_type(wanted: &Payload, scope: &mut TypeScope, at: &At<'_>) -> Result<TypeIR, Problems> {
    let mut problems = Problems::new();
    let ty = scope.read_type(wanted, &at.key("config").key(TYPE), &mut problems);
    problems.or(())?;
    ty.ok_or_else(|| invalid(at, TYPE, Code::InvalidType, "`type` is not a type"))
}

/// The inputs that a config names.
#[derive(Facet)]
struct NamedInputs {
    /// The inputs by name, in order. Default: those that edges name, in the order of the edges.
    #[facet(dsrs::keywords(DISTINCT_NAMES))]
    inputs: Option<Vec<String>>,
}

const DISTINCT_NAMES: &str = r#"{"items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,62}$"},
    "uniqueItems": true}"#;

impl NamedInputs {
    fn open(self) -> Vec<OpInput> {
        self.inputs.unwrap_or_default().into_iter().map(OpInput::open).collect()
    }
}

/// The problem of an op with inputs of any name to which nothing is connected.
fn unfed(at: &At<'_>, example: &str) -> Problems {
    let detail = format!(
        "nothing is connected to this op, so its types are unknown; connect something, for example \
         to `{example}`, or list its inputs under `config.inputs`"
    );
    Problem { pointer: at.pointer(), code: Code::UndeterminedType, detail }.into()
}

/// A type without null and errors; null if nothing else is left.
fn settled(ir: &TypeIR, defs: &TypeDefs) -> TypeIR {
    match resolve(ir, defs).shape {
        TypeShape::Union(members) => {
            let mut left = members
                .iter()
                .filter(|member| !matches!(member.shape, TypeShape::Null | TypeShape::Error))
                .map(|member| member.ir.clone())
                .peekable();
            if left.peek().is_some() { TypeIR::union(left) } else { TypeIR::Null }
        }
        _ => ir.clone(),
    }
}

/// The elements of a list or the values of a dict, by their type.
enum Container<'t> {
    List(&'t TypeIR),
    Dict(&'t TypeIR),
}

fn container<'t>(ir: &'t TypeIR, defs: &'t TypeDefs) -> Option<Container<'t>> {
    match resolve(ir, defs).shape {
        TypeShape::List(element) => Some(Container::List(element)),
        TypeShape::Dict(value) => Some(Container::Dict(value)),
        _ => None,
    }
}

/// A type for each connected input, from the type of what feeds it.
fn field_types(inputs: &InputTypes<'_>, ty: impl Fn(&TypeIR) -> TypeIR) -> Vec<(Arc<str>, TypeIR)> {
    inputs.types().iter().map(|(name, ir)| (name.clone(), ty(ir))).collect()
}

/// The keywords of what is written as a text or as an object: a type, a signature.
const TEXT_OR_OBJECT: &str = r#"{"type": ["string", "object"]}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_only_null_and_errors_settles_as_null() {
        let defs = TypeDefs::default();
        let settled = |members: &[TypeIR]| settled(&TypeIR::union(members.iter().cloned()), &defs);
        assert_eq!(settled(&[TypeIR::Null, TypeIR::Error]), TypeIR::Null);
        assert_eq!(settled(&[TypeIR::Int, TypeIR::Null, TypeIR::Error]), TypeIR::Int);
    }
}
