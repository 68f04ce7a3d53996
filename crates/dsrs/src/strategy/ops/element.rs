//! `element`: one element of a list or tuple, or one value of a dict, which must be there.

use std::sync::Arc;

use facet::Facet;

use super::function::{OpFunction, OpSpec, op};
use super::provenance::input;
use super::{VALUE, failed, invalid, value};
use crate::predict::PredictError;
use crate::problem::{At, Code, Problems};
use crate::strategy::Flow;
use crate::strategy::op::{InputTypes, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::types::{Type, TypeIR, TypeShape, brief, resolve};
use crate::value::{Fields, Payload, Selection, SelectionStep};

const INDEX: &str = "index";
const KEY: &str = "key";

inventory::submit! { StrategyRegistration(&OpStrategy(&OpSpec {
    name: "element",
    description: "One element of a list or tuple by its `index`, or one value of a dict by its `key`. \
                  A negative index counts from the end. Fails if there is no such element. Calls no LM.",
    make: |config: ElementConfig, _, _| {
        Ok(op(match config {
            ElementConfig { index: Some(index), .. } => Element::At(index),
            ElementConfig { key, .. } => Element::Of(key.unwrap_or_default().into()),
        }))
    },
})) }

#[derive(Facet)]
#[facet(dsrs::keywords(r#"{"oneOf": [{"required": ["index"]}, {"required": ["key"]}]}"#))]
struct ElementConfig {
    /// The place in the list, from 0; -1 is the last element.
    index: Option<i64>,
    /// The key of the dict.
    #[facet(dsrs::keywords(r#"{"maxLength": 2000}"#))]
    key: Option<String>,
}

/// Which element.
enum Element {
    At(i64),
    Of(Arc<str>),
}

impl Element {
    /// The step to the element of this value, if it has one.
    fn step(&self, whole: &Payload) -> Option<SelectionStep> {
        match (self, whole) {
            (Self::At(index), Payload::List(list)) => {
                let place = place(*index, list.len())?;
                Some(SelectionStep::Index(place))
            }
            (Self::Of(key), Payload::Map(map)) => {
                map.contains_key(key).then(|| SelectionStep::Key(key.clone()))
            }
            _ => None,
        }
    }

    /// The type of the element in a value of this type.
    fn type_in(&self, whole: &Type) -> Option<TypeIR> {
        match (self, resolve(&whole.ir, &whole.defs).shape) {
            (Self::At(_), TypeShape::List(element)) | (Self::Of(_), TypeShape::Dict(element)) => {
                Some(element.clone())
            }
            (Self::At(index), TypeShape::Tuple(types)) => {
                types.get(place(*index, types.len())?).cloned()
            }
            (_, TypeShape::Any) => Some(TypeIR::Any),
            _ => None,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::At(index) => format!("[{index}]"),
            Self::Of(key) => Selection::new(vec![SelectionStep::Key(key.clone())]).to_string(),
        }
    }
}

/// The place of an index in a list of this length; a negative index counts from the end.
fn place(index: i64, length: usize) -> Option<usize> {
    let from_start = match index < 0 {
        true => i64::try_from(length).ok()?.checked_add(index)?,
        false => index,
    };
    usize::try_from(from_start).ok().filter(|place| *place < length)
}

impl OpFunction for Element {
    fn inputs(&self) -> Vec<OpInput> {
        vec![OpInput::open(VALUE)]
    }

    fn infer(&self, inputs: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let whole = inputs.type_of(VALUE);
        match self.type_in(&whole) {
            Some(element) => Ok(OpTypes::of([(VALUE, whole.ir)], VALUE, element)),
            None => {
                let name = if matches!(self, Self::At(_)) { INDEX } else { KEY };
                let detail = format!("`{}` has no element `{}`", brief(&whole.ir), self.shown());
                Err(invalid(at, name, Code::TypeMismatch, detail))
            }
        }
    }

    fn compute(&self, inputs: &Fields) -> Result<Payload, PredictError> {
        let whole = value(inputs, VALUE);
        match self.step(whole) {
            Some(step) => Ok(Selection::new(vec![step]).get(whole)),
            None => Err(failed(format!("there is no element `{}`", self.shown()))),
        }
    }

    fn flows(&self, inputs: &Fields, within: &Selection) -> Vec<Flow> {
        let step = self.step(value(inputs, VALUE));
        let from = step.map_or_else(|| input(VALUE), |step| input(VALUE).step(step));
        vec![Flow::copied(from.then(within))]
    }
}
