//! Makes values for types in the notation of prompts: `int`, `list of string`, `"a" | "b"`,
//! `{name: string}`, names of definitions. Unknown notation counts as a string.

use dsrs::value::Payload;

use crate::random::Dice;

/// The nesting depth from which lists are empty.
const DEEPEST: usize = 3;
/// The number of elements of a list.
const ELEMENTS: usize = 3;

/// Makes values.
pub(crate) struct ValueMaker<'a> {
    /// Definitions of named types.
    types: &'a str,
    /// The text for a field or member of a name.
    text: &'a mut dyn FnMut(&str, &mut Dice) -> String,
    /// The keys of maps.
    keys: &'a [String],
}

impl<'a> ValueMaker<'a> {
    pub(crate) const fn of(
        types: &'a str,
        keys: &'a [String],
        text: &'a mut dyn FnMut(&str, &mut Dice) -> String,
    ) -> Self {
        Self { types, text, keys }
    }

    /// A value of the type at the start of a text.
    pub(crate) fn value(&mut self, notation: &str, name: &str, dice: &mut Dice) -> Payload {
        let notation = without_comments(notation);
        let mut reader = NotationReader { rest: &notation };
        let ty = reader.union();
        self.make(&ty, name, 0, dice)
    }

    fn make(&mut self, ty: &NotatedType, name: &str, depth: usize, dice: &mut Dice) -> Payload {
        match ty {
            NotatedType::Text => Payload::Str((self.text)(name, dice).into()),
            NotatedType::Int => Payload::Int(1 + i64::from(dice.next() as u8 % 5)),
            // Hundredths, so that scores from 0 to 1 differ.
            NotatedType::Float => Payload::Float((dice.unit() * 100.0).round() / 100.0),
            NotatedType::Bool => Payload::Bool(dice.next().is_multiple_of(2)),
            NotatedType::Null => Payload::Null,
            NotatedType::Bytes => Payload::str("AAAA"),
            NotatedType::Literal(literal) => literal.clone(),
            NotatedType::List(element) => self.list(element, name, depth, dice),
            NotatedType::Map(value) => self.map(value, name, depth, dice),
            NotatedType::Tuple(parts) => {
                let made = parts.iter().map(|part| self.make(part, name, depth + 1, dice));
                Payload::list(made.collect())
            }
            NotatedType::Class(members) => {
                let made = members
                    .iter()
                    .map(|(name, ty)| (name.as_str().into(), self.make(ty, name, depth + 1, dice)));
                Payload::map(made.collect())
            }
            NotatedType::Union(members) => self.one_of(members, name, depth, dice),
            NotatedType::Named(found) => self.named(found, name, depth, dice),
        }
    }

    fn list(
        &mut self,
        element: &NotatedType,
        name: &str,
        depth: usize,
        dice: &mut Dice,
    ) -> Payload {
        let count = if depth < DEEPEST { ELEMENTS } else { 0 };
        Payload::list((0..count).map(|_| self.make(element, name, depth + 1, dice)).collect())
    }

    fn map(&mut self, value: &NotatedType, name: &str, depth: usize, dice: &mut Dice) -> Payload {
        let keys = if depth < DEEPEST { self.keys } else { &[] };
        let made =
            keys.iter().map(|key| (key.as_str().into(), self.make(value, name, depth + 1, dice)));
        Payload::map(made.collect())
    }

    /// A random literal; else the first member, or null at the greatest depth.
    fn one_of(
        &mut self,
        members: &[NotatedType],
        name: &str,
        depth: usize,
        dice: &mut Dice,
    ) -> Payload {
        let literals = members.iter().all(|member| matches!(member, NotatedType::Literal(_)));
        let nullable = members.iter().any(|member| matches!(member, NotatedType::Null));
        let at = if literals { dice.next() as usize % members.len().max(1) } else { 0 };
        match members.get(at) {
            Some(_) if nullable && depth >= DEEPEST => Payload::Null,
            Some(member) => self.make(member, name, depth, dice),
            None => Payload::Null,
        }
    }

    fn named(&mut self, named: &str, name: &str, depth: usize, dice: &mut Dice) -> Payload {
        let types = without_comments(self.types);
        let defined = types.lines().any(|line| line.starts_with(&format!("{named} =")));
        let start = types.find(&format!("{named} ="));
        match start.filter(|_| defined && depth < DEEPEST * 4) {
            Some(at) => {
                let mut reader =
                    NotationReader { rest: types.get(at + named.len() + 2..).unwrap_or_default() };
                let ty = reader.union();
                self.make(&ty, name, depth + 1, dice)
            }
            None => Payload::Str((self.text)(name, dice).into()),
        }
    }
}

/// A type in the notation of prompts.
enum NotatedType {
    Text,
    Int,
    Float,
    Bool,
    Null,
    Bytes,
    Literal(Payload),
    List(Box<NotatedType>),
    Map(Box<NotatedType>),
    Tuple(Vec<NotatedType>),
    Class(Vec<(String, NotatedType)>),
    Union(Vec<NotatedType>),
    Named(String),
}

struct NotationReader<'t> {
    rest: &'t str,
}

impl NotationReader<'_> {
    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn union(&mut self) -> NotatedType {
        self.skip("|");
        let mut members = vec![self.many()];
        while self.skip("|") {
            members.push(self.many());
        }
        if self.skip(", or null") {
            members.push(NotatedType::Null);
        }
        match members.pop() {
            Some(only) if members.is_empty() => only,
            last => {
                members.extend(last);
                NotatedType::Union(members)
            }
        }
    }

    /// A type with a `[]` for each level of lists.
    fn many(&mut self) -> NotatedType {
        let mut ty = self.one();
        while self.skip("[]") {
            ty = NotatedType::List(Box::new(ty));
        }
        ty
    }

    fn one(&mut self) -> NotatedType {
        if self.skip("list of ") {
            return NotatedType::List(Box::new(self.many()));
        }
        if self.skip("map<string,") {
            let value = self.union();
            self.skip(">");
            return NotatedType::Map(Box::new(value));
        }
        if self.skip("(") {
            let inside = self.union();
            self.skip(")");
            return inside;
        }
        if self.skip("[") {
            return NotatedType::Tuple(self.parts("]", Self::union));
        }
        if self.skip("{") {
            return NotatedType::Class(self.parts("}", Self::member));
        }
        self.literal().unwrap_or_else(|| self.word())
    }

    /// Parts up to an end mark, separated by commas or lines.
    fn parts<T>(&mut self, end: &str, mut part: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut parts = Vec::new();
        while !self.skip(end) && !self.rest.trim().is_empty() {
            let before = self.rest.len();
            parts.push(part(self));
            self.skip(",");
            if self.rest.len() == before {
                break;
            }
        }
        parts
    }

    fn member(&mut self) -> (String, NotatedType) {
        let rest = self.rest.trim_start();
        let (name, behind) = rest.split_once(": ").unwrap_or((rest, ""));
        self.rest = behind;
        (name.to_owned(), self.union())
    }

    fn literal(&mut self) -> Option<NotatedType> {
        let rest = self.rest.trim_start();
        if !rest.starts_with('"') {
            return None;
        }
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let text = texts.next()?.ok()?;
        self.rest = rest.get(texts.byte_offset()..).unwrap_or_default();
        Some(NotatedType::Literal(Payload::str(text)))
    }

    fn word(&mut self) -> NotatedType {
        let rest = self.rest.trim_start();
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let (word, behind) = rest.split_at(rest.find(|c| !inside(c)).unwrap_or(rest.len()));
        self.rest = behind;
        match word {
            "string" | "any" | "error" | "" => NotatedType::Text,
            "int" => NotatedType::Int,
            "float" => NotatedType::Float,
            "bool" => NotatedType::Bool,
            "null" => NotatedType::Null,
            "base64" => NotatedType::Bytes,
            other => match Payload::from_json(other) {
                Ok(literal) => NotatedType::Literal(literal),
                Err(_) => NotatedType::Named(other.to_owned()),
            },
        }
    }
}

/// Removes `//` comments outside of quotes.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut quoted = false;
        let mut before = ' ';
        let end = line.char_indices().find(|&(at, c)| {
            quoted ^= c == '"' && before != '\\';
            before = c;
            !quoted && line.get(at..).is_some_and(|rest| rest.starts_with("//"))
        });
        line.get(..end.map_or(line.len(), |(at, _)| at)).unwrap_or_default().trim_end()
    });
    lines.collect::<Vec<_>>().join("\n")
}
