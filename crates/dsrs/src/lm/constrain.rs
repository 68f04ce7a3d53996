//! Constrained decoding: the constraint of an answer, and whether an endpoint supports it. Neither makes
//! nor sends constraints.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;

/// The form of a constraint that an endpoint supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintForm {
    /// A grammar in llama.cpp's GBNF: the answer has the layout that the prompt describes.
    Gbnf,
    /// A JSON Schema: the answer is one JSON object of the outputs.
    JsonSchema,
}

impl ConstraintForm {
    /// Its name in settings and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gbnf => "gbnf",
            Self::JsonSchema => "json_schema",
        }
    }
}

/// The constraint of an answer.
#[derive(Clone, Debug)]
pub enum DecodingConstraint {
    /// A grammar in GBNF.
    Gbnf(Arc<str>),
    /// A JSON Schema.
    JsonSchema {
        /// The schema.
        schema: Arc<RawValue>,
        /// Whether it is in OpenAI's strict subset.
        strict: bool,
    },
}

/// The constrained decoding of a model. After its endpoint has refused a constraint, this process sends
/// no further ones.
#[derive(Debug, Default)]
pub struct ConstrainedDecoding {
    form: Option<ConstraintForm>,
    refused: AtomicBool,
}

impl ConstrainedDecoding {
    /// Constraints in a form, or none.
    #[must_use]
    pub const fn to(form: Option<ConstraintForm>) -> Self {
        Self { form, refused: AtomicBool::new(false) }
    }

    /// The configured form.
    #[must_use]
    pub const fn form(&self) -> Option<ConstraintForm> {
        self.form
    }

    /// Whether the endpoint has refused a constraint.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Records that the endpoint has refused a constraint.
    pub fn refuse(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }
}
