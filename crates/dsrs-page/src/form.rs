//! The bodies of forms, and the answers to them. Knows no form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};

use dsrs_app::App;
use dsrs_http::{ApiProblem, ProblemCode, form_fields};

/// The fields of a form, in their order.
#[derive(Debug, Default)]
pub(super) struct Form {
    fields: Vec<(String, String)>,
    /// The places of the values that are not empty, by the name of their field: forms of a stranger may be long.
    places: BTreeMap<String, usize>,
}

impl Form {
    /// The form with these fields. Browsers send line ends as CR LF: here they are LF.
    pub(super) fn of(mut fields: Vec<(String, String)>) -> Self {
        for (_, value) in fields.iter_mut().filter(|(_, value)| value.contains('\r')) {
            *value = with_line_feeds(value);
        }
        let given = fields.iter().enumerate().rev().filter(|(_, (_, value))| !value.is_empty());
        let places = given.map(|(place, (name, _))| (name.clone(), place)).collect();
        Self { fields, places }
    }

    /// The value of a field; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// The first value of a field that is not empty.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.fields.get(*self.places.get(name)?).map(|(_, value)| value.as_str())
    }

    /// Whether the field at a JSON Pointer, or one within it, has a value.
    pub(super) fn has_within(&self, pointer: &str) -> bool {
        self.places.contains_key(pointer) || self.within(pointer).next().is_some()
    }

    /// The numbers of the items that have values within the list at a JSON Pointer, in their order.
    pub(super) fn numbers_within(&self, pointer: &str) -> impl Iterator<Item = u32> {
        let number = |rest: &str| rest.split('/').next()?.parse().ok();
        self.within(pointer).filter_map(number).collect::<BTreeSet<u32>>().into_iter()
    }

    /// What follows `pointer/` in the names of the fields that have values.
    fn within(&self, pointer: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{pointer}/");
        let from = self.places.range(prefix.clone()..);
        from.map_while(move |(name, _)| name.strip_prefix(prefix.as_str()))
    }

    /// The values of a field.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let own = self.fields.iter().filter(move |(given, _)| given == name);
        own.map(|(_, value)| value.as_str())
    }

    /// The same form with other fields at a JSON Pointer and within it.
    pub(super) fn replaced(&self, pointer: &str, fields: Vec<(String, String)>) -> Self {
        let is_within = |name: &str| {
            name.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let others = self.fields.iter().filter(|(name, _)| !is_within(name)).cloned();
        Self::of(others.chain(fields).collect())
    }

    /// Every field.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A text with LF as its line ends, as forms have it.
pub(super) fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

impl FromRequest<Arc<App>> for Form {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiProblem> {
        let declared = request.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes());
        if !declared
            .is_some_and(|declared| declared.starts_with(b"application/x-www-form-urlencoded"))
        {
            let detail = "a form is sent as application/x-www-form-urlencoded";
            return Err(ApiProblem::new(ProblemCode::UnsupportedMediaType, detail));
        }
        form_fields(request, app).await.map(Self::of)
    }
}

/// The answer to a form that did its work: the next view. The path is one of ours.
pub(super) fn see(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// A text as one segment of a path or one value of a query.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
