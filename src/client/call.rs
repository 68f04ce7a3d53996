//! One request: its query and body, and its answer as JSON or as events.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response};
use serde_json::Value;
use url::Url;

use super::error::root_cause;
use super::{AnswerEvents, ClientError, ServerProblem};

/// A request that is not sent yet.
pub(crate) struct ServerCall {
    http: Client,
    request: Request,
}

impl ServerCall {
    pub(super) fn new(http: Client, method: Method, url: Url) -> Self {
        Self { http, request: Request::new(method, url) }
    }

    /// Adds members of the query.
    pub(crate) fn query(mut self, members: &[(&str, String)]) -> Self {
        if !members.is_empty() {
            self.request.url_mut().query_pairs_mut().extend_pairs(members);
        }
        self
    }

    /// Sends this document.
    pub(crate) fn document(self, document: &Value) -> Self {
        self.body("application/json", document.to_string())
    }

    /// Sends this body.
    pub(crate) fn body(self, media_type: &'static str, body: impl Into<reqwest::Body>) -> Self {
        let mut call = self.header(CONTENT_TYPE, HeaderValue::from_static(media_type));
        *call.request.body_mut() = Some(body.into());
        call
    }

    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.request.headers_mut().insert(name, value);
        self
    }

    /// Sends it and reads the document of the answer.
    ///
    /// # Errors
    /// There is no answer, or it is a refusal.
    pub(crate) async fn json(self) -> Result<Value, ClientError> {
        let (answer, url) = self.send().await?;
        let status = answer.status().as_u16();
        let text = answer.text().await.map_err(|error| incomplete(&url, &error))?;
        serde_json::from_str(&text).map_err(|_| ClientError::Foreign { url, status })
    }

    /// Sends it and reads its events.
    ///
    /// # Errors
    /// There is no answer, or it is a refusal.
    pub(crate) async fn events(self) -> Result<AnswerEvents, ClientError> {
        let call = self.header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let (answer, url) = call.send().await?;
        Ok(AnswerEvents::new(answer, url))
    }

    async fn send(self) -> Result<(Response, String), ClientError> {
        let (answer, url) = self.answer().await?;
        match answer.status().is_success() {
            true => Ok((answer, url)),
            false => Err(refusal(answer, url).await),
        }
    }

    /// Sends it and returns the answer, whatever its status, with the URL.
    pub(super) async fn answer(self) -> Result<(Response, String), ClientError> {
        let url = self.request.url().clone();
        let answer = self.http.execute(self.request).await.map_err(|error| {
            let url = url.origin().ascii_serialization();
            ClientError::Unreachable { url, reason: root_cause(&error) }
        })?;
        Ok((answer, url.into()))
    }
}

pub(super) fn incomplete(url: &str, error: &reqwest::Error) -> ClientError {
    ClientError::Incomplete { url: url.to_owned(), reason: root_cause(error) }
}

async fn refusal(answer: Response, url: String) -> ClientError {
    let status = answer.status().as_u16();
    let text = match answer.text().await {
        Ok(text) => text,
        Err(error) => return incomplete(&url, &error),
    };
    match serde_json::from_str::<ServerProblem>(&text) {
        Ok(problem) if !problem.code.is_empty() => ClientError::Refused(Box::new(problem)),
        _ => ClientError::Foreign { url, status },
    }
}
