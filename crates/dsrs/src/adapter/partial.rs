//! An answer while it arrives: the text of its outputs as far as it is certain, values as soon as
//! nothing can change them, and at the end what [`super::ChatPlan::parse`] says of the whole. Any
//! way of cutting an answer into chunks comes to the same. Work is linear in the text.

use std::ops::Range;
use std::sync::Arc;

use super::answer::{self, Misfit, ParseError, ParsedOutput};
use super::checks::Checks;
use super::header;
use super::members::Members;
use super::outputs::{Output, Outputs};
use super::partial_value::{self, Pace};
use super::plan::ChatPlan;
use super::reading::{self, Reading};
use super::sections::{Scanner, Source};
use super::settle::{self, Settled};
use crate::coerce::{Leniencies, TEXT_LIMIT};
use crate::types::{Type, TypeIR};
use crate::value::Payload;

/// What is new in an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerEvent {
    /// More of the text of an output. All such texts of an output together are its section's text
    /// (of an output of type `str`: its value). Of an answer that begins as one object they are
    /// the texts of its members, which holds unless something else than the object's end follows.
    Text {
        /// The output.
        field: Arc<str>,
        /// The new text.
        text: String,
    },
    /// The value of an output as far as it goes: finished elements and members.
    Value {
        /// The output.
        field: Arc<str>,
        /// What there is of it.
        value: Payload,
    },
    /// The value of an output, which nothing that follows will change.
    Complete {
        /// The output.
        field: Arc<str>,
        /// Its value.
        value: Payload,
    },
    /// The text of an output is complete and does not fit its type.
    Misfit(Misfit),
}

/// An answer while it arrives.
///
/// ```
/// # use std::sync::Arc;
/// # use dsrs::{adapter::{AnswerEvent, ChatPlan}, problem::{At, Problems}, value::Payload};
/// # use dsrs::{signature::read_signature, types::TypeScope};
/// # let (mut problems, mut scope) = (Problems::new(), TypeScope::default());
/// # let spelled = Payload::str("question -> answer, score: int");
/// # let draft = read_signature(&spelled, &mut scope, &At::Root, &mut problems).unwrap();
/// let plan = ChatPlan::new(Arc::new(draft.finish(scope.finish())));
/// let mut answer = plan.listen();
/// let events = answer.push("[[ ## answer ## ]]\nParis, of cou");
/// let text = "Paris, of cou".to_owned();
/// assert_eq!(events, [AnswerEvent::Text { field: "answer".into(), text }]);
/// answer.push("rse\n\n[[ ## score ## ]]\n9");
/// assert_eq!(answer.complete("answer"), Some(&Payload::str("Paris, of course")));
/// assert_eq!(answer.finish().unwrap().fields["score"], Payload::Int(9));
/// ```
#[derive(Debug)]
pub struct PartialAnswer {
    outputs: Arc<Outputs>,
    checks: Arc<Checks>,
    /// The types of what there may be of the values.
    unfinished: Arc<[Option<Type>]>,
    allowed: Leniencies,
    text: String,
    scanner: Scanner,
    progress: Vec<Progress>,
    /// The texts in an object that the answer begins with.
    members: Members,
    /// How many of the complete outputs were told.
    told: usize,
    /// More came than is read.
    too_long: bool,
}

/// How far one output was told.
#[derive(Debug, Default)]
struct Progress {
    /// Bytes of its text.
    sent: usize,
    settled: Option<Settled>,
    partial: Option<Payload>,
    pace: Pace,
}

impl ChatPlan {
    /// Listens to an answer that will come in chunks.
    #[must_use]
    pub fn listen(&self) -> PartialAnswer {
        let (outputs, allowed) = (self.outputs.clone(), Leniencies::ALL);
        PartialAnswer {
            scanner: Scanner::new(&outputs, allowed),
            progress: outputs.iter().map(|_| Progress::default()).collect(),
            outputs,
            members: Members::default(),
            checks: self.checks.clone(),
            unfinished: self.unfinished.clone(),
            allowed,
            text: String::new(),
            told: 0,
            too_long: false,
        }
    }
}

impl PartialAnswer {
    /// Takes in the next chunk, and answers what is new.
    pub fn push(&mut self, chunk: &str) -> Vec<AnswerEvent> {
        self.too_long |= self.text.len() + chunk.len() > TEXT_LIMIT;
        if self.too_long {
            return Vec::new();
        }
        self.text.push_str(chunk);
        self.read(false);
        let mut events = Vec::new();
        self.tell_members(&mut events);
        self.tell_complete(&mut events);
        self.tell_open(&mut events);
        events
    }

    /// The answer so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value of an output, once nothing that follows can change it.
    #[must_use]
    pub fn complete(&self, field: &str) -> Option<&Payload> {
        self.progress(field)?.settled.as_ref()?.value.as_ref().ok()
    }

    /// The best value of an output so far: the complete one, else what there is of a text, else
    /// the finished elements and members.
    #[must_use]
    pub fn value(&self, field: &str) -> Option<Payload> {
        let progress = self.progress(field)?;
        if let Some(settled) = &progress.settled {
            return settled.value.clone().ok();
        }
        let (open, range) = self.scanner.open()?;
        let output = self.outputs.get(open).filter(|output| *output.name == *field)?;
        if output.ty.ir == TypeIR::Str {
            return self.text.get(range.start..range.start + progress.sent).map(Payload::from);
        }
        progress.partial.clone()
    }

    /// What is new now that the answer has ended, texts that were held back, and what the whole of
    /// it says, as [`ChatPlan::parse`] reads it.
    pub fn end(mut self) -> (Vec<AnswerEvent>, Result<ParsedOutput, ParseError>) {
        if self.too_long {
            return (Vec::new(), Err(answer::too_long()));
        }
        self.read(true);
        let mut events = Vec::new();
        self.tell_complete(&mut events);
        let Self { outputs, checks, allowed, text, scanner, mut progress, members, .. } = self;
        let source = Source { text: &text, outputs: &outputs, allowed, ended: true };
        let reading = Reading::of(&scanner, &source);
        for (index, output) in outputs.iter().enumerate() {
            if let Some(Some(part)) = reading.parts.get(index)
                && let Some(progress) = progress.get_mut(index)
                && !scanner.is_complete(index)
                && !members.have_told()
            {
                let range = settle::text(&source, part);
                events.extend(progress.tell_text(output, &text, range));
            }
        }
        let known = progress.into_iter().map(|progress| progress.settled).collect();
        (events, answer::conclude(&scanner, &source, &checks, reading, known))
    }

    /// What the whole answer says, as [`ChatPlan::parse`] reads it.
    ///
    /// # Errors
    /// As [`ChatPlan::parse`].
    pub fn finish(self) -> Result<ParsedOutput, ParseError> {
        self.end().1
    }

    fn read(&mut self, ended: bool) {
        let (text, outputs) = (&self.text, &*self.outputs);
        self.scanner.advance(&Source { text, outputs, allowed: self.allowed, ended });
    }

    fn progress(&self, field: &str) -> Option<&Progress> {
        let index = self.outputs.iter().position(|output| *output.name == *field)?;
        self.progress.get(index)
    }

    /// Tells of the texts in an object, where there is no section yet. What follows as sections
    /// behind them is another answer, which is told by whoever asks what the whole of it says.
    fn tell_members(&mut self, events: &mut Vec<AnswerEvent>) {
        let Some(start) = self.scanner.lead_start() else { return };
        for (index, text) in self.members.read(&self.text, start, &self.outputs) {
            let field = self.outputs.get(index).map(|output| output.name.clone());
            events.extend(field.map(|field| AnswerEvent::Text { field, text }));
        }
    }

    /// Tells of the outputs that have become complete.
    fn tell_complete(&mut self, events: &mut Vec<AnswerEvent>) {
        let (text, outputs) = (&*self.text, &*self.outputs);
        let source = Source { text, outputs, allowed: self.allowed, ended: false };
        for index in self.scanner.completed().iter().skip(self.told) {
            self.told += 1;
            let (Some(output), Some(progress)) =
                (outputs.get(*index), self.progress.get_mut(*index))
            else {
                continue;
            };
            let part = reading::part(&self.scanner, &source, *index);
            let settled = settle::settle(&source, output, part.as_ref());
            let range = part.map_or(0..0, |part| part.body);
            if !self.members.have_told() {
                events.extend(progress.tell_text(output, text, range));
            }
            events.push(match settled.value.clone() {
                Ok(value) => AnswerEvent::Complete { field: output.name.clone(), value },
                Err(misfit) => AnswerEvent::Misfit(misfit),
            });
            progress.settled = Some(settled);
        }
    }

    /// Tells of the output whose text is arriving.
    fn tell_open(&mut self, events: &mut Vec<AnswerEvent>) {
        let Some((index, range)) = self.scanner.open().filter(|_| !self.members.have_told()) else {
            return;
        };
        let range = before_broken_header(&self.text, range);
        let (Some(output), Some(progress)) =
            (self.outputs.get(index), self.progress.get_mut(index))
        else {
            return;
        };
        if may_be_placeholder(self.text.get(range.clone()).unwrap_or_default(), output) {
            return;
        }
        events.extend(progress.tell_text(output, &self.text, range.clone()));
        if let Some(Some(ty)) = self.unfinished.get(index) {
            events.extend(progress.tell_value(output, ty, &self.text, range));
        }
    }
}

impl Progress {
    /// What of an output's text was not told yet.
    fn tell_text(
        &mut self,
        output: &Output,
        text: &str,
        range: Range<usize>,
    ) -> Option<AnswerEvent> {
        let new = text.get(range.start + self.sent..range.end).filter(|new| !new.is_empty())?;
        self.sent += new.len();
        Some(AnswerEvent::Text { field: output.name.clone(), text: new.to_owned() })
    }

    /// What there is of a value, looked at each time its text has grown by a part of itself.
    fn tell_value(
        &mut self,
        output: &Output,
        ty: &Type,
        text: &str,
        range: Range<usize>,
    ) -> Option<AnswerEvent> {
        let due = self.pace.due(range.len())?;
        let end = text.floor_char_boundary(range.start + due);
        let before = self.partial.take();
        self.partial = partial_value::of(text.get(range.start..end)?, ty);
        let value = self.partial.clone().filter(|value| before.as_ref() != Some(value))?;
        Some(AnswerEvent::Value { field: output.name.clone(), value })
    }
}

/// The part of a text before a header at its end that may prove to be broken off.
fn before_broken_header(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(inside) = text.get(range.clone()) else { return range };
    let end = header::broken(inside).unwrap_or(inside.len());
    let kept = inside.get(..end).unwrap_or_default().trim_end();
    range.start..range.start + kept.len()
}

/// Whether a text may still turn out to be only what the layout shows in its place.
fn may_be_placeholder(text: &str, output: &Output) -> bool {
    let Some(inside) = text.strip_prefix('{') else { return text.is_empty() };
    let name = inside.strip_suffix('}').unwrap_or(inside);
    output.lm_name.starts_with(name) && (inside.len() == name.len() || *name == *output.lm_name)
}
