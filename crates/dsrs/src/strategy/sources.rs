//! Where the outputs of a finished call came from: which parts of which inputs, and which spans of the
//! trace. Computed on demand from the record, never while a graph runs.

use std::collections::BTreeSet;

use crate::predict::Recording;
use crate::signature::SignatureSchema;
use crate::value::{Fields, Selection, SelectionStep};

/// A finished call of a module.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall<'r> {
    /// Its inputs.
    pub inputs: &'r Fields,
    /// Its outputs; empty if it failed.
    pub outputs: &'r Fields,
    /// The recording of the run.
    pub recording: &'r Recording,
    /// The call's span in the recording, if there is one.
    pub span: Option<u32>,
}

/// One path of data from an input of a module to its outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The part of the output that it reached, relative to the requested part; all of it without steps.
    pub into: Selection,
    /// The input, or a part of it, that it came from.
    pub from: Selection,
    /// Whether the data was copied, so that its parts are parts of the output.
    pub is_copy: bool,
}

impl Flow {
    /// An input, or a part of it, influenced all of the requested part.
    #[must_use]
    pub fn of(from: Selection) -> Self {
        Self { into: Selection::default(), from, is_copy: false }
    }

    /// An input influenced all of the requested part.
    #[must_use]
    pub fn input(name: &str) -> Self {
        Self::of(Selection::new(vec![SelectionStep::from(name)]))
    }

    /// All of the requested part is a copy of this.
    #[must_use]
    pub fn copied(from: Selection) -> Self {
        Self { is_copy: true, ..Self::of(from) }
    }

    /// A part of the requested part is a copy of this.
    #[must_use]
    pub fn part(into: Selection, from: Selection) -> Self {
        Self { into, ..Self::copied(from) }
    }
}

/// Where a part of a module's outputs came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The paths of the data.
    pub flows: Vec<Flow>,
    /// The spans below the call that contributed; `None` if any of them may have.
    pub spans: Option<BTreeSet<u32>>,
}

impl Sources {
    /// Every input and every span: true of anything that an LM influenced.
    #[must_use]
    pub fn all(schema: &SignatureSchema) -> Self {
        Self::of(schema.inputs.iter().map(|field| Flow::input(&field.name)))
    }

    /// These paths, and every span.
    pub fn of(flows: impl IntoIterator<Item = Flow>) -> Self {
        Self { flows: flows.into_iter().collect(), spans: None }
    }
}
