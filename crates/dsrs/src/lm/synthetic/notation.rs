//! Values for types as prompts tell them: `int`, `list of string`, `"a" | "b"`, `{name: string}`,
//! names that are defined further down. What it cannot read it takes for a text. Knows nothing of
//! how prompts are made but this notation.

use super::chance::Dice;
use crate::value::Payload;

/// Within how many lists, maps and classes lists still have elements.
const DEEPEST: usize = 3;
/// The elements of a list.
const ELEMENTS: usize = 3;

/// Who makes values.
pub(super) struct Maker<'a> {
    /// Definitions of named types.
    types: &'a str,
    /// The text for a field or member of a name.
    text: &'a mut dyn FnMut(&str, &mut Dice) -> String,
    /// The names of members of maps.
    keys: &'a [String],
}

impl<'a> Maker<'a> {
    pub(super) const fn of(
        types: &'a str,
        keys: &'a [String],
        text: &'a mut dyn FnMut(&str, &mut Dice) -> String,
    ) -> Self {
        Self { types, text, keys }
    }

    /// A value of the type that a text begins with.
    pub(super) fn value(&mut self, told: &str, name: &str, dice: &mut Dice) -> Payload {
        let told = without_comments(told);
        let mut reader = Reader { rest: &told };
        let ty = reader.union();
        self.make(&ty, name, 0, dice)
    }

    fn make(&mut self, ty: &Told, name: &str, depth: usize, dice: &mut Dice) -> Payload {
        match ty {
            Told::Text => Payload::Str((self.text)(name, dice).into()),
            Told::Int => Payload::Int(1 + i64::from(dice.next() as u8 % 5)),
            // Hundredths, so that scores from 0 to 1 are told apart.
            Told::Float => Payload::Float((dice.unit() * 100.0).round() / 100.0),
            Told::Bool => Payload::Bool(dice.next().is_multiple_of(2)),
            Told::Null => Payload::Null,
            Told::Bytes => Payload::str("AAAA"),
            Told::Literal(literal) => literal.clone(),
            Told::List(element) => self.list(element, name, depth, dice),
            Told::Map(value) => self.map(value, name, depth, dice),
            Told::Tuple(parts) => {
                let made = parts.iter().map(|part| self.make(part, name, depth + 1, dice));
                Payload::list(made.collect())
            }
            Told::Class(members) => {
                let made = members
                    .iter()
                    .map(|(name, ty)| (name.as_str().into(), self.make(ty, name, depth + 1, dice)));
                Payload::map(made.collect())
            }
            Told::Union(members) => self.one_of(members, name, depth, dice),
            Told::Named(found) => self.named(found, name, depth, dice),
        }
    }

    fn list(&mut self, element: &Told, name: &str, depth: usize, dice: &mut Dice) -> Payload {
        let count = if depth < DEEPEST { ELEMENTS } else { 0 };
        Payload::list((0..count).map(|_| self.make(element, name, depth + 1, dice)).collect())
    }

    fn map(&mut self, value: &Told, name: &str, depth: usize, dice: &mut Dice) -> Payload {
        let keys = if depth < DEEPEST { self.keys } else { &[] };
        let made =
            keys.iter().map(|key| (key.as_str().into(), self.make(value, name, depth + 1, dice)));
        Payload::map(made.collect())
    }

    /// Literals by chance; else the first member, or null when it gets deep.
    fn one_of(&mut self, members: &[Told], name: &str, depth: usize, dice: &mut Dice) -> Payload {
        let literals = members.iter().all(|member| matches!(member, Told::Literal(_)));
        let nullable = members.iter().any(|member| matches!(member, Told::Null));
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
                    Reader { rest: types.get(at + named.len() + 2..).unwrap_or_default() };
                let ty = reader.union();
                self.make(&ty, name, depth + 1, dice)
            }
            None => Payload::Str((self.text)(name, dice).into()),
        }
    }
}

/// A type as it was told.
enum Told {
    Text,
    Int,
    Float,
    Bool,
    Null,
    Bytes,
    Literal(Payload),
    List(Box<Told>),
    Map(Box<Told>),
    Tuple(Vec<Told>),
    Class(Vec<(String, Told)>),
    Union(Vec<Told>),
    Named(String),
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn union(&mut self) -> Told {
        self.takes("|");
        let mut members = vec![self.many()];
        while self.takes("|") {
            members.push(self.many());
        }
        if self.takes(", or null") {
            members.push(Told::Null);
        }
        match members.pop() {
            Some(only) if members.is_empty() => only,
            last => {
                members.extend(last);
                Told::Union(members)
            }
        }
    }

    /// A type with `[]` behind it for each list of lists.
    fn many(&mut self) -> Told {
        let mut ty = self.one();
        while self.takes("[]") {
            ty = Told::List(Box::new(ty));
        }
        ty
    }

    fn one(&mut self) -> Told {
        if self.takes("list of ") {
            return Told::List(Box::new(self.many()));
        }
        if self.takes("map<string,") {
            let value = self.union();
            self.takes(">");
            return Told::Map(Box::new(value));
        }
        if self.takes("(") {
            let inside = self.union();
            self.takes(")");
            return inside;
        }
        if self.takes("[") {
            return Told::Tuple(self.parts("]", Self::union));
        }
        if self.takes("{") {
            return Told::Class(self.parts("}", Self::member));
        }
        self.literal().unwrap_or_else(|| self.word())
    }

    /// Parts up to a mark, with commas or lines between them.
    fn parts<T>(&mut self, end: &str, mut part: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut parts = Vec::new();
        while !self.takes(end) && !self.rest.trim().is_empty() {
            let before = self.rest.len();
            parts.push(part(self));
            self.takes(",");
            if self.rest.len() == before {
                break;
            }
        }
        parts
    }

    fn member(&mut self) -> (String, Told) {
        let rest = self.rest.trim_start();
        let (name, behind) = rest.split_once(": ").unwrap_or((rest, ""));
        self.rest = behind;
        (name.to_owned(), self.union())
    }

    fn literal(&mut self) -> Option<Told> {
        let rest = self.rest.trim_start();
        if !rest.starts_with('"') {
            return None;
        }
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let text = texts.next()?.ok()?;
        self.rest = rest.get(texts.byte_offset()..).unwrap_or_default();
        Some(Told::Literal(Payload::str(text)))
    }

    fn word(&mut self) -> Told {
        let rest = self.rest.trim_start();
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let (word, behind) = rest.split_at(rest.find(|c| !inside(c)).unwrap_or(rest.len()));
        self.rest = behind;
        match word {
            "string" | "any" | "error" | "" => Told::Text,
            "int" => Told::Int,
            "float" => Told::Float,
            "bool" => Told::Bool,
            "null" => Told::Null,
            "base64" => Told::Bytes,
            other => match Payload::from_json(other) {
                Ok(literal) => Told::Literal(literal),
                Err(_) => Told::Named(other.to_owned()),
            },
        }
    }
}

/// A text without what stands behind `//` in its lines; texts in quotes stay whole.
fn without_comments(told: &str) -> String {
    let kept = told.lines().map(|line| {
        let mut quoted = false;
        let mut before = ' ';
        let end = line.char_indices().find(|&(at, c)| {
            quoted ^= c == '"' && before != '\\';
            before = c;
            !quoted && line.get(at..).is_some_and(|rest| rest.starts_with("//"))
        });
        line.get(..end.map_or(line.len(), |(at, _)| at)).unwrap_or_default().trim_end()
    });
    kept.collect::<Vec<_>>().join("\n")
}
