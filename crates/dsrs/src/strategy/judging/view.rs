//! What whoever judges sees: the inputs and outputs of an attempt, and of an example what is expected
//! and what was done on the way. Knows names and types before there are values, and the values then.

use std::sync::Arc;

use crate::signature::{FieldSchema, SignatureSchema};
use crate::value::{Fields, Payload};

/// What is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// An attempt: inputs and outputs.
    Attempt,
    /// An example: what is expected as well, and the trace.
    Example,
}

/// What there will be to see.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    /// Inputs and outputs; `None` where they could not be made out.
    pub(crate) schema: Option<&'v SignatureSchema>,
    pub(crate) sight: Sight,
}

/// What there is to see.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'s> {
    pub(crate) inputs: &'s Fields,
    pub(crate) outputs: &'s Fields,
    pub(crate) of_example: Option<OfExample<'s>>,
}

/// What there is to see of an example besides.
#[derive(Clone, Copy)]
pub(crate) struct OfExample<'s> {
    pub(crate) expected: &'s Fields,
    /// Made only where it is asked for: traces are large.
    pub(crate) trace: &'s (dyn Fn() -> Payload + Sync),
}

/// A group of values under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Inputs,
    Outputs,
    Expected,
    Trace,
}

impl Group {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
            Self::Expected => "expected",
            Self::Trace => "trace",
        }
    }
}

impl Sight {
    pub(super) const fn groups(self) -> &'static [Group] {
        match self {
            Self::Attempt => &[Group::Inputs, Group::Outputs],
            Self::Example => &[Group::Inputs, Group::Expected, Group::Outputs, Group::Trace],
        }
    }
}

impl<'v> View<'v> {
    /// The fields that a group is known to have; `None` where anything may stand there. Examples may
    /// expect more than the outputs.
    pub(super) fn fields(self, group: Group) -> Option<&'v [FieldSchema]> {
        let schema = self.schema?;
        match group {
            Group::Inputs => Some(&schema.inputs),
            Group::Outputs => Some(&schema.outputs),
            Group::Expected | Group::Trace => None,
        }
    }
}

impl<'s> Shown<'s> {
    /// The values of a group.
    pub(super) fn fields(self, group: Group) -> Option<&'s Fields> {
        match group {
            Group::Inputs => Some(self.inputs),
            Group::Outputs => Some(self.outputs),
            Group::Expected => self.of_example.map(|example| example.expected),
            Group::Trace => None,
        }
    }

    /// A group as one value.
    pub(super) fn whole(self, group: Group) -> Payload {
        match (self.fields(group), self.of_example) {
            (Some(fields), _) => Payload::Map(Arc::new(fields.clone())),
            (None, Some(example)) => (example.trace)(),
            (None, None) => Payload::Null,
        }
    }
}
