//! Entity tags: strong and opaque, made of an id and a version; `If-Match` and `If-None-Match`.
//! Knows no resource.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::protocol::problem::ApiProblem;
use dsrs_app::Precondition;

/// How the tag of a compressed answer ends, where that of the plain one has its closing quote.
const COMPRESSED: &str = "-gzip\"";

/// The tag of the compressed form of an answer with this tag.
pub(crate) fn compressed(tag: &HeaderValue) -> Option<HeaderValue> {
    let start = tag.to_str().ok()?.strip_suffix('"')?;
    HeaderValue::from_str(&format!("{start}{COMPRESSED}")).ok()
}

/// A strong entity tag, with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ETag(String);

impl ETag {
    /// The tag of a version. `kind` distinguishes resources with the same id.
    #[must_use]
    pub(crate) fn of(kind: char, id: Uuid, version: i32) -> Self {
        Self(format!("\"{kind}{}.{version}\"", URL_SAFE_NO_PAD.encode(id.as_bytes())))
    }

    /// As a header's value.
    #[must_use]
    pub(crate) fn header(&self) -> HeaderValue {
        // Quotes, base64 and digits are valid in a header.
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("\"\""))
    }
}

/// The condition of one header: any version, or one of these tags.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TagCondition {
    Any,
    OneOf(Vec<TagValue>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TagValue {
    weak: bool,
    /// Whether it is the tag of a compressed answer.
    compressed: bool,
    /// The tag of the plain answer.
    tag: String,
}

impl TagValue {
    fn new(weak: bool, text: &str) -> Self {
        match text.strip_suffix(COMPRESSED) {
            Some(start) => Self { weak, compressed: true, tag: format!("{start}\"") },
            None => Self { weak, compressed: false, tag: text.to_owned() },
        }
    }

    /// The tag as the client has it.
    fn spelling(&self) -> ETag {
        match self.tag.strip_suffix('"').filter(|_| self.compressed) {
            Some(start) => ETag(format!("{start}{COMPRESSED}")),
            None => ETag(self.tag.clone()),
        }
    }

    /// The version that a strong tag of one of these kinds names.
    fn version(&self, kinds: &[char]) -> Option<(Uuid, i32)> {
        let inner = self.tag.strip_prefix('"')?.strip_suffix('"')?;
        let kind = inner.chars().next().filter(|kind| !self.weak && kinds.contains(kind))?;
        let (id, version) = inner.strip_prefix(kind)?.split_once('.')?;
        let id = Uuid::from_slice(&URL_SAFE_NO_PAD.decode(id).ok()?).ok()?;
        let version = version.parse().ok()?;
        // A version has one tag: no other spelling of it matches.
        (ETag::of(kind, id, version).0 == self.tag).then_some((id, version))
    }
}

/// `If-Match`: the versions that a writer expects to be current. Absent means any.
#[derive(Clone, Debug, Default)]
pub(crate) struct IfMatch(Option<TagCondition>);

impl IfMatch {
    /// Whether the header is present.
    #[must_use]
    pub(crate) fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// The precondition that tags of these kinds express. Weak tags never match.
    #[must_use]
    pub(crate) fn precondition(&self, kinds: &[char]) -> Precondition {
        match &self.0 {
            None => Precondition::Any,
            Some(TagCondition::Any) => Precondition::Exists,
            Some(TagCondition::OneOf(tags)) => {
                Precondition::OneOf(tags.iter().filter_map(|tag| tag.version(kinds)).collect())
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        condition(&parts.headers, &header::IF_MATCH).map(Self)
    }
}

/// `If-None-Match`: the versions that a reader has.
#[derive(Clone, Debug, Default)]
pub(crate) struct IfNoneMatch(Option<TagCondition>);

impl IfNoneMatch {
    /// Whether the header is present.
    #[must_use]
    pub(crate) fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// The tag under which the reader has this version; the answer is `304` then.
    #[must_use]
    pub(crate) fn find(&self, current: &ETag) -> Option<ETag> {
        match &self.0 {
            None => None,
            Some(TagCondition::Any) => Some(current.clone()),
            Some(TagCondition::OneOf(tags)) => {
                tags.iter().find(|tag| tag.tag == current.0).map(TagValue::spelling)
            }
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

/// A comma-separated list of tags. A tag may contain commas.
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
        tags.push(TagValue::new(weak, &rest[..end]));
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
    fn a_writer_may_name_a_strong_tag_or_any_version_or_nothing() {
        let id = Uuid::from_u128(7);
        let own = ETag::of('g', id, 3).header().to_str().unwrap().to_owned();
        let accepts = |value: &str| {
            let found = condition(&headers(header::IF_MATCH, value), &header::IF_MATCH);
            found.map(|found| IfMatch(found).precondition(&['g']).accepts(id, 3)).ok()
        };
        assert!(IfMatch::default().precondition(&['g']).accepts(id, 3));
        assert_eq!(accepts("*"), Some(true));
        assert_eq!(accepts(&format!("\"a,b\" , {own}")), Some(true));
        assert_eq!(accepts(&format!("W/{own}")), Some(false));
        assert_eq!(accepts("\"other\""), Some(false));
        for wrong in ["other", "\"open", "\"a\" \"b\"", ""] {
            assert_eq!(accepts(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_tag_names_its_version_only_in_its_own_spelling_and_kind() {
        let id = Uuid::from_u128(7);
        let versions = |value: &str, kinds: &[char]| {
            let name = header::IF_MATCH;
            let found = condition(&headers(name.clone(), value), &name).unwrap();
            IfMatch(found).precondition(kinds)
        };
        let own = ETag::of('g', id, 3).0;
        assert_eq!(versions(&own, &['s', 'g']), Precondition::OneOf(vec![(id, 3)]));
        for other in [own.replace(".3", ".03"), own.replace(".3", ".+3"), own.replace(".3", "")] {
            assert_eq!(versions(&other, &['g']), Precondition::OneOf(vec![]), "{other}");
        }
        assert_eq!(versions(&own, &['s']), Precondition::OneOf(vec![]));
    }

    #[test]
    fn a_weak_tag_is_enough_for_a_reader() {
        let tag = ETag::of('s', Uuid::from_u128(7), 1);
        let own = tag.header().to_str().unwrap().to_owned();
        let name = header::IF_NONE_MATCH;
        let read = |value: &str| condition(&headers(name.clone(), value), &name).unwrap();
        let known = |value: &str| IfNoneMatch(read(value)).find(&tag).is_some();
        assert!(known(&own) && known(&format!("W/{own}")) && known("*"));
        assert!(!known("\"other\""));
        assert!(IfNoneMatch::default().find(&tag).is_none());
    }

    #[test]
    fn the_tag_of_a_compressed_answer_names_the_same_version() {
        let (id, kinds) = (Uuid::from_u128(7), ['g']);
        let plain = ETag::of('g', id, 3);
        let compressed = compressed(&plain.header()).unwrap();
        let text = compressed.to_str().unwrap();
        assert_eq!(text, plain.0.replace(".3\"", ".3-gzip\""));
        let read = |name: HeaderName| condition(&headers(name.clone(), text), &name).unwrap();
        let precondition = IfMatch(read(header::IF_MATCH)).precondition(&kinds);
        assert_eq!(precondition, Precondition::OneOf(vec![(id, 3)]));
        let known = IfNoneMatch(read(header::IF_NONE_MATCH)).find(&plain);
        assert_eq!(known.map(|tag| tag.header()), Some(compressed));
    }
}
