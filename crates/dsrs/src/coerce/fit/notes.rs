//! The leniencies used by an interpretation, and why one fails. Notes form a tree of steps: adding
//! a step to many notes is as cheap as to one, and subtrees are shared. An exact interpretation has
//! no notes. Paths become text only for the report. Does not know types.

use std::borrow::Cow;
use std::ops::{AddAssign, SubAssign};
use std::rc::Rc;
use std::sync::Arc;

use crate::coerce::report::{Leniency, ParseReport};
use crate::coerce::{CoerceError, Leniencies, LeniencyKind, Path, shorten};
use crate::value::Payload;

/// One step down into a value.
#[derive(Clone, Debug)]
pub(super) enum PathStep {
    /// To a member of an object.
    Member(Arc<str>),
    /// To an element of a list.
    Element(usize),
}

/// A note, and the step to its place once that is known.
#[derive(Debug)]
struct Note {
    step: Option<PathStep>,
    what: NoteContent,
}

#[derive(Debug)]
enum NoteContent {
    /// A leniency that was used.
    Leniency { kind: LeniencyKind, read: Box<str>, became: Payload },
    /// All notes below a step, in order.
    Below(Vec<Rc<Note>>),
}

/// The cost of an interpretation: first its penalty, then the number of leniencies, then the number
/// of widened integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    penalty: usize,
    leniencies: usize,
    /// How many whole numbers became floats. This is no leniency, but an exact type is preferred.
    widened: usize,
}

/// The notes of an interpretation in progress.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: Vec<Rc<Note>>,
    cost: Cost,
}

/// A position in the notes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotesPosition {
    notes: usize,
    cost: Cost,
}

/// The notes since a position. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct NoteSegment {
    notes: Option<Rc<Note>>,
    cost: Cost,
}

impl Notes {
    pub(super) const fn mark(&self) -> NotesPosition {
        NotesPosition { notes: self.notes.len(), cost: self.cost }
    }

    pub(super) const fn widen(&mut self) {
        self.cost.widened += 1;
    }

    pub(super) fn note(&mut self, kind: LeniencyKind, read: &str, became: &Payload) {
        let (read, became) = (shorten(read).into(), became.clone());
        self.notes
            .push(Rc::new(Note { step: None, what: NoteContent::Leniency { kind, read, became } }));
        self.cost += Cost { penalty: kind.penalty() as usize, leniencies: 1, widened: 0 };
    }

    pub(super) fn note_all(&mut self, kinds: Leniencies, read: &str, became: &Payload) {
        if !kinds.is_empty() {
            kinds.kinds().for_each(|kind| self.note(kind, read, became));
        }
    }

    /// Moves the notes since a position below a step.
    pub(super) fn place(&mut self, since: NotesPosition, step: impl Fn() -> PathStep) {
        if self.notes.len() <= since.notes {
            return;
        }
        if let [only] = self.notes.get_mut(since.notes..).unwrap_or_default()
            && let Some(Note { step: open @ None, .. }) = Rc::get_mut(only)
        {
            *open = Some(step());
            return;
        }
        let below = NoteContent::Below(self.notes.split_off(since.notes));
        self.notes.push(Rc::new(Note { step: Some(step()), what: below }));
    }

    /// Removes and returns the notes since a position.
    pub(super) fn take(&mut self, since: NotesPosition) -> NoteSegment {
        let mut cost = std::mem::replace(&mut self.cost, since.cost);
        cost -= since.cost;
        let notes = match self.notes.len().saturating_sub(since.notes) {
            0 => None,
            1 => self.notes.pop(),
            _ => {
                let below = NoteContent::Below(self.notes.split_off(since.notes));
                Some(Rc::new(Note { step: None, what: below }))
            }
        };
        NoteSegment { notes, cost }
    }

    pub(super) fn extend(&mut self, segment: NoteSegment) {
        self.notes.extend(segment.notes);
        self.cost += segment.cost;
    }

    /// Writes all notes to a report. `part` gives the parts of a value that are counted separately.
    pub(super) fn write_to(
        self,
        report: &mut ParseReport,
        part: impl Fn(&PathStep) -> Option<usize>,
    ) {
        for note in &self.notes {
            note.write_to(&mut Vec::new(), report, &part);
        }
    }
}

impl Note {
    fn write_to<'n>(
        &'n self,
        steps: &mut Vec<&'n PathStep>,
        report: &mut ParseReport,
        part: &impl Fn(&PathStep) -> Option<usize>,
    ) {
        let depth = steps.len();
        steps.extend(&self.step);
        match &self.what {
            NoteContent::Leniency { kind, read, became } => {
                let part = steps.first().and_then(|first| part(first));
                report.add_to_group((*kind, part), || {
                    let path = with_path(steps, &Path::Root, |path| path.to_string());
                    Leniency::new(path, *kind, read, became)
                });
            }
            NoteContent::Below(all) => {
                all.iter().for_each(|note| note.write_to(steps, report, part))
            }
        }
        steps.truncate(depth);
    }
}

impl NoteSegment {
    pub(super) const fn cost(&self) -> Cost {
        self.cost
    }

    /// Whether there are no notes.
    pub(super) const fn is_clean(&self) -> bool {
        self.notes.is_none()
    }

    /// Whether no interpretation could be better.
    pub(super) const fn is_exact(&self) -> bool {
        self.is_clean() && self.cost.widened == 0
    }
}

impl Cost {
    /// The penalty of the leniencies.
    pub(super) const fn penalty(self) -> usize {
        self.penalty
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Self) {
        self.penalty += more.penalty;
        self.leniencies += more.leniencies;
        self.widened += more.widened;
    }
}

impl SubAssign for Cost {
    fn sub_assign(&mut self, less: Self) {
        self.penalty -= less.penalty;
        self.leniencies -= less.leniencies;
        self.widened -= less.widened;
    }
}

/// Why an interpretation fails, and where. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct FitError {
    place: Option<Rc<ErrorPath>>,
    depth: usize,
    reason: Rc<str>,
    /// What is odd about the data.
    pub(super) remark: Cow<'static, str>,
    /// Whether the value is missing, which is less specific than a value that does not fit.
    missing: bool,
    /// Whether a limit ended the search, so that nothing is known about the value.
    stopped: bool,
}

/// A step and the steps below it.
#[derive(Debug)]
struct ErrorPath {
    step: PathStep,
    inside: Option<Rc<ErrorPath>>,
}

impl FitError {
    pub(super) fn new(reason: impl Into<Rc<str>>) -> Self {
        let (reason, remark) = (reason.into(), Cow::Borrowed(""));
        Self { place: None, depth: 0, reason, remark, missing: false, stopped: false }
    }

    /// The error as one that is due to a limit.
    pub(super) fn stopped(self) -> Self {
        Self { stopped: true, ..self }
    }

    pub(super) fn missing() -> Self {
        Self { missing: true, ..Self::new("is missing") }
    }

    pub(super) fn remark(self, remark: impl Into<Cow<'static, str>>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    pub(super) fn at(self, step: PathStep) -> Self {
        let place = Some(Rc::new(ErrorPath { step, inside: self.place }));
        Self { place, depth: self.depth + 1, ..self }
    }

    pub(super) const fn is_deeper(&self) -> bool {
        self.depth > 0
    }

    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether it says more than that the value as a whole does not fit.
    pub(super) const fn is_specific(&self) -> bool {
        self.depth > 0 || self.stopped
    }

    /// Whether its reason is of no single type.
    pub(super) fn is_of_any_type(&self) -> bool {
        self.depth > 0 || self.stopped && self.remark.is_empty()
    }

    /// The error with the reason of another.
    pub(super) fn because(self, mismatch: Self) -> Self {
        Self { reason: mismatch.reason, missing: mismatch.missing, ..self }
    }

    /// How specific the error is. What a limit ended is the reason, whatever else fails.
    pub(super) fn weight(&self) -> (bool, usize, bool, bool) {
        (self.stopped, self.depth, !self.missing, !self.remark.is_empty())
    }

    pub(super) fn into_coerce_error(self) -> CoerceError {
        let reason = match self.remark.as_ref() {
            "" => self.reason.to_string(),
            remark => format!("{} ({remark})", self.reason),
        };
        let places = std::iter::successors(self.place.as_deref(), |place| place.inside.as_deref());
        let steps: Vec<&PathStep> = places.map(|place| &place.step).collect();
        with_path(&steps, &Path::Root, |path| CoerceError::new(path, reason))
    }
}

/// Builds the path of some steps, outermost first.
fn with_path<T>(steps: &[&PathStep], path: &Path<'_>, use_path: impl FnOnce(&Path<'_>) -> T) -> T {
    match steps.split_first() {
        None => use_path(path),
        Some((PathStep::Member(name), rest)) => with_path(rest, &path.member(name), use_path),
        Some((PathStep::Element(index), rest)) => with_path(rest, &path.element(*index), use_path),
    }
}
