//! Streams the texts in an object at the beginning of an answer: `{"answer": "Par`. Reads valid
//! JSON and stops at anything else. Does not know sections.

use super::outputs::{HeaderTarget, Outputs};
use crate::types::TypeIR;

/// The longest key, and the longest opening line of a fence. An incomplete one is scanned again
/// with every chunk, so it must be short.
const LONGEST_KEY: usize = 256;

/// A partially read object.
#[derive(Debug, Default)]
pub(super) struct ObjectTextReader {
    /// Everything before this position is read.
    at: usize,
    state: ObjectState,
    /// The outputs whose members have started.
    begun: Vec<usize>,
    has_text: bool,
}

/// What is expected next.
#[derive(Clone, Copy, Debug, Default)]
enum ObjectState {
    /// The object, inside a fence or not.
    #[default]
    Before,
    /// A key, or the end.
    Key,
    /// The colon after a key, then the value. The index is that of a text output.
    Value(Option<usize>),
    /// The rest of a string. The index is that of a text output.
    Text(Option<usize>),
    /// The rest of another value, with its bracket depth and quote state.
    Other(usize, QuoteState),
    /// A comma, or the end.
    Comma,
    /// Nothing: the rest is not read.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    Closed,
    Open,
    /// After a backslash.
    Escaped,
}

/// A transition: length read, decoded character, next state.
struct ObjectStep(usize, Option<char>, ObjectState);

impl ObjectTextReader {
    /// Continues reading from the start of the answer; returns the new text of each output.
    pub(super) fn read(
        &mut self,
        text: &str,
        from: usize,
        outputs: &Outputs,
    ) -> Vec<(usize, String)> {
        let mut texts: Vec<(usize, String)> = Vec::new();
        if matches!(self.state, ObjectState::Before) {
            self.at = self.at.max(from);
        }
        while let Some(rest) =
            text.get(self.at..).filter(|_| !matches!(self.state, ObjectState::Over))
        {
            let plain = self.plain(rest, &mut texts);
            let Some(rest) = rest.get(plain..).filter(|rest| !rest.is_empty()) else { break };
            let Some(ObjectStep(length, letter, next)) = self.step(rest, outputs) else { break };
            if let (ObjectState::Text(Some(index)), Some(letter)) = (self.state, letter) {
                append(&mut texts, index, letter.encode_utf8(&mut [0; 4]));
            }
            self.at += length;
            self.state = next;
        }
        self.has_text |= !texts.is_empty();
        texts
    }

    /// Whether any text was returned.
    pub(super) const fn has_text(&self) -> bool {
        self.has_text
    }

    /// Reads text without escapes, or blanks between tokens.
    fn plain(&mut self, rest: &str, texts: &mut Vec<(usize, String)>) -> usize {
        let length = match self.state {
            ObjectState::Text(_) => rest.find(['"', '\\']).unwrap_or(rest.len()),
            ObjectState::Other(..) => 0,
            _ => rest.len() - rest.trim_start().len(),
        };
        if let (ObjectState::Text(Some(index)), Some(piece)) = (self.state, rest.get(..length)) {
            append(texts, index, piece);
        }
        self.at += length;
        length
    }

    /// The transition for a text that is not empty. `None` if more text is needed.
    fn step(&mut self, rest: &str, outputs: &Outputs) -> Option<ObjectStep> {
        let first = rest.bytes().next()?;
        Some(match (self.state, first) {
            (ObjectState::Before, b'{') => ObjectStep(1, None, ObjectState::Key),
            (ObjectState::Before, b'`') => fence(rest)?,
            (ObjectState::Key, b'"') => self.key(rest, outputs)?,
            (ObjectState::Value(field), b':') => ObjectStep(1, None, ObjectState::Value(field)),
            (ObjectState::Value(field), b'"') => ObjectStep(1, None, ObjectState::Text(field)),
            (ObjectState::Value(_), _) => {
                ObjectStep(0, None, ObjectState::Other(0, QuoteState::Closed))
            }
            (ObjectState::Text(_), b'"') => ObjectStep(1, None, ObjectState::Comma),
            (ObjectState::Text(_), _) => escape(rest, self.state)?,
            (ObjectState::Other(depth, quote), _) => other(rest, depth, quote),
            (ObjectState::Comma, b',') => ObjectStep(1, None, ObjectState::Key),
            _ => ObjectStep(0, None, ObjectState::Over),
        })
    }

    fn key(&mut self, rest: &str, outputs: &Outputs) -> Option<ObjectStep> {
        let inside = rest.get(1..)?;
        let Some(end) = inside.find('"') else {
            return (inside.len() > LONGEST_KEY).then_some(ObjectStep(0, None, ObjectState::Over));
        };
        let named = outputs.resolve(inside.get(..end)?);
        let is_text = |index: &usize| {
            outputs.get(*index).is_some_and(|output| output.ty.ir == TypeIR::Str && !output.strict)
        };
        let field = match named {
            HeaderTarget::Output(index, _) => Some(index).filter(is_text),
            _ => None,
        };
        if field.is_some_and(|index| self.begun.contains(&index)) {
            return Some(ObjectStep(0, None, ObjectState::Over));
        }
        self.begun.extend(field);
        Some(ObjectStep(end + 2, None, ObjectState::Value(field)))
    }
}

fn append(texts: &mut Vec<(usize, String)>, index: usize, piece: &str) {
    match texts.last_mut() {
        Some((last, text)) if *last == index => text.push_str(piece),
        _ if piece.is_empty() => {}
        _ => texts.push((index, piece.to_owned())),
    }
}

/// The opening line of a fence.
fn fence(rest: &str) -> Option<ObjectStep> {
    let Some(end) = rest.find('\n') else {
        return (rest.len() > LONGEST_KEY).then_some(ObjectStep(0, None, ObjectState::Over));
    };
    let is_fence = rest.starts_with("```");
    Some(if is_fence {
        ObjectStep(end, None, ObjectState::Before)
    } else {
        ObjectStep(0, None, ObjectState::Over)
    })
}

/// Decodes an escape.
fn escape(rest: &str, state: ObjectState) -> Option<ObjectStep> {
    let letter = match rest.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(rest, state),
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        _ => return Some(ObjectStep(0, None, ObjectState::Over)),
    };
    Some(ObjectStep(2, Some(letter), state))
}

/// `\u00e9`, or a surrogate pair.
fn unicode(rest: &str, state: ObjectState) -> Option<ObjectStep> {
    let unit = |at: usize| u16::from_str_radix(rest.get(at + 2..at + 6)?, 16).ok();
    let first = match (rest.len(), unit(0)) {
        (0..6, _) => return None,
        (_, Some(first)) => first,
        (_, None) => return Some(ObjectStep(0, None, ObjectState::Over)),
    };
    let is_half = (0xD800..0xDC00).contains(&first);
    if is_half && rest.len() < 12 {
        return None;
    }
    let units = [Some(first), unit(6).filter(|_| is_half && rest.get(6..8) == Some("\\u"))];
    let decoded = char::decode_utf16(units.into_iter().flatten()).next();
    let length = if is_half { 12 } else { 6 };
    Some(match decoded {
        Some(Ok(letter)) => ObjectStep(length, Some(letter), state),
        _ => ObjectStep(0, None, ObjectState::Over),
    })
}

/// One character of a value that is no string.
fn other(rest: &str, depth: usize, quote: QuoteState) -> ObjectStep {
    let length = rest.chars().next().map_or(0, char::len_utf8);
    let next = match (quote, rest.as_bytes().first()) {
        (QuoteState::Escaped, _) => ObjectState::Other(depth, QuoteState::Open),
        (QuoteState::Open, Some(b'\\')) => ObjectState::Other(depth, QuoteState::Escaped),
        (QuoteState::Open, Some(b'"')) => ObjectState::Other(depth, QuoteState::Closed),
        (QuoteState::Open, _) => ObjectState::Other(depth, quote),
        (_, Some(b'"')) => ObjectState::Other(depth, QuoteState::Open),
        (_, Some(b'{' | b'[')) => ObjectState::Other(depth + 1, quote),
        (_, Some(b',' | b'}' | b']')) if depth == 0 => {
            return ObjectStep(0, None, ObjectState::Comma);
        }
        (_, Some(b'}' | b']')) => ObjectState::Other(depth - 1, quote),
        _ => ObjectState::Other(depth, quote),
    };
    ObjectStep(length, None, next)
}
