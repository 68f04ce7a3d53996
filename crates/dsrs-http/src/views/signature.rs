//! Signatures in their canonical notation. They are stored as text; these types only describe them.

use utoipa::ToSchema;

use super::Json;

/// A signature in its canonical notation.
#[derive(ToSchema)]
#[schema(as = Signature)]
pub struct SignatureView {
    /// The instruction for the LM.
    pub instructions: String,
    /// Inputs, in order.
    pub inputs: Vec<Field>,
    /// Outputs, in order.
    pub outputs: Vec<Field>,
}

/// A field of a signature.
#[derive(ToSchema)]
pub struct Field {
    /// The name of the field.
    pub name: String,
    /// A type expression.
    pub r#type: String,
    /// The meaning of the field.
    pub description: Option<String>,
    /// The name that the LM reads and writes instead.
    pub alias: Option<String>,
    /// `json`, `yaml` or `text`.
    pub format: Option<String>,
    /// The language that a text is code of: prompts have it in a fence, and the fence of an answer is left out.
    pub language: Option<String>,
    /// Whether the native reasoning of a model stands for an output that its answer leaves out.
    pub reasoning: Option<bool>,
    /// The value of an input that is not given.
    #[schema(value_type = Option<Value>)]
    pub default: Option<Json>,
    /// `assert` or `check` expressions.
    #[schema(value_type = Option<Vec<Object>>)]
    pub constraints: Option<Json>,
    /// Whether the parser accepts only exact values.
    pub strict: Option<bool>,
}
