//! Many items as a body spells them: the elements of one member of a JSON document, beside which the
//! document's other members are small; or a line each. Never more than one of them is in memory. Knows
//! nothing of what they are.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;

use dsrs::problem::Code;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tempfile::SpooledTempFile;

use crate::app::{ItemContent, ItemSource, WrittenItem};
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::status::ProblemCode;
use crate::http::protocol::upload::{SpooledBody, UploadFormat};

/// The items in a body.
pub(crate) struct BodyItems {
    file: SpooledTempFile,
    form: UploadFormat,
    /// The member that holds the items.
    member: &'static str,
    /// Longest item in bytes.
    longest: usize,
}

type Take<'t> = dyn FnMut(WrittenItem<'_>) -> ControlFlow<()> + 't;

impl BodyItems {
    pub(crate) fn of(body: SpooledBody, member: &'static str, longest: usize) -> Self {
        Self { file: body.file, form: body.form, member, longest }
    }

    /// The document without its items: JSON text in which an empty array stands for them, and a
    /// value of the same kind for anything else that stands in their place. What is not JSON is
    /// refused here, all of the body considered.
    pub(crate) fn options(&mut self) -> Result<String, ApiProblem> {
        let (gauge, longest, member) = (Gauge::new(self.longest), self.longest, self.member);
        let metered = Metered { reader: BufReader::new(&mut self.file), gauge: &gauge };
        let mut reader = serde_json::Deserializer::from_reader(metered);
        let found = Outline { gauge: &gauge, member, longest }.deserialize(&mut reader);
        let read = found.and_then(|options| reader.end().map(|()| options));
        let options = read.map_err(|error| refusal(&error, &gauge, member, longest))?;
        self.file.rewind().map_err(|error| unreadable(&error))?;
        Ok(options)
    }

    fn each_element(self, take: &mut Take<'_>) -> Result<(), String> {
        let gauge = Gauge::new(usize::MAX);
        let metered = Metered { reader: BufReader::new(self.file), gauge: &gauge };
        let mut reader = serde_json::Deserializer::from_reader(metered);
        let elements = Elements { gauge: &gauge, longest: self.longest, take };
        match (ItemsDocument { member: self.member, elements }).deserialize(&mut reader) {
            Err(error) if gauge.broken.get() => Err(error.to_string()),
            // Whoever takes has enough, which ends the reading with an error, too.
            _ => Ok(()),
        }
    }

    fn each_line(self, take: &mut Take<'_>) -> Result<(), String> {
        let (mut reader, longest) = (BufReader::new(self.file), self.longest);
        let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(2);
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            number += 1;
            let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
            if read.map_err(|error| error.to_string())? == 0 {
                return Ok(());
            }
            let text = line.trim_ascii();
            let flow = match text.len() {
                0 => ControlFlow::Continue(()),
                length if length > longest => take(too_long(longest, Some(number))),
                _ => take(WrittenItem { content: ItemContent::Text(text), line: Some(number) }),
            };
            if flow.is_break() {
                return Ok(());
            }
            if !line.ends_with(b"\n") {
                reader.skip_until(b'\n').map_err(|error| error.to_string())?;
            }
        }
    }
}

impl ItemSource for BodyItems {
    fn each(self, take: &mut Take<'_>) -> Result<(), String> {
        match self.form {
            UploadFormat::Json => self.each_element(take),
            UploadFormat::Lines | UploadFormat::Table => self.each_line(take),
        }
    }
}

/// An item that is too long to be read.
pub(crate) fn too_long(longest: usize, line: Option<u64>) -> WrittenItem<'static> {
    let detail = format!("an item is over the limit of {longest} bytes (`limits.body_bytes`)");
    WrittenItem { content: ItemContent::Unreadable(Code::TooLarge, detail), line }
}

fn refusal(error: &serde_json::Error, gauge: &Gauge, member: &str, longest: usize) -> ApiProblem {
    if gauge.broken.get() {
        return unreadable(error);
    }
    if gauge.is_used_up() {
        let detail = format!(
            "what stands beside `{member}` is over the limit of {longest} bytes (`limits.body_bytes`)"
        );
        return ApiProblem::new(ProblemCode::TooLarge, detail);
    }
    ApiProblem::new(ProblemCode::InvalidJson, format!("invalid JSON: {error}"))
}

/// What was kept of a body cannot be read.
pub(crate) fn unreadable(error: &dyn fmt::Display) -> ApiProblem {
    tracing::error!(%error, "a body that was kept cannot be read");
    ApiProblem::new(ProblemCode::Internal, "something broke on our side; the log has it")
}

/// How much may still be read in one piece, and whether reading failed for another reason.
pub(crate) struct Gauge {
    left: Cell<usize>,
    pub(crate) broken: Cell<bool>,
}

impl Gauge {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: Cell::new(bytes), broken: Cell::new(false) }
    }

    pub(crate) fn allow(&self, bytes: usize) {
        self.left.set(bytes);
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.left.get() == 0
    }
}

/// Reads as much as its gauge allows, so that nothing without an end is gathered in memory.
pub(crate) struct Metered<'a, R> {
    pub(crate) reader: R,
    pub(crate) gauge: &'a Gauge,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.gauge.is_used_up() {
            return Err(io::Error::other("longer than it may be"));
        }
        let most = room.len().min(self.gauge.left.get());
        let read = self.reader.read(room.get_mut(..most).unwrap_or_default());
        let read = read.inspect_err(|_| self.gauge.broken.set(true))?;
        self.gauge.left.update(|left| left - read);
        Ok(read)
    }
}

/// The document but for its items.
struct Outline<'a> {
    gauge: &'a Gauge,
    member: &'static str,
    longest: usize,
}

impl<'de> DeserializeSeed<'de> for Outline<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(StandIn(Some(self)))
    }
}

/// A short text of the same kind for any value; of an object its members, where they are asked for.
struct StandIn<'a>(Option<Outline<'a>>);

impl<'de> DeserializeSeed<'de> for StandIn<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StandIn<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok("null".to_owned())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<String, E> {
        Ok(flag.to_string())
    }

    fn visit_i64<E>(self, _: i64) -> Result<String, E> {
        Ok("0".to_owned())
    }

    fn visit_u64<E>(self, _: u64) -> Result<String, E> {
        Ok("0".to_owned())
    }

    fn visit_f64<E>(self, _: f64) -> Result<String, E> {
        Ok("0.0".to_owned())
    }

    fn visit_str<E>(self, _: &str) -> Result<String, E> {
        Ok("\"\"".to_owned())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<String, A::Error> {
        while access.next_element::<IgnoredAny>()?.is_some() {}
        Ok("[]".to_owned())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<String, A::Error> {
        let Some(Outline { gauge, member, longest }) = self.0 else {
            while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok("{}".to_owned());
        };
        let mut members = Vec::new();
        loop {
            gauge.allow(longest);
            let Some(name) = access.next_key::<String>()? else { break };
            let value = if name == member {
                gauge.allow(usize::MAX);
                access.next_value_seed(StandIn(None))?
            } else {
                access.next_value::<Box<RawValue>>()?.get().to_owned()
            };
            let name = serde_json::to_string(&name).map_err(A::Error::custom)?;
            members.push(format!("{name}:{value}"));
        }
        gauge.allow(usize::MAX);
        Ok(format!("{{{}}}", members.join(",")))
    }
}

/// A document of which only the items are looked at.
struct ItemsDocument<'a, 't> {
    member: &'static str,
    elements: Elements<'a, 't>,
}

impl<'de> DeserializeSeed<'de> for ItemsDocument<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ItemsDocument<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while let Some(name) = access.next_key::<String>()? {
            if name == self.member {
                return access.next_value_seed(self.elements);
            }
            access.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// The items, handed over one by one.
struct Elements<'a, 't> {
    gauge: &'a Gauge,
    longest: usize,
    take: &'a mut Take<'t>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        loop {
            // A comma or the closing bracket is read with an element.
            self.gauge.allow(self.longest.saturating_add(1));
            let flow = match access.next_element::<Box<RawValue>>() {
                Ok(None) => return Ok(()),
                Ok(Some(item)) => {
                    let content = ItemContent::Text(item.get().as_bytes());
                    (self.take)(WrittenItem { content, line: None })
                }
                Err(error) if self.gauge.broken.get() => return Err(error),
                Err(_) if self.gauge.is_used_up() => {
                    let _ = (self.take)(too_long(self.longest, None));
                    ControlFlow::Break(())
                }
                // All of it was JSON before: what is left is text that is not UTF-8.
                Err(error) => {
                    let detail = format!("not JSON: {error}");
                    let content = ItemContent::Unreadable(Code::InvalidValue, detail);
                    let _ = (self.take)(WrittenItem { content, line: None });
                    ControlFlow::Break(())
                }
            };
            if flow.is_break() {
                // An error is how reading ends before its end.
                return Err(A::Error::custom("enough"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn body(form: UploadFormat, text: &str) -> BodyItems {
        let mut file = tempfile::spooled_tempfile(1 << 20);
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        BodyItems::of(SpooledBody { form, file }, "items", 24)
    }

    fn items(form: UploadFormat, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let read = body(form, text).each(&mut |item| {
            found.push(match item.content {
                ItemContent::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                ItemContent::Value(value) => value.to_json(),
                ItemContent::Unreadable(code, _) => code.to_string(),
            });
            if found.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        read.unwrap();
        found
    }

    #[test]
    fn items_come_one_by_one_wherever_they_stand_until_enough_is_enough() {
        let text = r#" {"once": [1], "items": [ {"a": [1, "]"]}, 2 ,null, 4], "version": 3} "#;
        assert_eq!(items(UploadFormat::Json, text), [r#"{"a": [1, "]"]}"#, "2", "null"]);
        let long = r#"{"items": [1, "a text of more than 24 bytes", 3]}"#;
        assert_eq!(items(UploadFormat::Json, long), ["1", "too_large"]);
        assert_eq!(
            items(UploadFormat::Json, "{}").len()
                + items(UploadFormat::Json, r#"{"items":[]}"#).len(),
            0
        );
    }

    #[test]
    fn lines_are_items_and_blank_ones_are_none() {
        let text = "{\"a\": 1}\r\n\n  \n\"a text of more than 24 bytes\"\n{\"b\": 2}";
        assert_eq!(items(UploadFormat::Lines, text), [r#"{"a": 1}"#, "too_large", r#"{"b": 2}"#]);
        let endless = format!("{}\n{{}}", "x".repeat(1000));
        assert_eq!(items(UploadFormat::Lines, &endless), ["too_large", "{}"]);
    }

    #[test]
    fn the_rest_of_a_document_is_read_apart_with_something_of_a_kind_for_its_items() {
        let options = |text: &str| body(UploadFormat::Json, text).options();
        for (text, rest) in [
            (r#"{"items": [{"a": 1}, {}], "version": 3}"#, r#"{"items":[],"version":3}"#),
            (r#"{"v": 1, "items": {"a": 1}, "v": [2]}"#, r#"{"v":1,"items":{},"v":[2]}"#),
            (r#"{"items": "a text of more than 24 bytes"}"#, r#"{"items":""}"#),
            ("[1, 2, 3]", "[]"),
            ("12.5", "0.0"),
        ] {
            assert_eq!(options(text).unwrap(), rest, "{text}");
        }
        for (text, code) in [
            (r#"{"items": [1, 2"#, ProblemCode::InvalidJson),
            (r#"{"items": [1]} x"#, ProblemCode::InvalidJson),
            (r#"{"name": "a text of more than 24 bytes"}"#, ProblemCode::TooLarge),
        ] {
            assert_eq!(options(text).unwrap_err().code(), code, "{text}");
        }
    }
}
