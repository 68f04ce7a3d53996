//! A text parsed as a type or as an answer of an LM.

use dsrs::adapter::ParsedValue;
use dsrs::value::Payload;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{Json, SignatureNotation, TypeDefinitions, TypeNotation, example};
use crate::protocol::problem_view::LeniencyView;

/// A text, and the type or the signature to parse it as.
#[derive(ToSchema)]
pub struct ParseRequest {
    /// A type expression or a JSON Schema object; or `signature`.
    #[schema(value_type = Option<TypeNotation>)]
    pub r#type: Option<Json>,
    /// A signature in any of its spellings, to parse a whole answer of an LM; or `type`.
    #[schema(value_type = Option<SignatureNotation>)]
    pub signature: Option<Json>,
    /// The types that it may name.
    #[schema(value_type = Option<TypeDefinitions>)]
    pub types: Option<Json>,
    /// The text, at most 4 MiB.
    pub text: String,
    /// Whether to accept only an exact text.
    pub strict: Option<bool>,
}

/// A parsed text.
#[derive(Serialize, ToSchema)]
#[schema(as = ParseAnswer, examples(json!(ParseView::example())))]
pub struct ParseView {
    /// The value; for a signature, its outputs by name.
    #[schema(value_type = Value)]
    pub value: Payload,
    /// The leniencies that the parser used, in order. If a kind is very frequent, only the first are
    /// listed one by one.
    #[schema(value_type = Vec<LeniencyView>)]
    pub report: Payload,
}

impl From<ParsedValue> for ParseView {
    fn from(parsed: ParsedValue) -> Self {
        Self { report: parsed.report.to_payload(), value: parsed.value }
    }
}

impl ParseView {
    fn example() -> Self {
        let report = json!([{
            "field": "topics",
            "path": "",
            "kind": "bullets",
            "read": "- refund\n- delivery",
            "became": ["refund", "delivery"],
            "penalty": 2
        }]);
        Self {
            value: example::payload(&json!({"mood": "angry", "topics": ["refund", "delivery"]})),
            report: example::payload(&report),
        }
    }
}
