//! A server by its URL, with the key that every request sends.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, redirect};
use serde_json::Value;
use url::Url;

use super::{ClientError, ServerCall};

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest page of a list.
const PAGE: usize = 200;

/// A server and how to call it.
pub(crate) struct ServerConnection {
    http: reqwest::Client,
    url: Url,
}

impl ServerConnection {
    /// Prepares requests to the server at a URL; opens nothing.
    ///
    /// # Errors
    /// The URL or the key cannot be used.
    pub(crate) fn new(url: &str, key: Option<&str>) -> Result<Self, ClientError> {
        let fits = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let found = Url::parse(url).ok().filter(fits);
        let found = found.ok_or_else(|| ClientError::Url(url.to_owned()))?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let text = format!("Bearer {key}");
            let mut value = HeaderValue::try_from(text).map_err(|_| ClientError::Key)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(dsrs::lm::tls().map_err(ClientError::Tls)?)
            .connect_timeout(CONNECT_TIMEOUT)
            .default_headers(headers)
            // A redirect would forward the key.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| ClientError::Tls(error.to_string()))?;
        Ok(Self { http, url: found })
    }

    /// A request to `/v1/` and these segments of a path.
    pub(crate) fn call(&self, method: Method, segments: &[&str]) -> ServerCall {
        let segments: Vec<&str> = ["v1"].iter().chain(segments).copied().collect();
        self.root_call(method, &segments)
    }

    /// A request to these segments of a path.
    pub(super) fn root_call(&self, method: Method, segments: &[&str]) -> ServerCall {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        ServerCall::new(self.http.clone(), method, url)
    }

    /// A request that reads.
    pub(crate) fn get(&self, segments: &[&str]) -> ServerCall {
        self.call(Method::GET, segments)
    }

    /// A request that starts or creates something.
    pub(crate) fn post(&self, segments: &[&str]) -> ServerCall {
        self.call(Method::POST, segments)
    }

    /// A request that replaces something.
    pub(crate) fn put(&self, segments: &[&str]) -> ServerCall {
        self.call(Method::PUT, segments)
    }

    /// The items of a list, page by page, at most `limit` of them.
    pub(crate) async fn list(
        &self,
        segments: &[&str],
        query: &[(&str, String)],
        limit: usize,
    ) -> Result<Vec<Value>, ClientError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let wanted = (limit - items.len()).clamp(1, PAGE);
            let mut call = self.get(segments).query(query).query(&[("limit", wanted.to_string())]);
            if let Some(cursor) = cursor {
                call = call.query(&[("cursor", cursor)]);
            }
            let mut page = call.json().await?;
            let found = page.get_mut("items").and_then(Value::as_array_mut);
            items.append(found.unwrap_or(&mut Vec::new()));
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() || items.len() >= limit {
                items.truncate(limit);
                return Ok(items);
            }
        }
    }
}
