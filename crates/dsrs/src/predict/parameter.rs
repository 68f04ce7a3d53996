//! Parameters as values: the tuned state of a predictor as a value that can be shown where it is
//! used. The value is a copy under a stable name; the parameter itself stays in the state.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{DynPredictor, state_to_payload};
use crate::value::{Map, Meta, Payload, Value, ValueKind, ValueRef, valueify};

/// How many hex digits distinguish two contents of one parameter.
const DIGITS: usize = 16;

/// The state of a predictor as a value: active instruction, demos, LM settings. `path` is its path
/// in the graph; `param:` and the path are the reference of the value.
///
/// ```
/// use dsrs::predict::{SchemaPredictor, lift};
/// use dsrs::signature::SignatureSchema;
///
/// # #[derive(dsrs::Signature)]
/// # #[instruction = "Answer."]
/// # struct QA { #[input] question: String, #[output] answer: String }
/// let predictor = SchemaPredictor::new(SignatureSchema::of::<QA>(), "");
/// let value = lift("reply.predict", &predictor);
/// assert_eq!(value.reference().unwrap().to_string(), "param:reply.predict");
/// assert_eq!(&**value.meta().unwrap().param_name.as_ref().unwrap(), "predict");
/// assert_eq!(value.at("instruction").reference().unwrap().to_string(), "param:reply.predict#instruction");
/// ```
#[must_use]
pub fn lift(path: &str, predictor: &dyn DynPredictor) -> Value {
    let name = path.rsplit('.').next().unwrap_or(path);
    let meta = Meta {
        param_name: Some(name.into()),
        param_id: Some(param_id(path, predictor)),
        ..Meta::default()
    };
    let value = valueify(content(predictor)).of_kind(ValueKind::Structured);
    value.with_ref(ValueRef::param(path)).with_meta(meta)
}

/// Names a parameter and its content: `path@hash`, with the first 16 digits of the SHA-256 of the
/// canonical JSON of instruction, demos and settings. Equal content has an equal id in every state
/// version.
#[must_use]
pub fn param_id(path: &str, predictor: &dyn DynPredictor) -> Arc<str> {
    let digest = Sha256::digest(content(predictor).to_json().as_bytes());
    let mut id = format!("{path}@");
    for byte in digest.iter().take(DIGITS / 2) {
        // Writing to a String cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id.into()
}

/// The state with the active instruction, also if it is the signature's own.
fn content(predictor: &dyn DynPredictor) -> Payload {
    let state = state_to_payload(predictor.state());
    let mut members: Map = state.as_map().cloned().unwrap_or_default();
    members.insert("instruction".into(), predictor.instruction().into());
    Payload::map(members)
}
