//! The URL of an HTTP tool: a text with the names of arguments in braces. The host is fixed: arguments
//! may appear in the path and in the query only.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::value::{Fields, Payload};

/// The characters to escape in a value: all but RFC 3986's unreserved characters.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URL with slots for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlTemplate {
    /// Scheme, host and port.
    origin: Arc<str>,
    path: Vec<UrlPart>,
    /// The pairs of the query, without the signs between them.
    query: Vec<Vec<UrlPart>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum UrlPart {
    Text(Arc<str>),
    Slot(Arc<str>),
}

impl UrlTemplate {
    /// Reads `https://host/path/{argument}?key={argument}`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(odd) = text.chars().find(|c| c.is_whitespace() || c.is_control() || *c == '#') {
            return Err(format!("a URL cannot contain {odd:?}; write it percent-encoded"));
        }
        let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or("the URL begins with `https://` or `http://`")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        if authority.is_empty() {
            return Err("the URL names no host".to_owned());
        }
        if authority.contains(['{', '}']) {
            return Err("the host of a URL is fixed; arguments come after it".to_owned());
        }
        if authority.contains('@') {
            return Err(
                "a URL cannot contain a user or password; use a header with a secret".to_owned()
            );
        }
        let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
        let origin = text.strip_suffix(tail).unwrap_or(text).into();
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let url =
            Self { origin, path: parts(path)?, query: pairs.map(parts).collect::<Result<_, _>>()? };
        if dotted(path) {
            return Err("the path of a URL cannot have the parts `.` or `..`".to_owned());
        }
        Ok(url)
    }

    /// The names of the arguments in it.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Arc<str>> {
        self.path.iter().chain(self.query.iter().flatten()).filter_map(|part| match part {
            UrlPart::Slot(name) => Some(name),
            UrlPart::Text(_) => None,
        })
    }

    /// Scheme, host and port, as they are written.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The URL with its arguments, and `more` as further pairs of the query. A pair without its argument
    /// is left out.
    pub(super) fn fill<'a>(
        &self,
        args: &Fields,
        more: impl Iterator<Item = (&'a Arc<str>, &'a Payload)>,
    ) -> Result<String, String> {
        let path = self.fill_path(args)?;
        let given = |name: &str| args.get(name).filter(|value| !value.is_null());
        let mut pairs = Vec::new();
        for pair in &self.query {
            let filled: Option<String> = pair
                .iter()
                .map(|part| match part {
                    UrlPart::Text(text) => Some(text.to_string()),
                    UrlPart::Slot(name) => given(name).map(|value| escaped(&plain(value))),
                })
                .collect();
            pairs.extend(filled);
        }
        for (name, value) in more {
            let one = |value: &Payload| format!("{}={}", escaped(name), escaped(&plain(value)));
            match value {
                Payload::Null => {}
                Payload::List(values) => pairs.extend(values.iter().map(one)),
                value => pairs.push(one(value)),
            }
        }
        let sign = if pairs.is_empty() { "" } else { "?" };
        Ok(format!("{}{path}{sign}{}", self.origin, pairs.join("&")))
    }

    fn fill_path(&self, args: &Fields) -> Result<String, String> {
        let mut path = String::new();
        for part in &self.path {
            match part {
                UrlPart::Text(text) => path.push_str(text),
                UrlPart::Slot(name) => match args.get(name).map(plain).as_deref() {
                    None | Some("") => return Err(format!("`{name}` is missing or empty")),
                    Some(value) => path.push_str(&escaped(value)),
                },
            }
        }
        if dotted(&path) {
            return Err("a part of the URL's path may be neither `.` nor `..`".to_owned());
        }
        Ok(path)
    }
}

/// Whether a client would read a part of the path as `.` or `..`.
fn dotted(path: &str) -> bool {
    let plain = path.to_ascii_lowercase().replace("%2e", ".");
    plain.split(['/', '\\']).any(|part| part == "." || part == "..")
}

fn parts(text: &str) -> Result<Vec<UrlPart>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').ok_or("a `{` of the URL is not closed")?;
        if name.is_empty() || name.contains('{') {
            return Err("the braces of a URL contain the name of an argument".to_owned());
        }
        parts.extend((!before.is_empty()).then(|| UrlPart::Text(before.into())));
        parts.push(UrlPart::Slot(name.into()));
        rest = behind;
    }
    parts.extend((!rest.is_empty()).then(|| UrlPart::Text(rest.into())));
    let stray = parts.iter().any(|part| matches!(part, UrlPart::Text(text) if text.contains('}')));
    if stray { Err("a `}` of the URL was not opened".to_owned()) } else { Ok(parts) }
}

/// A value in a URL: texts as they are, lists with commas, everything else as JSON.
fn plain(value: &Payload) -> Cow<'_, str> {
    match value {
        Payload::Str(text) => Cow::Borrowed(text),
        Payload::List(values) => values.iter().map(plain).collect::<Vec<_>>().join(",").into(),
        Payload::Null => Cow::Borrowed(""),
        other => other.to_json().into(),
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, args: &str) -> Result<String, String> {
        let args = Payload::from_json(args).unwrap();
        let none = Fields::new();
        UrlTemplate::parse(template)?.fill(args.as_map().unwrap_or(&none), std::iter::empty())
    }

    #[test]
    fn arguments_are_escaped_in_path_and_query() {
        let args = r#"{"city": "Åbo/?&", "days": 3, "units": null}"#;
        assert_eq!(
            filled("https://a.example:8080/w/{city}/d{days}?n={days}&u={units}&v=1", args).unwrap(),
            "https://a.example:8080/w/%C3%85bo%2F%3F%26/d3?n=3&v=1"
        );
        assert_eq!(filled("http://a.example", "{}").unwrap(), "http://a.example");
    }

    #[test]
    fn no_argument_changes_the_path_or_host() {
        for args in [r#"{"a": ".."}"#, r#"{"a": "."}"#, r#"{"a": ""}"#, "{}"] {
            assert!(filled("https://a.example/x/{a}/y", args).is_err(), "{args}");
        }
        assert!(filled("https://a.example/x/.{a}/y", r#"{"a": "."}"#).is_err());
        assert_eq!(
            filled("https://a.example/{a}", r#"{"a": "@b.example"}"#).unwrap(),
            "https://a.example/%40b.example"
        );
    }

    #[test]
    fn invalid_urls_are_refused() {
        for odd in [
            "ftp://a.example/",
            "//a.example",
            "https://",
            "https://{a}.example/",
            "https://a@b/",
            "https://a.example/{a",
            "https://a.example/a}",
            "https://a.example/{}",
            "https://a.example/a b",
            "https://a.example/../b",
            "https://a.example/%2e%2E/b",
            "https://a.example/#a",
        ] {
            assert!(UrlTemplate::parse(odd).is_err(), "{odd}");
        }
    }
}
