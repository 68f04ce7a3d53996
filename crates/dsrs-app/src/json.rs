//! Writes JSON objects member by member, in order, from values and JSON texts, which are copied
//! unchanged. For documents that are stored and for events. Knows no resource.

use std::fmt::{Display, Write as _};

use dsrs::value::Payload;

/// A JSON object that is being written.
#[derive(Debug, Default)]
pub struct JsonObject {
    text: String,
}

impl JsonObject {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(256)
    }

    /// An object without members, with capacity for `bytes`.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        Self { text }
    }

    /// A member whose value is JSON text.
    pub fn raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.name(name);
        self.text.push_str(json);
        self
    }

    /// A member whose value is JSON text, or null.
    pub fn raw_or_null(&mut self, name: &str, json: Option<&str>) -> &mut Self {
        self.raw(name, json.unwrap_or("null"))
    }

    /// A member whose value is an object, written in place.
    pub fn object(&mut self, name: &str, write: impl FnOnce(&mut Self)) -> &mut Self {
        self.name(name);
        self.text.push('{');
        write(self);
        self.text.push('}');
        self
    }

    /// A member whose value is data.
    pub fn payload(&mut self, name: &str, value: &Payload) -> &mut Self {
        match value {
            Payload::Str(text) => self.text(name, text),
            Payload::Map(members) => self.object(name, |object| {
                for (name, member) in members.iter() {
                    object.payload(name, member);
                }
            }),
            other => self.raw(name, &other.to_json()),
        }
    }

    /// A text member.
    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.name(name);
        push_string(&mut self.text, value);
        self
    }

    /// A text member, or null.
    pub fn text_or_null(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// A number, boolean or another value whose `Display` is JSON.
    pub fn shown(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "{value}");
        self
    }

    /// The same, or null.
    pub fn shown_or_null(&mut self, name: &str, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.shown(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// A text member without characters to escape: an id, a date.
    pub fn shown_text(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.name(name);
        let _ = write!(self.text, "\"{value}\"");
        self
    }

    /// An array of JSON texts.
    pub fn list(&mut self, name: &str, items: impl IntoIterator<Item = String>) -> &mut Self {
        self.name(name);
        self.text.push('[');
        for (position, item) in items.into_iter().enumerate() {
            if position > 0 {
                self.text.push(',');
            }
            self.text.push_str(&item);
        }
        self.text.push(']');
        self
    }

    /// All members of an object that is JSON text.
    pub fn splice(&mut self, object: &str) -> &mut Self {
        let members = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(members) = members.filter(|members| !members.is_empty()) {
            self.comma();
            self.text.push_str(members);
        }
        self
    }

    /// The text of the object.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn name(&mut self, name: &str) {
        self.comma();
        push_string(&mut self.text, name);
        self.text.push(':');
    }

    fn comma(&mut self) {
        // No value ends like this, so that nothing precedes.
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
    }
}

fn push_string(text: &mut String, value: &str) {
    // Checks all bytes instead of stopping at the first hit, which vectorizes.
    let needs_escape = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    if !value.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        // A string always has a JSON form.
        text.push_str(&serde_json::to_string(value).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_objects_are_written_in_place() {
        let data = r#"{"a":{},"b":{"x":1.0,"y":["{",null]},"c":"{"}"#;
        let data = Payload::from_json(data).unwrap();
        let mut object = JsonObject::new();
        object.payload("data", &data).object("empty", |_| {}).payload("n", &Payload::Int(1));
        object.object("o", |inner| {
            inner.text("t", "{").shown("n", 2);
        });
        assert_eq!(
            object.finish(),
            format!(r#"{{"data":{},"empty":{{}},"n":1,"o":{{"t":"{{","n":2}}}}"#, data.to_json())
        );
    }

    #[test]
    fn members_are_in_order_and_texts_are_escaped() {
        let mut object = JsonObject::new();
        object.text("b", "line\n\u{0}").raw("a", "[1]").splice(r#"{"z":1.0,"y":null}"#);
        object.splice("{}").shown("n", 3).text_or_null("t", None);
        assert_eq!(
            object.finish(),
            r#"{"b":"line\n\u0000","a":[1],"z":1.0,"y":null,"n":3,"t":null}"#
        );
    }
}
