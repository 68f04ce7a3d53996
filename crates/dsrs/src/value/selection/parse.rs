//! Parses the text of a selection. Knows the grammar, but no types.

use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::Arc;

use super::{SelectionStep, SelectionSyntaxError};
use crate::value::is_identifier;

pub(super) fn parse(text: &str) -> Result<Vec<SelectionStep>, SelectionSyntaxError> {
    let mut reader = SelectionReader { text, rest: text.char_indices().peekable() };
    let mut steps = Vec::new();
    if !text.starts_with('[') {
        steps.push(reader.name()?);
    }
    while let Some((at, character)) = reader.rest.next() {
        steps.push(match character {
            '.' => reader.name()?,
            '[' => reader.bracket()?,
            other => {
                return reader.fail(at, format!("expected `.`, `[` or the end, found `{other}`"));
            }
        });
    }
    Ok(steps)
}

struct SelectionReader<'t> {
    text: &'t str,
    rest: Peekable<CharIndices<'t>>,
}

impl SelectionReader<'_> {
    fn at(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn fail<T>(&self, at: usize, reason: impl Into<String>) -> Result<T, SelectionSyntaxError> {
        let column = self.text[..at].chars().count() + 1;
        Err(SelectionSyntaxError { column, reason: reason.into() })
    }

    fn name(&mut self) -> Result<SelectionStep, SelectionSyntaxError> {
        let start = self.at();
        while self.rest.next_if(|(_, c)| !matches!(c, '.' | '[')).is_some() {}
        let end = self.at();
        let name = &self.text[start..end];
        if name.is_empty() {
            return self.fail(start, "expected a name");
        }
        if !is_identifier(name) {
            let reason = format!("`{name}` is not a name: use at most 63 letters, digits and `_`");
            return self.fail(start, reason);
        }
        Ok(SelectionStep::Field(Arc::from(name)))
    }

    fn bracket(&mut self) -> Result<SelectionStep, SelectionSyntaxError> {
        let start = self.at();
        let step = if self.rest.next_if(|(_, c)| *c == '\'').is_some() {
            SelectionStep::Key(self.key(start)?)
        } else {
            SelectionStep::Index(self.index(start)?)
        };
        let end = self.at();
        match self.rest.next() {
            Some((_, ']')) => Ok(step),
            _ => self.fail(end, "expected `]`"),
        }
    }

    fn index(&mut self, start: usize) -> Result<usize, SelectionSyntaxError> {
        while self.rest.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
        let end = self.at();
        let digits = &self.text[start..end];
        if digits.is_empty() {
            return self
                .fail(start, "expected an index of zero or more, or a key in single quotes");
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return self.fail(start, "an index has no leading zeros");
        }
        match digits.parse() {
            Ok(index) => Ok(index),
            Err(_) => self.fail(start, "the index is too large"),
        }
    }

    fn key(&mut self, start: usize) -> Result<Arc<str>, SelectionSyntaxError> {
        let mut key = String::new();
        loop {
            match self.rest.next() {
                Some((_, '\'')) => return Ok(key.into()),
                Some((at, '\\')) => key.push(self.escaped(at)?),
                Some((_, character)) => key.push(character),
                None => return self.fail(start, "the key has no closing quote"),
            }
        }
    }

    fn escaped(&mut self, at: usize) -> Result<char, SelectionSyntaxError> {
        match self.rest.next() {
            Some((_, character @ ('\\' | '\''))) => Ok(character),
            Some((_, 'u')) if self.rest.next_if(|(_, c)| *c == '{').is_some() => {
                let start = self.at();
                while self.rest.next_if(|(_, c)| c.is_ascii_hexdigit()).is_some() {}
                let end = self.at();
                let code = u32::from_str_radix(&self.text[start..end], 16).ok();
                match (code.and_then(char::from_u32), self.rest.next()) {
                    (Some(character), Some((_, '}'))) => Ok(character),
                    _ => self.fail(at, "expected `\\u{HEX}` with the code of a character"),
                }
            }
            _ => self.fail(at, "expected `\\\\`, `\\'` or `\\u{HEX}`"),
        }
    }
}
