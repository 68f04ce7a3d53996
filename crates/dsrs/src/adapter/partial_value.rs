//! The finished elements and members of a value whose text is still arriving. Knows one text and
//! one type.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use crate::coerce::{self, Leniencies, LeniencyKind, ParseReport};
use crate::types::{Class, Type, TypeDef, TypeDefs, TypeIR};
use crate::value::Payload;

/// How deep partial values may nest.
const DEPTH_LIMIT: usize = 120;

/// The length of a text at its first parse.
const FIRST: usize = 16;

/// Stands for a missing member, recognized by address.
static LEFT_OUT: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from([0]));

/// When to parse a growing text again: each time it is a quarter longer. The total cost is linear
/// in the length, however the text is cut.
#[derive(Debug)]
pub(super) struct Pace {
    next: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Pace {
    /// How much of a text of this length to parse now.
    pub(super) fn due(&mut self, length: usize) -> Option<usize> {
        let mut due = None;
        while self.next <= length {
            due = Some(self.next);
            self.next += self.next / 4;
        }
        due
    }
}

/// The type of partial values: every member of its classes may be missing. `None` for types without
/// partial values.
pub(super) fn unfinished(ty: &Type) -> Option<Type> {
    let whole = |ir: &TypeIR| !matches!(ir, TypeIR::List(_) | TypeIR::Dict(_) | TypeIR::Class(_));
    let named = |ir: &TypeIR| {
        matches!(ir, TypeIR::Named(name) if
        matches!(ty.defs.get(name), Some(TypeDef::Class(_) | TypeDef::Alias(_))))
    };
    let plain = match &ty.ir {
        TypeIR::Union(members) => members.iter().all(|member| whole(member) && !named(member)),
        ir => whole(ir) && !named(ir),
    };
    if plain {
        return None;
    }
    let defs = ty.defs.0.iter().map(|(name, def)| (name.clone(), open_def(def))).collect();
    Some(Type::new(open(&ty.ir), Arc::new(TypeDefs(defs))))
}

fn open_def(def: &TypeDef) -> TypeDef {
    match def {
        TypeDef::Class(class) => TypeDef::Class(open_class(class)),
        TypeDef::Alias(ty) => TypeDef::Alias(open(ty)),
        TypeDef::Enum(members) => TypeDef::Enum(members.clone()),
    }
}

fn open_class(class: &Class) -> Class {
    let mut class = class.clone();
    for field in class.fields.values_mut() {
        field.ty = open(&field.ty);
        field.default = Some(Payload::Bytes(LEFT_OUT.clone()));
    }
    class
}

fn open(ty: &TypeIR) -> TypeIR {
    let all = |members: &[TypeIR]| members.iter().map(open).collect();
    match ty {
        TypeIR::List(element) => TypeIR::List(Arc::new(open(element))),
        TypeIR::Dict(member) => TypeIR::Dict(Arc::new(open(member))),
        TypeIR::Union(members) => TypeIR::Union(all(members)),
        TypeIR::Class(class) => TypeIR::Class(Arc::new(open_class(class))),
        other => other.clone(),
    }
}

/// The partial value of a text, for a type returned by [`unfinished`].
pub(super) fn of(text: &str, ty: &Type) -> Option<Payload> {
    let finished = finished(text)?;
    let mut report = ParseReport::default();
    let mut value = coerce::coerce(&finished, ty, Leniencies::ALL, &mut report).ok()?;
    if report.into_iter().any(|entry| entry.kind == LeniencyKind::Default) {
        leave_out(&mut value);
    }
    Some(value)
}

/// The final part of a text with its brackets closed: up to the last comma or closing bracket, or
/// the last line if there are no brackets.
fn finished(text: &str) -> Option<Cow<'_, str>> {
    let Some(start) = text.find(['{', '[']) else {
        return text.rfind('\n').and_then(|end| text.get(..end)).map(Cow::Borrowed);
    };
    let text = text.get(start..)?;
    let mut brackets = Brackets::default();
    let mut cut = None;
    for (at, byte) in text.bytes().enumerate() {
        match brackets.read(byte) {
            BracketEvent::Part => cut = Some((at, brackets.open.len())),
            BracketEvent::Closed => cut = Some((at + 1, brackets.open.len())),
            BracketEvent::Nothing => {}
        }
        if brackets.open.len() > DEPTH_LIMIT {
            return None;
        }
        if cut == Some((at + 1, 0)) {
            return text.get(..=at).map(Cow::Borrowed);
        }
    }
    let (end, depth) = cut?;
    let closers = brackets.open.iter().take(depth).rev().map(|byte| char::from(*byte));
    Some(Cow::Owned(text.get(..end)?.chars().chain(closers).collect()))
}

/// The open brackets of a text, without those in quotes.
#[derive(Default)]
struct Brackets {
    /// The closing byte of each.
    open: Vec<u8>,
    quote: Option<u8>,
    escaped: bool,
    /// The last byte outside of quotes that is not blank.
    before: u8,
}

/// The effect of a byte.
enum BracketEvent {
    Nothing,
    /// The end of an element or member.
    Part,
    /// The end of an object or array.
    Closed,
}

impl Brackets {
    fn read(&mut self, byte: u8) -> BracketEvent {
        if let Some(quote) = self.quote {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                _ if byte == quote => self.quote = None,
                _ => {}
            }
            return BracketEvent::Nothing;
        }
        if byte.is_ascii_whitespace() {
            return BracketEvent::Nothing;
        }
        let before = std::mem::replace(&mut self.before, byte);
        match byte {
            b'"' => self.quote = Some(byte),
            b'\'' if matches!(before, b'{' | b'[' | b',' | b':') => self.quote = Some(byte),
            b'{' => self.open.push(b'}'),
            b'[' => self.open.push(b']'),
            b',' => return BracketEvent::Part,
            b'}' | b']' if self.open.last() == Some(&byte) => {
                self.open.pop();
                return BracketEvent::Closed;
            }
            _ => {}
        }
        BracketEvent::Nothing
    }
}

/// Removes the missing members from a value.
fn leave_out(value: &mut Payload) {
    match value {
        Payload::List(elements) => Arc::make_mut(elements).iter_mut().for_each(leave_out),
        Payload::Map(members) => {
            let members = Arc::make_mut(members);
            members.retain(|_, member| !is_left_out(member));
            members.values_mut().for_each(leave_out);
        }
        _ => {}
    }
}

fn is_left_out(member: &Payload) -> bool {
    matches!(member, Payload::Bytes(bytes) if Arc::ptr_eq(bytes, &LEFT_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes are parsed in total while a text of `length` arrives in chunks of `chunk`.
    fn looked_at(length: usize, chunk: usize) -> usize {
        let mut pace = Pace::default();
        let arrivals = (1..=length).filter(|at| at % chunk == 0 || *at == length);
        arrivals.filter_map(|at| pace.due(at)).sum()
    }

    #[test]
    fn all_parses_together_cost_at_most_five_times_the_length() {
        for length in [100, 10_000, 1 << 20] {
            for chunk in [1, 7, 4096] {
                assert!(looked_at(length, chunk) <= 5 * length, "{length} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn the_last_parse_does_not_depend_on_chunks() {
        let last = |chunk: usize| {
            let mut pace = Pace::default();
            (1..=1000).filter(|at| at % chunk == 0).filter_map(|at| pace.due(at)).last()
        };
        assert_eq!(last(1), last(1000));
    }

    #[test]
    fn the_finished_part_ends_at_a_comma_or_closing_bracket() {
        let cases = [
            (r#"[1, 2, 3"#, Some("[1, 2]")),
            (r#"so: {"a": "x, ]", "b": [1, {"c": 2"#, Some(r#"{"a": "x, ]", "b": [1]}"#)),
            (r#"{"a": [1], "b"#, Some(r#"{"a": [1]}"#)),
            (r#"[1, 2] and [3"#, Some("[1, 2]")),
            ("- one\n- two\n- thr", Some("- one\n- two")),
            ("[", None),
            ("one", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(finished(text).as_deref(), wanted, "{text}");
        }
    }
}
