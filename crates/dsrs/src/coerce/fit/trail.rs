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

/// What a reading did so far.
#[derive(Debug, Default)]
pub(super) struct Trail {
    notes: Vec<Note>,
    /// How many whole numbers became floats: no leniency, but of two types the other one is meant.
    widened: usize,
}

/// A point of a trail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    notes: usize,
    widened: usize,
}

/// What a reading did since a mark.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    notes: Vec<Note>,
    widened: usize,
}

impl Trail {
    pub(super) const fn mark(&self) -> Mark {
        Mark { notes: self.notes.len(), widened: self.widened }
    }

    pub(super) const fn widen(&mut self) {
        self.widened += 1;
    }

    pub(super) fn note(&mut self, kind: LeniencyKind, read: &str, became: &Payload) {
        let (read, became) = (shorten(read), became.clone());
        self.notes.push(Note { steps: Vec::new(), kind, read, became });
    }

    pub(super) fn note_all(&mut self, kinds: Leniencies, read: &str, became: &Payload) {
        if !kinds.is_empty() {
            kinds.kinds().for_each(|kind| self.note(kind, read, became));
        }
    }

    /// Places what was noted since a mark one step deeper.
    pub(super) fn place(&mut self, since: Mark, step: impl Fn() -> Step) {
        for note in self.notes.iter_mut().skip(since.notes) {
            note.steps.push(step());
        }
    }

    /// Takes back what was done since a mark.
    pub(super) fn take(&mut self, since: Mark) -> Stretch {
        let widened = self.widened.saturating_sub(since.widened);
        self.widened = since.widened;
        // An empty stretch allocates nothing.
        let more = self.notes.len() > since.notes;
        Stretch { notes: if more { self.notes.split_off(since.notes) } else { vec![] }, widened }
    }

    pub(super) fn extend(&mut self, stretch: Stretch) {
        self.notes.extend(stretch.notes);
        self.widened += stretch.widened;
    }

    /// Writes everything into a report.
    pub(super) fn tell(self, report: &mut Report) {
        for note in self.notes {
            let path = with_path(&note.steps, &Path::Root, &|path| path.to_string());
            let (kind, read, became) = (note.kind, note.read, note.became);
            report.push(Leniency { field: None, path, kind, read, became });
        }
    }
}

impl Stretch {
    /// How doubtful it makes a reading: by its leniencies first; of equals the one that filled in
    /// less, then the one that widened less.
    pub(super) fn doubt(&self) -> (u32, usize, usize) {
        let penalty = self.notes.iter().map(|note| note.kind.penalty()).sum();
        (penalty, self.notes.len(), self.widened)
    }

    /// Whether nothing was noted.
    pub(super) const fn is_clean(&self) -> bool {
        self.notes.is_empty()
    }

    /// Whether nothing could be better.
    pub(super) const fn is_exact(&self) -> bool {
        self.notes.is_empty() && self.widened == 0
    }
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
