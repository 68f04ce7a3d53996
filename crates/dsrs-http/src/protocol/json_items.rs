//! The items of a body: the elements of one member of a JSON document, whose other members are small,
//! or one item per line. Only one item is in memory at a time. Knows nothing of what items mean.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;

use dsrs::problem::Code;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::protocol::json_outline::JsonOutline;
use crate::protocol::metered::{Metered, ReadLimit, unreadable};
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use crate::protocol::upload::{SpooledBody, UploadFormat};
use dsrs_app::{ItemContent, ItemSource, SpoolFile, WrittenItem};

pub struct BodyItems {
    file: SpoolFile,
    format: UploadFormat,
    /// The member that holds the items.
    member: &'static str,
    /// Longest item in bytes.
    longest: usize,
}

type Receive<'t> = dyn FnMut(WrittenItem<'_>) -> ControlFlow<()> + 't;

impl BodyItems {
    pub(crate) fn of(body: SpooledBody, member: &'static str, longest: usize) -> Self {
        Self { file: body.file, format: body.form, member, longest }
    }

    /// The document without its items, as JSON text: an empty array replaces the items, and a short
    /// value of the same kind replaces anything else in their place. Checks that the whole body is
    /// JSON.
    pub(crate) fn options(&mut self) -> Result<String, ApiProblem> {
        let (limit, longest, member) = (ReadLimit::new(self.longest), self.longest, self.member);
        let metered = Metered { reader: BufReader::new(&mut self.file), limit: &limit };
        let mut reader = serde_json::Deserializer::from_reader(metered);
        let found = JsonOutline { limit: &limit, member, longest }.deserialize(&mut reader);
        let read = found.and_then(|options| reader.end().map(|()| options));
        let options = read.map_err(|error| refusal(&error, &limit, member, longest))?;
        self.file.rewind().map_err(|error| unreadable(&error))?;
        Ok(options)
    }

    fn each_element(self, receive: &mut Receive<'_>) -> Result<(), String> {
        let limit = ReadLimit::new(usize::MAX);
        let metered = Metered { reader: BufReader::new(self.file), limit: &limit };
        let mut reader = serde_json::Deserializer::from_reader(metered);
        let elements = Elements { limit: &limit, longest: self.longest, receive };
        match (ItemsDocument { member: self.member, elements }).deserialize(&mut reader) {
            Err(error) if limit.has_failed() => Err(error.to_string()),
            // Reading also ends with an error when the receiver breaks.
            _ => Ok(()),
        }
    }

    fn each_line(self, receive: &mut Receive<'_>) -> Result<(), String> {
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
                length if length > longest => receive(too_long(longest, Some(number))),
                _ => receive(WrittenItem { content: ItemContent::Text(text), line: Some(number) }),
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
    fn each(self, receive: &mut Receive<'_>) -> Result<(), String> {
        match self.format {
            UploadFormat::Json => self.each_element(receive),
            UploadFormat::Lines | UploadFormat::Table => self.each_line(receive),
        }
    }
}

/// An item that is too long to be read.
pub(crate) fn too_long(longest: usize, line: Option<u64>) -> WrittenItem<'static> {
    let detail = format!("an item is over the limit of {longest} bytes (`limits.body_bytes`)");
    WrittenItem { content: ItemContent::Unreadable(Code::TooLarge, detail), line }
}

fn refusal(
    error: &serde_json::Error,
    limit: &ReadLimit,
    member: &str,
    longest: usize,
) -> ApiProblem {
    if limit.has_failed() {
        return unreadable(error);
    }
    if limit.is_used_up() {
        let detail = format!(
            "the body without `{member}` is over the limit of {longest} bytes (`limits.body_bytes`)"
        );
        return ApiProblem::new(ProblemCode::TooLarge, detail);
    }
    ApiProblem::new(ProblemCode::InvalidJson, format!("invalid JSON: {error}"))
}

/// A document of which only the items are read.
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

/// The items, passed on one by one.
struct Elements<'a, 't> {
    limit: &'a ReadLimit,
    longest: usize,
    receive: &'a mut Receive<'t>,
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
            self.limit.allow(self.longest.saturating_add(1));
            let flow = match access.next_element::<Box<RawValue>>() {
                Ok(None) => return Ok(()),
                Ok(Some(item)) => {
                    let content = ItemContent::Text(item.get().as_bytes());
                    (self.receive)(WrittenItem { content, line: None })
                }
                Err(error) if self.limit.has_failed() => return Err(error),
                Err(_) if self.limit.is_used_up() => {
                    let _ = (self.receive)(too_long(self.longest, None));
                    ControlFlow::Break(())
                }
                // `options` has checked that all of it is JSON; only UTF-8 is still unchecked.
                Err(error) => {
                    let detail = format!("not JSON: {error}");
                    let content = ItemContent::Unreadable(Code::InvalidValue, detail);
                    let _ = (self.receive)(WrittenItem { content, line: None });
                    ControlFlow::Break(())
                }
            };
            if flow.is_break() {
                // Only an error ends reading before the end.
                return Err(A::Error::custom("the receiver has ended"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::protocol::upload::empty_file;

    fn body(format: UploadFormat, text: &str) -> BodyItems {
        let mut file = empty_file();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        BodyItems::of(SpooledBody { form: format, file }, "items", 24)
    }

    fn items(format: UploadFormat, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let read = body(format, text).each(&mut |item| {
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
    fn items_arrive_one_by_one_until_the_receiver_ends() {
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
    fn each_line_that_is_not_blank_is_an_item() {
        let text = "{\"a\": 1}\r\n\n  \n\"a text of more than 24 bytes\"\n{\"b\": 2}";
        assert_eq!(items(UploadFormat::Lines, text), [r#"{"a": 1}"#, "too_large", r#"{"b": 2}"#]);
        let endless = format!("{}\n{{}}", "x".repeat(1000));
        assert_eq!(items(UploadFormat::Lines, &endless), ["too_large", "{}"]);
    }

    #[test]
    fn options_are_the_document_with_a_placeholder_of_the_same_kind_for_its_items() {
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
