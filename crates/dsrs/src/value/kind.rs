//! Kinds of values: how whoever reads a value is to take it. A kind is told beside the payload and
//! follows from it where nobody says otherwise. Knows nothing of types, which say far more.

use std::fmt;

use super::Payload;

/// How a value is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A text.
    Text,
    /// A text with `{name}` slots to be filled; never guessed, only said.
    Fstring,
    /// What an LM answered.
    Response,
    /// Named members: an object, a class instance, a dict.
    Structured,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A failure, as data; its chain of causes stands in the value's meta.
    Error,
    /// What a tool gave.
    ToolResult,
    /// Bytes.
    Binary,
    /// A truth value.
    Bool,
    /// Nothing.
    Null,
    /// Elements in order.
    List,
    /// Elements in order, each with a meaning of its own.
    Tuple,
    /// What fits none of these, or is not known yet.
    Other,
}

impl ValueKind {
    /// The kind that a payload has when nobody says otherwise.
    #[must_use]
    pub const fn of(payload: &Payload) -> Self {
        match payload {
            Payload::Null => Self::Null,
            Payload::Bool(_) => Self::Bool,
            Payload::Int(_) => Self::Int,
            Payload::Float(_) => Self::Float,
            Payload::Str(_) => Self::Text,
            Payload::Bytes(_) => Self::Binary,
            Payload::List(_) => Self::List,
            Payload::Map(_) => Self::Structured,
            Payload::Error(_) => Self::Error,
        }
    }

    /// As clients see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Fstring => "fstring",
            Self::Response => "response",
            Self::Structured => "structured",
            Self::Int => "int",
            Self::Float => "float",
            Self::Error => "error",
            Self::ToolResult => "tool_result",
            Self::Binary => "binary",
            Self::Bool => "bool",
            Self::Null => "null",
            Self::List => "list",
            Self::Tuple => "tuple",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
