//! Entity tags: strong and opaque, made of an id and a version; `If-Match` and `If-None-Match`.
//! Knows nothing of what is tagged.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::http::protocol::problem::ApiProblem;

/// A strong entity tag, with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ETag(String);

impl ETag {
    /// The tag of a version; `kind` keeps things of one id apart.
    #[must_use]
    pub(crate) fn of(kind: char, id: Uuid, version: i32) -> Self {
        Self(format!("\"{kind}{}.{version}\"", URL_SAFE_NO_PAD.encode(id.as_bytes())))
    }

    /// As a header's value.
    #[must_use]
    pub(crate) fn header(&self) -> HeaderValue {
        // Quotes, base64 and digits always fit into a header.
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

/// The condition of one header: any version, or one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TagCondition {
    Any,
    OneOf(Vec<TagValue>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TagValue {
    weak: bool,
    tag: String,
}

/// What a writer says it has seen: absent means the newest. A handler takes it as an argument.
#[derive(Clone, Debug, Default)]
pub(crate) struct IfMatch(Option<TagCondition>);

impl IfMatch {
    /// Whether the writer says what it has seen.
    #[must_use]
    pub(crate) fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the version in force is one that the writer has seen. Weak tags never match.
    #[must_use]
    pub(crate) fn allows(&self, current: &ETag) -> bool {
        match &self.0 {
            None | Some(TagCondition::Any) => true,
            Some(TagCondition::OneOf(tags)) => tags.iter().any(|t| !t.weak && t.tag == current.0),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        condition(&parts.headers, &header::IF_MATCH).map(Self)
    }
}

/// What a reader says it has. A handler takes it as an argument.
#[derive(Clone, Debug, Default)]
pub(crate) struct IfNoneMatch(Option<TagCondition>);

impl IfNoneMatch {
    /// Whether the reader has any version at all.
    #[must_use]
    pub(crate) fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the reader has this version already, so that `304` is the answer.
    #[must_use]
    pub(crate) fn has(&self, current: &ETag) -> bool {
        match &self.0 {
            None => false,
            Some(TagCondition::Any) => true,
            Some(TagCondition::OneOf(tags)) => tags.iter().any(|t| t.tag == current.0),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        condition(&parts.headers, &header::IF_NONE_MATCH).map(Self)
    }
}

fn condition(headers: &HeaderMap, name: &HeaderName) -> Result<Option<TagCondition>, ApiProblem> {
    let wrong = || ApiProblem::parameter(format!("`{name}` must be `*` or a list of quoted tags"));
    let mut tags = Vec::new();
    let mut found = false;
    for value in headers.get_all(name) {
        found = true;
        let text = value.to_str().map_err(|_| wrong())?.trim();
        if text == "*" {
            return Ok(Some(TagCondition::Any));
        }
        tags.extend(read_tags(text).ok_or_else(wrong)?);
    }
    Ok(found.then_some(TagCondition::OneOf(tags)))
}

/// A comma-separated list of tags; a tag may hold commas itself.
fn read_tags(mut text: &str) -> Option<Vec<TagValue>> {
    let mut tags = Vec::new();
    loop {
        text = text.trim_start_matches([' ', '\t', ',']);
        if text.is_empty() {
            return (!tags.is_empty()).then_some(tags);
        }
        let (weak, rest) = match text.strip_prefix("W/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let end = rest.strip_prefix('"')?.find('"')? + 2;
        tags.push(TagValue { weak, tag: rest[..end].to_owned() });
        text = rest[end..].trim_start_matches([' ', '\t']);
        if !text.is_empty() && !text.starts_with(',') {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_writer_is_allowed_by_the_strong_tag_by_a_star_and_by_silence() {
        let tag = ETag::of('g', Uuid::from_u128(7), 3);
        let allows = |value: &str| {
            let found = condition(&headers(header::IF_MATCH, value), &header::IF_MATCH);
            found.map(|found| IfMatch(found).allows(&tag)).ok()
        };
        let own = tag.header().to_str().unwrap().to_owned();
        assert!(IfMatch::default().allows(&tag));
        assert_eq!(allows("*"), Some(true));
        assert_eq!(allows(&format!("\"a,b\" , {own}")), Some(true));
        assert_eq!(allows(&format!("W/{own}")), Some(false));
        assert_eq!(allows("\"other\""), Some(false));
        for wrong in ["other", "\"open", "\"a\" \"b\"", ""] {
            assert_eq!(allows(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_reader_knows_a_version_by_its_weak_tag_too() {
        let tag = ETag::of('s', Uuid::from_u128(7), 1);
        let own = tag.header().to_str().unwrap().to_owned();
        let name = header::IF_NONE_MATCH;
        let read = |value: &str| condition(&headers(name.clone(), value), &name).unwrap();
        let known = |value: &str| IfNoneMatch(read(value)).has(&tag);
        assert!(known(&own) && known(&format!("W/{own}")) && known("*"));
        assert!(!known("\"other\""));
        assert!(!IfNoneMatch::default().has(&tag));
    }
}
