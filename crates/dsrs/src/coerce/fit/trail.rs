//! What a reading notes on its way, and why one fails. Notes are gathered on the way up into a tree,
//! a step with all that was noted below it: to place many notes costs no more than to place one, a
//! part of the tree is shared and not copied, and a clean reading has none. Paths are spelled when
//! the report is made. Knows nothing of types.

use std::borrow::Cow;
use std::ops::{AddAssign, SubAssign};
use std::rc::Rc;
use std::sync::Arc;

use crate::coerce::report::{Leniency, Report};
use crate::coerce::{CoerceError, Leniencies, LeniencyKind, Path, shorten};
use crate::value::Payload;

/// One step down into a value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// To a member of an object.
    Member(Arc<str>),
    /// To an element of a list.
    Element(usize),
}

/// What was noted at one place, and the step to it once that is known.
#[derive(Debug)]
struct Noted {
    step: Option<Step>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A leniency that was used.
    Slip { kind: LeniencyKind, read: Box<str>, became: Payload },
    /// All that was noted further down, in order.
    Below(Vec<Rc<Noted>>),
}

/// How doubtful a reading is: by its leniencies first; of equals the one that filled in less, then
/// the one that widened less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Doubt {
    penalty: usize,
    slips: usize,
    /// How many whole numbers became floats: no leniency, but of two types the other one is meant.
    widened: usize,
}

/// What a reading did so far.
#[derive(Debug, Default)]
pub(super) struct Trail {
    noted: Vec<Rc<Noted>>,
    doubt: Doubt,
}

/// A point of a trail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    noted: usize,
    doubt: Doubt,
}

/// What a reading did since a mark. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    noted: Option<Rc<Noted>>,
    doubt: Doubt,
}

impl Trail {
    pub(super) const fn mark(&self) -> Mark {
        Mark { noted: self.noted.len(), doubt: self.doubt }
    }

    pub(super) const fn widen(&mut self) {
        self.doubt.widened += 1;
    }

    pub(super) fn note(&mut self, kind: LeniencyKind, read: &str, became: &Payload) {
        let (read, became) = (shorten(read).into(), became.clone());
        self.noted.push(Rc::new(Noted { step: None, what: What::Slip { kind, read, became } }));
        self.doubt += Doubt { penalty: kind.penalty() as usize, slips: 1, widened: 0 };
    }

    pub(super) fn note_all(&mut self, kinds: Leniencies, read: &str, became: &Payload) {
        if !kinds.is_empty() {
            kinds.kinds().for_each(|kind| self.note(kind, read, became));
        }
    }

    /// Places what was noted since a mark one step deeper.
    pub(super) fn place(&mut self, since: Mark, step: impl Fn() -> Step) {
        if self.noted.len() <= since.noted {
            return;
        }
        if let [only] = self.noted.get_mut(since.noted..).unwrap_or_default()
            && let Some(Noted { step: open @ None, .. }) = Rc::get_mut(only)
        {
            *open = Some(step());
            return;
        }
        let below = What::Below(self.noted.split_off(since.noted));
        self.noted.push(Rc::new(Noted { step: Some(step()), what: below }));
    }

    /// Takes back what was done since a mark.
    pub(super) fn take(&mut self, since: Mark) -> Stretch {
        let mut doubt = std::mem::replace(&mut self.doubt, since.doubt);
        doubt -= since.doubt;
        let noted = match self.noted.len().saturating_sub(since.noted) {
            0 => None,
            1 => self.noted.pop(),
            _ => {
                let below = What::Below(self.noted.split_off(since.noted));
                Some(Rc::new(Noted { step: None, what: below }))
            }
        };
        Stretch { noted, doubt }
    }

    pub(super) fn extend(&mut self, stretch: Stretch) {
        self.noted.extend(stretch.noted);
        self.doubt += stretch.doubt;
    }

    /// Writes everything into a report. What was noted of different parts of the whole, if it has
    /// parts that are known beforehand, is counted apart.
    pub(super) fn tell(self, report: &mut Report, part: impl Fn(&Step) -> Option<usize>) {
        for noted in &self.noted {
            noted.tell(&mut Vec::new(), report, &part);
        }
    }
}

impl Noted {
    fn tell<'n>(
        &'n self,
        steps: &mut Vec<&'n Step>,
        report: &mut Report,
        part: &impl Fn(&Step) -> Option<usize>,
    ) {
        let depth = steps.len();
        steps.extend(&self.step);
        match &self.what {
            What::Slip { kind, read, became } => {
                let part = steps.first().and_then(|first| part(first));
                report.tell((*kind, part), || {
                    let path = with_path(steps, &Path::Root, |path| path.to_string());
                    Leniency::new(path, *kind, read, became)
                });
            }
            What::Below(all) => all.iter().for_each(|noted| noted.tell(steps, report, part)),
        }
        steps.truncate(depth);
    }
}

impl Stretch {
    pub(super) const fn doubt(&self) -> Doubt {
        self.doubt
    }

    /// Whether nothing was noted.
    pub(super) const fn is_clean(&self) -> bool {
        self.noted.is_none()
    }

    /// Whether nothing could be better.
    pub(super) const fn is_exact(&self) -> bool {
        self.is_clean() && self.doubt.widened == 0
    }
}

impl Doubt {
    /// By its leniencies alone.
    pub(super) const fn penalty(self) -> usize {
        self.penalty
    }
}

impl AddAssign for Doubt {
    fn add_assign(&mut self, more: Self) {
        self.penalty += more.penalty;
        self.slips += more.slips;
        self.widened += more.widened;
    }
}

impl SubAssign for Doubt {
    fn sub_assign(&mut self, less: Self) {
        self.penalty -= less.penalty;
        self.slips -= less.slips;
        self.widened -= less.widened;
    }
}

/// Why a reading fails, and where. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Misfit {
    place: Option<Rc<Place>>,
    depth: usize,
    reason: Rc<str>,
    /// What is odd about what was found.
    pub(super) remark: Cow<'static, str>,
    /// Whether something is not there at all: less telling than what is there and does not fit.
    missing: bool,
}

/// A step, and the rest of the way.
#[derive(Debug)]
struct Place {
    step: Step,
    inside: Option<Rc<Place>>,
}

impl Misfit {
    pub(super) fn new(reason: impl Into<Rc<str>>) -> Self {
        let (reason, remark) = (reason.into(), Cow::Borrowed(""));
        Self { place: None, depth: 0, reason, remark, missing: false }
    }

    pub(super) fn missing() -> Self {
        Self { missing: true, ..Self::new("is missing") }
    }

    pub(super) fn remark(self, remark: impl Into<Cow<'static, str>>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    pub(super) fn at(self, step: Step) -> Self {
        let place = Some(Rc::new(Place { step, inside: self.place }));
        Self { place, depth: self.depth + 1, ..self }
    }

    pub(super) const fn is_deeper(&self) -> bool {
        self.depth > 0
    }

    /// How much it says of what is wrong.
    pub(super) fn weight(&self) -> (usize, bool, bool) {
        (self.depth, !self.missing, !self.remark.is_empty())
    }

    pub(super) fn told(self) -> CoerceError {
        let reason = match self.remark.as_ref() {
            "" => self.reason.to_string(),
            remark => format!("{} ({remark})", self.reason),
        };
        let places = std::iter::successors(self.place.as_deref(), |place| place.inside.as_deref());
        let steps: Vec<&Step> = places.map(|place| &place.step).collect();
        with_path(&steps, &Path::Root, |path| CoerceError::new(path, reason))
    }
}

/// Walks steps, given outermost first, down to the path that they make.
fn with_path<T>(steps: &[&Step], path: &Path<'_>, tell: impl FnOnce(&Path<'_>) -> T) -> T {
    match steps.split_first() {
        None => tell(path),
        Some((Step::Member(name), rest)) => with_path(rest, &path.member(name), tell),
        Some((Step::Element(index), rest)) => with_path(rest, &path.element(*index), tell),
    }
}
