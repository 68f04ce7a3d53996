//! What a server may hold an answer to while it is written, and whether a model's server does. Knows
//! nothing of how a constraint came about or how it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;

/// The form of a constraint that a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintForm {
    /// A grammar in llama.cpp's GBNF: the answer keeps the layout that the prompt asks for.
    Gbnf,
    /// A JSON Schema: the answer is one JSON object of the outputs.
    JsonSchema,
}

impl ConstraintForm {
    /// The word for it in settings and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::JsonSchema => "json_schema",
        }
    }
}

/// What an answer is held to.
#[derive(Clone, Debug)]
pub enum DecodingConstraint {
    /// A grammar in GBNF.
    Gbnf(Arc<str>),
    /// A JSON Schema.
    JsonSchema {
        /// The schema.
        schema: Arc<RawValue>,
        /// Whether it keeps to the subset that OpenAI calls strict.
        strict: bool,
    },
}

/// How the answers of a model are constrained. What its server refused once is not sent again while
/// this process lives.
#[derive(Debug, Default)]
pub struct ConstrainedDecoding {
    form: Option<ConstraintForm>,
    refused: AtomicBool,
}

impl ConstrainedDecoding {
    /// Constrained in a form, or not at all.
    #[must_use]
    pub const fn to(form: Option<ConstraintForm>) -> Self {
        Self { form, refused: AtomicBool::new(false) }
    }

    /// The form that is configured.
    #[must_use]
    pub const fn form(&self) -> Option<ConstraintForm> {
        self.form
    }

    /// Whether the server has refused it.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Remembers that the server refuses it.
    pub fn refuse(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }
}
