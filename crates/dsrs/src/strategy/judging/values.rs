//! What a scorer sees: inputs and outputs of an attempt, and for an example also expected values and
//! the trace. First the fields with their types, later the values.

use std::sync::Arc;

use crate::signature::{FieldSchema, SignatureSchema};
use crate::value::{Fields, Payload};

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JudgedKind {
    /// An attempt: inputs and outputs.
    Attempt,
    /// An example: expected values and trace too.
    Example,
}

/// The fields that a scorer can read.
#[derive(Clone, Copy)]
pub(crate) struct JudgedFields<'v> {
    /// Inputs and outputs; `None` if they have problems of their own.
    pub(crate) schema: Option<&'v SignatureSchema>,
    pub(crate) sight: JudgedKind,
}

/// The values that a scorer reads.
#[derive(Clone, Copy)]
pub(crate) struct JudgedValues<'s> {
    pub(crate) inputs: &'s Fields,
    pub(crate) outputs: &'s Fields,
    pub(crate) example: Option<ExampleValues<'s>>,
}

/// The further values of an example.
#[derive(Clone, Copy)]
pub(crate) struct ExampleValues<'s> {
    pub(crate) expected: &'s Fields,
    /// Built only on demand: traces are large.
    pub(crate) trace: &'s (dyn Fn() -> Payload + Sync),
}

/// A group of values under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueGroup {
    Inputs,
    Outputs,
    Expected,
    Trace,
}

impl ValueGroup {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
            Self::Expected => "expected",
            Self::Trace => "trace",
        }
    }
}

impl JudgedKind {
    pub(super) const fn groups(self) -> &'static [ValueGroup] {
        match self {
            Self::Attempt => &[ValueGroup::Inputs, ValueGroup::Outputs],
            Self::Example => {
                &[ValueGroup::Inputs, ValueGroup::Expected, ValueGroup::Outputs, ValueGroup::Trace]
            }
        }
    }
}

impl<'v> JudgedFields<'v> {
    /// The known fields of a group; `None` if it may have any. Examples may expect values that are not
    /// outputs.
    pub(super) fn fields(self, group: ValueGroup) -> Option<&'v [FieldSchema]> {
        let schema = self.schema?;
        match group {
            ValueGroup::Inputs => Some(&schema.inputs),
            ValueGroup::Outputs => Some(&schema.outputs),
            ValueGroup::Expected | ValueGroup::Trace => None,
        }
    }
}

impl<'s> JudgedValues<'s> {
    /// The values of a group.
    pub(super) fn fields(self, group: ValueGroup) -> Option<&'s Fields> {
        match group {
            ValueGroup::Inputs => Some(self.inputs),
            ValueGroup::Outputs => Some(self.outputs),
            ValueGroup::Expected => self.example.map(|example| example.expected),
            ValueGroup::Trace => None,
        }
    }

    /// A group as one value.
    pub(super) fn whole(self, group: ValueGroup) -> Payload {
        match (self.fields(group), self.example) {
            (Some(fields), _) => Payload::Map(Arc::new(fields.clone())),
            (None, Some(example)) => (example.trace)(),
            (None, None) => Payload::Null,
        }
    }
}
