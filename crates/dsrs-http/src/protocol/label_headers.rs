//! The labels of a run in the headers of a request: `X-Dsrs-Tags`, `X-Dsrs-Session-Id`, `X-Dsrs-User-Id` and
//! `X-Dsrs-Metadata`. Knows no route.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use sha2::{Digest, Sha256};

use crate::protocol::problem::ApiProblem;
use dsrs_app::run_labels::{body_first, label_id, metadata, read_tag_list};
use dsrs_store::run_label::RunLabels;

/// How the names of all of them begin.
const START: &str = "x-dsrs-";

const TAGS: &str = "x-dsrs-tags";
const SESSION_ID: &str = "x-dsrs-session-id";
const USER_ID: &str = "x-dsrs-user-id";
const METADATA: &str = "x-dsrs-metadata";

/// The labels that a request gives in its headers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelHeaders(RunLabels);

impl LabelHeaders {
    /// The labels of a run whose request has these in its body, too. Those of the body take precedence.
    pub(crate) fn or_body(self, body: RunLabels) -> RunLabels {
        body_first(body, self.0)
    }

    /// Reads headers.
    ///
    /// # Errors
    /// `invalid_parameter`, naming each that is invalid.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, ApiProblem> {
        // Most requests have none.
        if !headers.keys().any(|name| name.as_str().starts_with(START)) {
            return Ok(Self::default());
        }
        let mut problems = Problems::new();
        let mut wrong = Vec::new();
        let mut text = |name: &str| {
            let value = headers.get(name)?;
            let text = std::str::from_utf8(value.as_bytes()).ok();
            if text.is_none() {
                wrong.push(format!("`{name}` is not UTF-8"));
            }
            // Only what may be around the value of a header: other spaces are contents.
            text.map(|text| text.trim_matches([' ', '\t'])).filter(|text| !text.is_empty())
        };
        let (tags, session_id, user_id) = (text(TAGS), text(SESSION_ID), text(USER_ID));
        let members = text(METADATA);
        let mut id = |name: &str, text: Option<&str>| {
            label_id(&Payload::from(text?), &At::Root.key(name), &mut problems)
        };
        let (session_id, user_id) = (id(SESSION_ID, session_id), id(USER_ID, user_id));
        let tags = tags.and_then(|text| read_tag_list(text, TAGS, &mut problems));
        let members = members.and_then(|text| match Payload::from_json(text) {
            Ok(payload) => metadata(&payload, &At::Root.key(METADATA), &mut problems),
            Err(error) => {
                wrong.push(format!("`{METADATA}` is not JSON: {error}"));
                None
            }
        });
        let place = |pointer: &str| pointer.trim_start_matches('/').to_owned();
        let found = problems.iter();
        wrong.extend(found.map(|found| format!("`{}`: {}", place(&found.pointer), found.detail)));
        match wrong.is_empty() {
            true => Ok(Self(RunLabels { tags, session_id, user_id, metadata: members })),
            false => Err(ApiProblem::parameter(wrong.join("; "))),
        }
    }
}

/// Identifies the labels of a request: a repeat of it has the same. `None` without labels.
pub(crate) fn hash_of_labels(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut hash = None;
    for name in [TAGS, SESSION_ID, USER_ID, METADATA] {
        let Some(value) = headers.get(name) else { continue };
        let hash = hash.get_or_insert_with(Sha256::new);
        hash.update(name);
        hash.update(value.len().to_be_bytes());
        hash.update(value.as_bytes());
    }
    hash.map(|hash| hash.finalize().to_vec())
}

impl<S: Sync> FromRequestParts<S> for LabelHeaders {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        Self::read(&parts.headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> Result<RunLabels, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.as_bytes().try_into().unwrap());
        }
        LabelHeaders::read(&headers).map(|found| found.0).map_err(|error| error.detail().to_owned())
    }

    #[test]
    fn every_label_has_a_header() {
        let found = headers(&[
            (TAGS, " nightly, größe ,,nightly"),
            (SESSION_ID, "s 1"),
            (USER_ID, "ü"),
            (METADATA, r#"{"ticket": 7}"#),
        ]);
        let expected = RunLabels {
            tags: Some(r#"["nightly","größe"]"#.to_owned()),
            session_id: Some("s 1".to_owned()),
            user_id: Some("ü".to_owned()),
            metadata: Some(r#"{"ticket":7}"#.to_owned()),
        };
        assert_eq!(found, Ok(expected));
        assert_eq!(headers(&[(TAGS, ""), (USER_ID, " ")]), Ok(RunLabels::default()));
        assert!(headers(&[(USER_ID, "\u{85}")]).is_err(), "a control character is no space");
    }

    #[test]
    fn all_invalid_headers_are_named_at_once() {
        let long = "x".repeat(65);
        let found = headers(&[(TAGS, &long), (METADATA, "{"), (USER_ID, &"u".repeat(201))]);
        let detail = found.unwrap_err();
        for name in [TAGS, METADATA, USER_ID] {
            assert!(detail.contains(name), "{detail}");
        }
    }
}
