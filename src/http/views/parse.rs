//! A text read as a type or as an answer, as the OpenAPI document tells it.

use utoipa::ToSchema;

use super::Json;
use crate::http::protocol::problem_view::LeniencyView;

/// A text and what it is to be read as: a type, or the outputs of a signature.
#[derive(ToSchema)]
pub struct ParseRequest {
    /// A type expression or a JSON Schema object; or `signature`.
    #[schema(value_type = Option<Value>)]
    pub r#type: Option<Json>,
    /// A signature in any of its spellings, for a whole answer of an LM; or `type`.
    #[schema(value_type = Option<Value>)]
    pub signature: Option<Json>,
    /// What they may name.
    #[schema(value_type = Option<Value>)]
    pub types: Option<Json>,
    /// The text, at most 4 MiB.
    pub text: String,
    /// Whether only an exact text is taken.
    pub strict: Option<bool>,
}

/// What a text was read as.
#[derive(ToSchema)]
pub struct ParseAnswer {
    /// The value; of a signature, its outputs by name.
    #[schema(value_type = Value)]
    pub value: Json,
    /// The leniencies that were used, in order; of very many of a kind the first are told one by one.
    pub report: Vec<LeniencyView>,
}
