//! An answer while it arrives: the text of its outputs as far as it is certain, values as soon as
//! they are final, and at the end the same result as [`super::ChatPlan::parse`]. The result does
//! not depend on how the answer is cut into chunks. Work is linear in the text.

use std::ops::Range;
use std::sync::Arc;

use super::answer::{self, ParsedOutput};
use super::assignment::assign;
use super::checks::Checks;
use super::field_texts;
use super::field_value::{self, FieldResult};
use super::header;
use super::object_texts::ObjectTextReader;
use super::outputs::{Output, Outputs};
use super::partial_value::{self, Pace};
use super::plan::ChatPlan;
use super::problem::{OutputProblem, ParseError};
use super::sections::{AnswerText, Scanner};
use crate::coerce::{Leniencies, TEXT_LIMIT};
use crate::types::{Type, TypeIR};
use crate::value::Payload;

/// A change in a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerEvent {
    /// More text of an output. All texts of an output together are the text of its section (for
    /// type `str`: its value). If the answer begins as one object, they are the texts of its
    /// members; this holds unless more than the end of the object follows.
    Text {
        /// The output.
        field: Arc<str>,
        /// The new text.
        text: String,
    },
    /// The finished elements and members of an output's value.
    Value {
        /// The output.
        field: Arc<str>,
        /// The finished part.
        value: Payload,
    },
    /// The final value of an output.
    Complete {
        /// The output.
        field: Arc<str>,
        /// Its value.
        value: Payload,
    },
    /// The text of an output is complete and does not fit its type.
    Invalid(OutputProblem),
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
/// let mut answer = plan.stream();
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
    /// The types of partial values.
    unfinished: Arc<[Option<Type>]>,
    allowed: Leniencies,
    text: String,
    scanner: Scanner,
    progress: Vec<OutputProgress>,
    /// Reads the texts of an object that the answer begins with.
    members: ObjectTextReader,
    /// How many of the complete outputs were reported.
    reported: usize,
    /// The answer exceeds the limit and is not read.
    too_long: bool,
}

/// What was reported of one output.
#[derive(Debug, Default)]
struct OutputProgress {
    /// Bytes of its text that were reported.
    sent: usize,
    result: Option<FieldResult>,
    partial: Option<Payload>,
    pace: Pace,
}

impl ChatPlan {
    /// A streamed answer.
    #[must_use]
    pub fn stream(&self) -> PartialAnswer {
        let (outputs, allowed) = (self.outputs.clone(), Leniencies::ALL);
        PartialAnswer {
            scanner: Scanner::new(&outputs, allowed),
            progress: outputs.iter().map(|_| OutputProgress::default()).collect(),
            outputs,
            members: ObjectTextReader::default(),
            checks: self.checks.clone(),
            unfinished: self.unfinished.clone(),
            allowed,
            text: String::new(),
            reported: 0,
            too_long: false,
        }
    }
}

impl PartialAnswer {
    /// Adds the next chunk; returns what is new.
    pub fn push(&mut self, chunk: &str) -> Vec<AnswerEvent> {
        self.too_long |= self.text.len() + chunk.len() > TEXT_LIMIT;
        if self.too_long {
            return Vec::new();
        }
        self.text.push_str(chunk);
        self.read(false);
        let mut events = Vec::new();
        self.push_member_texts(&mut events);
        self.push_complete(&mut events);
        self.push_open(&mut events);
        events
    }

    /// The answer so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The final value of an output. `None` if it may still change.
    #[must_use]
    pub fn complete(&self, field: &str) -> Option<&Payload> {
        self.progress(field)?.result.as_ref()?.value.as_ref().ok()
    }

    /// The best value of an output so far: the final one, else the text so far, else the finished
    /// elements and members.
    #[must_use]
    pub fn value(&self, field: &str) -> Option<Payload> {
        let progress = self.progress(field)?;
        if let Some(result) = &progress.result {
            return result.value.clone().ok();
        }
        let (open, range) = self.scanner.open()?;
        let output = self.outputs.get(open).filter(|output| *output.name == *field)?;
        if output.ty.ir == TypeIR::Str {
            return self.text.get(range.start..range.start + progress.sent).map(Payload::from);
        }
        progress.partial.clone()
    }

    /// Ends the answer: returns the events that are left, such as texts that were withheld, and the
    /// result of [`ChatPlan::parse`] for the whole answer.
    pub fn end(mut self) -> (Vec<AnswerEvent>, Result<ParsedOutput, ParseError>) {
        if self.too_long {
            return (Vec::new(), Err(answer::too_long()));
        }
        self.read(true);
        let mut events = Vec::new();
        self.push_complete(&mut events);
        let Self { outputs, checks, allowed, text, scanner, mut progress, members, .. } = self;
        let source = AnswerText { text: &text, outputs: &outputs, allowed, ended: true };
        let texts = assign(&scanner, &source);
        for (index, output) in outputs.iter().enumerate() {
            if let Some(Some(part)) = texts.parts.get(index)
                && let Some(progress) = progress.get_mut(index)
                && !scanner.is_complete(index)
                && !members.has_text()
            {
                let range = field_value::text_range(&source, part);
                events.extend(progress.new_text(output, &text, range));
            }
        }
        let known = progress.into_iter().map(|progress| progress.result).collect();
        (events, answer::conclude(&scanner, &source, &checks, texts, known))
    }

    /// Ends the answer; returns the result of [`ChatPlan::parse`].
    ///
    /// # Errors
    /// Like [`ChatPlan::parse`].
    pub fn finish(self) -> Result<ParsedOutput, ParseError> {
        self.end().1
    }

    fn read(&mut self, ended: bool) {
        let (text, outputs) = (&self.text, &*self.outputs);
        self.scanner.advance(&AnswerText { text, outputs, allowed: self.allowed, ended });
    }

    fn progress(&self, field: &str) -> Option<&OutputProgress> {
        let index = self.outputs.iter().position(|output| *output.name == *field)?;
        self.progress.get(index)
    }

    /// Reports the texts in an object while there is no section. Sections after the object are
    /// another answer; only the final result reports it.
    fn push_member_texts(&mut self, events: &mut Vec<AnswerEvent>) {
        let Some(start) = self.scanner.lead_start() else { return };
        for (index, text) in self.members.read(&self.text, start, &self.outputs) {
            let field = self.outputs.get(index).map(|output| output.name.clone());
            events.extend(field.map(|field| AnswerEvent::Text { field, text }));
        }
    }

    /// Reports the outputs that have become complete.
    fn push_complete(&mut self, events: &mut Vec<AnswerEvent>) {
        let (text, outputs) = (&*self.text, &*self.outputs);
        let source = AnswerText { text, outputs, allowed: self.allowed, ended: false };
        for index in self.scanner.completed().iter().skip(self.reported) {
            self.reported += 1;
            let (Some(output), Some(progress)) =
                (outputs.get(*index), self.progress.get_mut(*index))
            else {
                continue;
            };
            let part = field_texts::section_text(&self.scanner, &source, *index);
            let result = field_value::read(&source, output, part.as_ref());
            let range = part.map_or(0..0, |part| part.body);
            if !self.members.has_text() {
                events.extend(progress.new_text(output, text, range));
            }
            events.push(match result.value.clone() {
                Ok(value) => AnswerEvent::Complete { field: output.name.clone(), value },
                Err(problem) => AnswerEvent::Invalid(problem),
            });
            progress.result = Some(result);
        }
    }

    /// Reports the output whose text is arriving.
    fn push_open(&mut self, events: &mut Vec<AnswerEvent>) {
        let Some((index, range)) = self.scanner.open().filter(|_| !self.members.has_text()) else {
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
        events.extend(progress.new_text(output, &self.text, range.clone()));
        if let Some(Some(ty)) = self.unfinished.get(index) {
            events.extend(progress.new_value(output, ty, &self.text, range));
        }
    }
}

impl OutputProgress {
    /// The text of an output that is not reported yet.
    fn new_text(
        &mut self,
        output: &Output,
        text: &str,
        range: Range<usize>,
    ) -> Option<AnswerEvent> {
        let new = text.get(range.start + self.sent..range.end).filter(|new| !new.is_empty())?;
        self.sent += new.len();
        Some(AnswerEvent::Text { field: output.name.clone(), text: new.to_owned() })
    }

    /// The partial value of an output, parsed again each time its text has grown by a fraction of
    /// itself.
    fn new_value(
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

/// The part of a text before a header that may be cut off at its end.
fn before_broken_header(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(inside) = text.get(range.clone()) else { return range };
    let end = header::broken(inside).unwrap_or(inside.len());
    let text = inside.get(..end).unwrap_or_default().trim_end();
    range.start..range.start + text.len()
}

/// Whether a text may still turn out to be the placeholder of the layout.
fn may_be_placeholder(text: &str, output: &Output) -> bool {
    let Some(inside) = text.strip_prefix('{') else { return text.is_empty() };
    let name = inside.strip_suffix('}').unwrap_or(inside);
    output.lm_name.starts_with(name) && (inside.len() == name.len() || *name == *output.lm_name)
}
