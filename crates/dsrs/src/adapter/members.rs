//! The texts in an object that an answer begins with, as they arrive: `{"answer": "Par`. Reads JSON
//! as it should be and stops at anything else; what the answer says is for others to find out.
//! Knows nothing of sections.

use super::outputs::{Named, Outputs};
use crate::types::TypeIR;

/// The longest key, and the longest line that opens a fence. What is looked at again while it is
/// not whole must be short.
const LONGEST_KEY: usize = 256;

/// An object on its way.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Everything before is read.
    at: usize,
    state: State,
    /// The outputs whose members were begun.
    begun: Vec<usize>,
    has_told: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// The object, in a fence or not.
    #[default]
    Before,
    /// A key, or the end.
    Key,
    /// The colon behind a key, and then the value, which may be the text of an output.
    Value(Option<usize>),
    /// More of a text, which may be that of an output.
    Text(Option<usize>),
    /// More of another value: how many brackets are open in it, and whether a quote is.
    Other(usize, Quote),
    /// A comma, or the end.
    Comma,
    /// Nothing that is read here.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    Closed,
    Open,
    /// Behind a backslash.
    Escaped,
}

/// One step: what was read, with what it says, and what comes then.
struct Step(usize, Option<char>, State);

impl Members {
    /// Reads on from where the answer proper begins; tells what is new of which outputs.
    pub(super) fn read(
        &mut self,
        text: &str,
        from: usize,
        outputs: &Outputs,
    ) -> Vec<(usize, String)> {
        let mut told: Vec<(usize, String)> = Vec::new();
        if matches!(self.state, State::Before) {
            self.at = self.at.max(from);
        }
        while let Some(rest) = text.get(self.at..).filter(|_| !matches!(self.state, State::Over)) {
            let plain = self.plain(rest, &mut told);
            let Some(rest) = rest.get(plain..).filter(|rest| !rest.is_empty()) else { break };
            let Some(Step(length, said, next)) = self.step(rest, outputs) else { break };
            if let (State::Text(Some(index)), Some(said)) = (self.state, said) {
                tell(&mut told, index, said.encode_utf8(&mut [0; 4]));
            }
            self.at += length;
            self.state = next;
        }
        self.has_told |= !told.is_empty();
        told
    }

    /// Whether anything was told.
    pub(super) const fn have_told(&self) -> bool {
        self.has_told
    }

    /// Reads what stands in a text as it is, or is blank between others.
    fn plain(&mut self, rest: &str, told: &mut Vec<(usize, String)>) -> usize {
        let length = match self.state {
            State::Text(_) => rest.find(['"', '\\']).unwrap_or(rest.len()),
            State::Other(..) => 0,
            _ => rest.len() - rest.trim_start().len(),
        };
        if let (State::Text(Some(index)), Some(piece)) = (self.state, rest.get(..length)) {
            tell(told, index, piece);
        }
        self.at += length;
        length
    }

    /// The next step over a text that is not empty; `None` when it takes more to tell.
    fn step(&mut self, rest: &str, outputs: &Outputs) -> Option<Step> {
        let first = rest.bytes().next()?;
        Some(match (self.state, first) {
            (State::Before, b'{') => Step(1, None, State::Key),
            (State::Before, b'`') => fence(rest)?,
            (State::Key, b'"') => self.key(rest, outputs)?,
            (State::Value(field), b':') => Step(1, None, State::Value(field)),
            (State::Value(field), b'"') => Step(1, None, State::Text(field)),
            (State::Value(_), _) => Step(0, None, State::Other(0, Quote::Closed)),
            (State::Text(_), b'"') => Step(1, None, State::Comma),
            (State::Text(_), _) => escape(rest, self.state)?,
            (State::Other(depth, quote), _) => other(rest, depth, quote),
            (State::Comma, b',') => Step(1, None, State::Key),
            _ => Step(0, None, State::Over),
        })
    }

    fn key(&mut self, rest: &str, outputs: &Outputs) -> Option<Step> {
        let inside = rest.get(1..)?;
        let Some(end) = inside.find('"') else {
            return (inside.len() > LONGEST_KEY).then_some(Step(0, None, State::Over));
        };
        let named = outputs.named(inside.get(..end)?);
        let is_text = |index: &usize| {
            outputs.get(*index).is_some_and(|output| output.ty.ir == TypeIR::Str && !output.strict)
        };
        let field = match named {
            Named::Output(index, _) => Some(index).filter(is_text),
            _ => None,
        };
        if field.is_some_and(|index| self.begun.contains(&index)) {
            return Some(Step(0, None, State::Over));
        }
        self.begun.extend(field);
        Some(Step(end + 2, None, State::Value(field)))
    }
}

fn tell(told: &mut Vec<(usize, String)>, index: usize, piece: &str) {
    match told.last_mut() {
        Some((last, text)) if *last == index => text.push_str(piece),
        _ if piece.is_empty() => {}
        _ => told.push((index, piece.to_owned())),
    }
}

/// The line that opens a fence.
fn fence(rest: &str) -> Option<Step> {
    let Some(end) = rest.find('\n') else {
        return (rest.len() > LONGEST_KEY).then_some(Step(0, None, State::Over));
    };
    let is_fence = rest.starts_with("```");
    Some(if is_fence { Step(end, None, State::Before) } else { Step(0, None, State::Over) })
}

/// What an escape in a text stands for.
fn escape(rest: &str, state: State) -> Option<Step> {
    let said = match rest.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(rest, state),
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        _ => return Some(Step(0, None, State::Over)),
    };
    Some(Step(2, Some(said), state))
}

/// `\u00e9`, or a pair of them.
fn unicode(rest: &str, state: State) -> Option<Step> {
    let unit = |at: usize| u16::from_str_radix(rest.get(at + 2..at + 6)?, 16).ok();
    let first = match (rest.len(), unit(0)) {
        (0..6, _) => return None,
        (_, Some(first)) => first,
        (_, None) => return Some(Step(0, None, State::Over)),
    };
    let is_half = (0xD800..0xDC00).contains(&first);
    if is_half && rest.len() < 12 {
        return None;
    }
    let units = [Some(first), unit(6).filter(|_| is_half && rest.get(6..8) == Some("\\u"))];
    let decoded = char::decode_utf16(units.into_iter().flatten()).next();
    let length = if is_half { 12 } else { 6 };
    Some(match decoded {
        Some(Ok(said)) => Step(length, Some(said), state),
        _ => Step(0, None, State::Over),
    })
}

/// One character of a value that is no text.
fn other(rest: &str, depth: usize, quote: Quote) -> Step {
    let length = rest.chars().next().map_or(0, char::len_utf8);
    let next = match (quote, rest.as_bytes().first()) {
        (Quote::Escaped, _) => State::Other(depth, Quote::Open),
        (Quote::Open, Some(b'\\')) => State::Other(depth, Quote::Escaped),
        (Quote::Open, Some(b'"')) => State::Other(depth, Quote::Closed),
        (Quote::Open, _) => State::Other(depth, quote),
        (_, Some(b'"')) => State::Other(depth, Quote::Open),
        (_, Some(b'{' | b'[')) => State::Other(depth + 1, quote),
        (_, Some(b',' | b'}' | b']')) if depth == 0 => return Step(0, None, State::Comma),
        (_, Some(b'}' | b']')) => State::Other(depth - 1, quote),
        _ => State::Other(depth, quote),
    };
    Step(length, None, next)
}
