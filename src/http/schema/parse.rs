//! A text read as a type or as an answer, as the OpenAPI document tells it.

use utoipa::ToSchema;

use super::Json;

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
    pub report: Vec<Leniency>,
}

/// One slip that was mended.
#[derive(ToSchema)]
pub struct Leniency {
    /// The output field; null for what stands around them, or where there are none.
    #[schema(required)]
    pub field: Option<String>,
    /// Where in its value: `person.age`, `[0]`, or nothing for the whole.
    pub path: String,
    /// Stable and machine-readable.
    pub kind: String,
    /// What stood there, shortened.
    pub read: String,
    /// What it was taken for; the beginning of it as a text, where it is long.
    #[schema(value_type = Value)]
    pub became: Json,
    /// How doubtful it makes the reading.
    pub penalty: u64,
    /// How many slips it stands for, if more than one: its own and all that follow of its kind.
    pub times: Option<u64>,
}
