//! Kinds of values: how a reader should interpret a value. By default the kind follows from the
//! payload. Knows nothing of types, which are far more precise.

use std::fmt;

use super::Payload;

/// How to interpret a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A text.
    Text,
    /// A text with `{name}` slots; never inferred, only set explicitly.
    Fstring,
    /// The answer of an LM.
    Response,
    /// Named members: an object, a class instance, a dict.
    Structured,
    /// An integer.
    Int,
    /// A number.
    Float,
    /// A failure as data; the meta of the value has its causes.
    Error,
    /// The result of a tool.
    ToolResult,
    /// Bytes.
    Binary,
    /// A boolean.
    Bool,
    /// Nothing.
    Null,
    /// Elements in order.
    List,
    /// Elements in order, each with a meaning of its own.
    Tuple,
    /// None of these, or not known yet.
    Other,
}

impl ValueKind {
    /// The default kind of a payload.
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

    /// The name that clients see.
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
