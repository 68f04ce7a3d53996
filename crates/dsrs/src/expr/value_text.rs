//! How values of the engine are written: as the JSON that payloads have, with one spelling for each number and
//! members in their order.

use std::fmt::{self, Write};

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use crate::value::Payload;

/// The longest text that a filter, a method or an operator may return, in bytes.
pub(super) const LIMIT: usize = 4 << 20;

/// Writes a value as JSON: compact, or with so many spaces for each level.
pub(super) fn write_json(
    value: &Value,
    out: &mut dyn Write,
    indent: Option<usize>,
) -> Result<(), Error> {
    JsonWriter { out, indent, depth: 0 }.value(value)
}

/// The JSON of a value.
pub(super) fn json_text(value: &Value, indent: Option<usize>) -> Result<String, Error> {
    let mut text = BoundedText::default();
    let written = write_json(value, &mut text, indent);
    text.finish(written)
}

/// A value as a template writes it: a text as it is, what is absent as nothing, everything else as JSON.
pub(super) fn text_of(value: &Value) -> Result<String, Error> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => within(text.len()).map(|()| text.to_owned()),
        (None, ValueKind::Undefined) => Ok(String::new()),
        (None, _) => json_text(value, None),
    }
}

/// Refuses a length beyond the limit.
pub(super) fn within(length: usize) -> Result<(), Error> {
    if length <= LIMIT {
        return Ok(());
    }
    let reason = format!("a filter or an operator would produce more than {LIMIT} bytes");
    Err(Error::new(ErrorKind::InvalidOperation, reason))
}

/// A text up to the limit.
#[derive(Default)]
struct BoundedText {
    text: String,
    is_full: bool,
}

impl BoundedText {
    fn finish(self, written: Result<(), Error>) -> Result<String, Error> {
        match self.is_full {
            true => within(usize::MAX).map(|()| self.text),
            false => written.map(|()| self.text),
        }
    }
}

impl Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.is_full |= self.text.len().saturating_add(more.len()) > LIMIT;
        if self.is_full {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

struct JsonWriter<'o> {
    out: &'o mut dyn Write,
    indent: Option<usize>,
    depth: usize,
}

impl JsonWriter<'_> {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => self.out.write_str("null")?,
            ValueKind::Bool => write!(self.out, "{}", value.is_true())?,
            ValueKind::Number if value.is_integer() => write!(self.out, "{value}")?,
            ValueKind::Number => {
                let number = f64::try_from(value.clone())?;
                self.out.write_str(&Payload::Float(number).to_json())?;
            }
            ValueKind::Bytes => {
                let bytes = value.as_bytes().unwrap_or_default();
                self.out.write_str(&Payload::Bytes(bytes.into()).to_json())?;
            }
            ValueKind::Seq | ValueKind::Iterable => self.list(value)?,
            ValueKind::Map => self.map(value)?,
            _ => self.text(value)?,
        }
        Ok(())
    }

    fn text(&mut self, value: &Value) -> Result<(), Error> {
        let text = match value.as_str() {
            Some(text) => serde_json::to_string(text),
            None => serde_json::to_string(&value.to_string()),
        };
        Ok(self.out.write_str(&text.unwrap_or_default())?)
    }

    fn list(&mut self, list: &Value) -> Result<(), Error> {
        self.brackets(('[', ']'), list, |writer, element| writer.value(&element))
    }

    fn map(&mut self, map: &Value) -> Result<(), Error> {
        let colon = if self.indent.is_some() { ": " } else { ":" };
        self.brackets(('{', '}'), map, |writer, name| {
            match name.kind() {
                ValueKind::String => writer.text(&name)?,
                // A key of JSON is a text.
                _ => writer.text(&Value::from(text_of(&name)?))?,
            }
            writer.out.write_str(colon)?;
            writer.value(&map.get_item(&name)?)
        })
    }

    fn brackets(
        &mut self,
        (open, close): (char, char),
        parts: &Value,
        mut write: impl FnMut(&mut Self, Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.out.write_char(open)?;
        self.depth += 1;
        let mut is_empty = true;
        for part in parts.try_iter()? {
            if !std::mem::take(&mut is_empty) {
                self.out.write_char(',')?;
            }
            self.line()?;
            write(self, part)?;
        }
        self.depth -= 1;
        if !is_empty {
            self.line()?;
        }
        Ok(self.out.write_char(close)?)
    }

    fn line(&mut self) -> fmt::Result {
        match self.indent {
            Some(indent) => write!(self.out, "\n{:1$}", "", indent * self.depth),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::to_value;

    #[test]
    fn a_value_is_written_as_its_payload() {
        for json in [
            "null",
            "true",
            "3",
            "-7",
            "1.0",
            "1e16",
            "1e-7",
            "0.1",
            "\"a \\\"b\\\" é\\n\"",
            "[]",
            "{}",
            r#"{"b":[1,2.5,null],"a":{"c":"d","":false}}"#,
            "123456789012345.6",
            "1.7976931348623157e308",
        ] {
            let payload = Payload::from_json(json).unwrap();
            assert_eq!(json_text(&to_value(&payload), None).unwrap(), payload.to_json());
        }
    }

    #[test]
    fn an_indent_puts_each_part_on_its_line() {
        let payload = Payload::from_json(r#"{"b": [1, {}], "a": []}"#).unwrap();
        let wanted = "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": []\n}";
        assert_eq!(json_text(&to_value(&payload), Some(2)).unwrap(), wanted);
    }

    #[test]
    fn a_long_text_is_refused_while_it_is_written() {
        let long = minijinja::Environment::new();
        let long = long.compile_expression("[1] * 90000000").unwrap().eval(()).unwrap();
        assert!(json_text(&long, None).unwrap_err().to_string().contains("more than"));
    }
}
