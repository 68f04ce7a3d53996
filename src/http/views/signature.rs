//! Signatures in their canonical spelling, as the OpenAPI document tells them.

use utoipa::ToSchema;

use super::Json;

/// A signature in its canonical spelling.
#[derive(ToSchema)]
pub struct Signature {
    /// What the LM is told to do.
    pub instructions: String,
    /// Inputs, in order.
    pub inputs: Vec<Field>,
    /// Outputs, in order.
    pub outputs: Vec<Field>,
}

/// One field of a signature.
#[derive(ToSchema)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// A type expression.
    pub r#type: String,
    /// What it stands for.
    pub description: Option<String>,
    /// The name that the LM sees instead.
    pub alias: Option<String>,
    /// `json`, `yaml` or `text`.
    pub format: Option<String>,
    /// The value it takes when it is not given.
    #[schema(value_type = Option<Object>)]
    pub default: Option<Json>,
    /// `assert` or `check` expressions.
    #[schema(value_type = Option<Vec<Object>>)]
    pub constraints: Option<Json>,
    /// Whether the parser may use no leniency.
    pub strict: Option<bool>,
}
