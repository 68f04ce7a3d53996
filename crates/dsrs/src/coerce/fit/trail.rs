//! What a reading notes on its way, and why one fails. Places are gathered on the way up, step by
//! step, so that a clean reading pays for none of them. Knows nothing of types.

use std::borrow::Cow;
use std::sync::Arc;

use crate::coerce::report::{Leniency, Report, shorten};
use crate::coerce::{CoerceError, Leniencies, LeniencyKind, Path};
use crate::value::Payload;

/// One step down into a value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// To a member of an object.
    Member(Arc<str>),
    /// To an element of a list.
    Element(usize),
}

/// A leniency that was used, its steps innermost first.
#[derive(Clone, Debug)]
pub(super) struct Note {
    steps: Vec<Step>,
    kind: LeniencyKind,
    read: String,
    became: Payload,
}

/// The leniencies of a reading so far.
#[derive(Debug, Default)]
pub(super) struct Trail(Vec<Note>);

/// A point of a trail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

impl Trail {
    pub(super) const fn mark(&self) -> Mark {
        Mark(self.0.len())
    }

    pub(super) fn note(&mut self, kind: LeniencyKind, read: &str, became: &Payload) {
        let (read, became) = (shorten(read), became.clone());
        self.0.push(Note { steps: Vec::new(), kind, read, became });
    }

    pub(super) fn note_all(&mut self, kinds: Leniencies, read: &str, became: &Payload) {
        if !kinds.is_empty() {
            kinds.kinds().for_each(|kind| self.note(kind, read, became));
        }
    }

    /// Places what was noted since a mark one step deeper.
    pub(super) fn place(&mut self, since: Mark, step: impl Fn() -> Step) {
        for note in self.0.iter_mut().skip(since.0) {
            note.steps.push(step());
        }
    }

    /// Takes back what was noted since a mark.
    pub(super) fn take(&mut self, since: Mark) -> Vec<Note> {
        if self.0.len() > since.0 { self.0.split_off(since.0) } else { Vec::new() }
    }

    pub(super) fn extend(&mut self, notes: Vec<Note>) {
        self.0.extend(notes);
    }

    /// Writes everything into a report.
    pub(super) fn tell(self, report: &mut Report) {
        for note in self.0 {
            let path = with_path(&note.steps, &Path::Root, &|path| path.to_string());
            let (kind, read, became) = (note.kind, note.read, note.became);
            report.push(Leniency { field: None, path, kind, read, became });
        }
    }
}

/// How doubtful notes make a reading.
pub(super) fn penalty(notes: &[Note]) -> u32 {
    notes.iter().map(|note| note.kind.penalty()).sum()
}

/// Why a reading fails, and where: its steps innermost first.
#[derive(Clone, Debug)]
pub(super) struct Misfit {
    steps: Vec<Step>,
    reason: String,
    /// What is odd about what was found.
    pub(super) remark: Cow<'static, str>,
    /// Whether something is not there at all: less telling than what is there and does not fit.
    missing: bool,
}

impl Misfit {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { steps: Vec::new(), reason, remark: Cow::Borrowed(""), missing: false }
    }

    pub(super) fn missing() -> Self {
        Self { missing: true, ..Self::new("is missing") }
    }

    pub(super) fn remark(self, remark: impl Into<Cow<'static, str>>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    pub(super) fn at(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    pub(super) const fn is_deeper(&self) -> bool {
        !self.steps.is_empty()
    }

    /// How much it says of what is wrong.
    pub(super) fn weight(&self) -> (usize, bool, bool) {
        (self.steps.len(), !self.missing, !self.remark.is_empty())
    }

    pub(super) fn told(self) -> CoerceError {
        let reason = match self.remark.as_ref() {
            "" => self.reason,
            remark => format!("{} ({remark})", self.reason),
        };
        with_path(&self.steps, &Path::Root, &|path| CoerceError::new(path, reason.as_str()))
    }
}

/// Walks steps, given innermost first, down to the path that they make.
fn with_path<T>(steps: &[Step], path: &Path<'_>, tell: &dyn Fn(&Path<'_>) -> T) -> T {
    match steps.split_last() {
        None => tell(path),
        Some((Step::Member(name), rest)) => with_path(rest, &path.member(name), tell),
        Some((Step::Element(index), rest)) => with_path(rest, &path.element(*index), tell),
    }
}
