//! What a module can tell, after the fact, of where its outputs came from: which parts of which
//! inputs, and which of the things that happened on the way. Nobody asks while a graph runs.

use std::collections::BTreeSet;

use crate::predict::Recording;
use crate::signature::SignatureSchema;
use crate::value::{Fields, Selection, SelectionStep};

/// A call of a module that is over.
#[derive(Clone, Copy, Debug)]
pub struct RecordedCall<'r> {
    /// What went in.
    pub inputs: &'r Fields,
    /// What came out; nothing where it failed.
    pub outputs: &'r Fields,
    /// What happened in the run.
    pub recording: &'r Recording,
    /// The call's span in it, if the record has one.
    pub span: Option<u32>,
}

/// One way that led to a module's outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where it arrived: a part of what is asked about; without steps all of it.
    pub into: Selection,
    /// Where it came from: an input, and deeper if need be.
    pub from: Selection,
    /// Whether data arrived as it was, so that parts of it are parts of what it became.
    pub as_it_was: bool,
}

impl Flow {
    /// From an input, and deeper if need be, which had a hand in all of what is asked about.
    #[must_use]
    pub fn of(from: Selection) -> Self {
        Self { into: Selection::default(), from, as_it_was: false }
    }

    /// The whole of an input had a hand in all of what is asked about.
    #[must_use]
    pub fn input(name: &str) -> Self {
        Self::of(Selection::new(vec![SelectionStep::from(name)]))
    }

    /// All of what is asked about is what stood there.
    #[must_use]
    pub fn copied(from: Selection) -> Self {
        Self { as_it_was: true, ..Self::of(from) }
    }

    /// A part of what is asked about is what stood there.
    #[must_use]
    pub fn part(into: Selection, from: Selection) -> Self {
        Self { into, ..Self::copied(from) }
    }
}

/// What a part of a module's outputs came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The ways of the data.
    pub flows: Vec<Flow>,
    /// What of all that happened below the call had a part in it; `None` where all of it may have.
    pub spans: Option<BTreeSet<u32>>,
}

impl Sources {
    /// Every input, and everything that happened: what is true of whatever an LM had a hand in.
    #[must_use]
    pub fn all(schema: &SignatureSchema) -> Self {
        Self::of(schema.inputs.iter().map(|field| Flow::input(&field.name)))
    }

    /// These ways, and everything that happened.
    pub fn of(flows: impl IntoIterator<Item = Flow>) -> Self {
        Self { flows: flows.into_iter().collect(), spans: None }
    }
}
