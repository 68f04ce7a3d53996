//! HTTP requests as tools: sends the request that the engine makes from a call, with the operator's
//! secrets in its headers, and returns the response. The guard decides where a request may go, the
//! settings of a secret where that may go.

use std::sync::Arc;

use bytes::Bytes;
use dsrs::lm::ToolSpec;
use dsrs::predict::{Ctx, Tool, ToolError};
use dsrs::strategy::{HeaderText, HttpMethod, HttpTool};
use dsrs::value::{Fields, Payload};
use futures_util::future::{BoxFuture, FutureExt};
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use url::Url;

use super::fetch::{Fetch, FetchError, FetchRequest, FetchResponse, SecretHeader, Truncation};
use dsrs_config::Secrets;

/// How much of an error response the LM sees, in characters.
const SHOWN: usize = 2000;

/// By which a server recognizes the repeat of a request (draft-ietf-httpapi-idempotency-key-header).
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request that an LM may trigger.
struct HttpCaller {
    tool: HttpTool,
    headers: HeaderMap,
    /// The headers with secrets, whose texts are removed from every response.
    secret_headers: Vec<SecretHeader>,
    fetch: Arc<Fetch>,
}

/// Makes a tool from the description of a request.
///
/// # Errors
/// A host that is not allowed, an unknown secret, or a secret that may not go to this host or does not
/// fit into a header.
pub(super) fn http_tool(
    tool: &HttpTool,
    secrets: &Secrets,
    fetch: &Arc<Fetch>,
) -> Result<Arc<dyn Tool>, String> {
    let origin = tool.url.origin();
    let url = Url::parse(origin).map_err(|error| format!("`{origin}` is not a URL: {error}"))?;
    fetch.admit(&url).map_err(|refused| refused.to_string())?;
    let mut caller = HttpCaller {
        tool: tool.clone(),
        headers: HeaderMap::new(),
        secret_headers: Vec::new(),
        fetch: fetch.clone(),
    };
    for (name, text) in &tool.headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is not a header name"))?;
        let added = caller.add_header(header, text, secrets, &url);
        added.map_err(|why| format!("header `{name}`: {why}"))?;
    }
    if tool.method.has_body() {
        let json = HeaderValue::from_static("application/json");
        caller.headers.entry(CONTENT_TYPE).or_insert(json);
    }
    Ok(Arc::new(caller))
}

impl HttpCaller {
    /// Adds a header. One with a secret is sent only where the secret may go, and never printed.
    fn add_header(
        &mut self,
        name: HeaderName,
        text: &HeaderText,
        secrets: &Secrets,
        url: &Url,
    ) -> Result<(), String> {
        match text {
            HeaderText::Text(text) => {
                let value = HeaderValue::from_str(text)
                    .map_err(|_| "it is not a valid header value".to_owned())?;
                self.headers.insert(name, value);
            }
            HeaderText::Secret { name: secret, prefix } => {
                let secret = secrets.for_url(secret, url)?;
                self.secret_headers.push(SecretHeader::new(name, prefix, secret.clone())?);
            }
        }
        Ok(())
    }

    async fn ask(
        &self,
        ctx: &Ctx,
        args: &Fields,
        read: fn(&Self, &FetchResponse, String) -> Result<Payload, String>,
    ) -> Result<Payload, ToolError> {
        let mut request = self.request(args).map_err(ToolError::reported)?;
        if let Some(key) = ctx.call_key.as_ref().filter(|_| self.tool.method != HttpMethod::Get)
            && let Ok(key) = HeaderValue::from_str(key)
        {
            request.headers.entry(IDEMPOTENCY_KEY).or_insert(key);
        }
        for (name, value) in ctx.trace_headers() {
            if let Ok(value) = HeaderValue::try_from(value) {
                request.headers.entry(name).or_insert(value);
            }
        }
        let asked = self.fetch.fetch(request, self.tool.max_bytes);
        let answer = tokio::time::timeout(self.tool.timeout, asked).await;
        let answer = answer.map_err(|_| {
            let limit = self.tool.timeout.as_millis();
            self.unanswered(format!("no response within {limit} ms (the tool's timeout_ms)"))
        })?;
        let answer = answer.map_err(|error| match error {
            FetchError::NotConnected(reason) => ToolError::unavailable(reason, None),
            FetchError::Failed(_) => self.unanswered(error.to_string()),
            FetchError::Refused(_) | FetchError::Unbound(_) => {
                ToolError::reported(error.to_string())
            }
        })?;
        self.describe(&answer, read).map_err(|reason| match answer.status {
            // The server says that it has done nothing.
            429 | 503 => ToolError::unavailable(reason, answer.retry_after),
            408 | 425 | 500 | 502 | 504 | 529 if self.tool.is_idempotent => {
                ToolError::unavailable(reason, answer.retry_after)
            }
            408 | 425 | 500 | 502 | 504 | 529 => ToolError::unanswered(reason),
            _ => ToolError::reported(reason),
        })
    }

    /// The failure of a request that the server may have received.
    fn unanswered(&self, reason: String) -> ToolError {
        match self.tool.is_idempotent {
            true => ToolError::unavailable(reason, None),
            false => ToolError::unanswered(reason),
        }
    }

    fn request(&self, args: &Fields) -> Result<FetchRequest, String> {
        let call = self.tool.call(args)?;
        Ok(FetchRequest {
            method: method(self.tool.method),
            url: Url::parse(&call.url).map_err(|error| format!("the URL is not valid: {error}"))?,
            headers: self.headers.clone(),
            secret_headers: self.secret_headers.clone(),
            body: call.body.map(|body| Bytes::from(body.to_json())),
        })
    }

    /// The result of a response, or what the server said instead.
    fn describe(
        &self,
        answer: &FetchResponse,
        read: fn(&Self, &FetchResponse, String) -> Result<Payload, String>,
    ) -> Result<Payload, String> {
        let text = self.text(answer)?;
        if !answer.succeeded {
            let shown = shortened(&text, SHOWN);
            return Err(format!("the server responded with status {}: {shown}", answer.status));
        }
        read(self, answer, text)
    }

    /// A response for the LM: JSON as data, any other text as text, with a sentence about what is missing.
    fn shown(&self, answer: &FetchResponse, text: String) -> Result<Payload, String> {
        if text.is_empty() {
            return Ok(Payload::str(format!("(status {}, no body)", answer.status)));
        }
        if let Some(truncation) = &answer.truncated {
            let whole = whole_size(truncation);
            let read = answer.body.len();
            return Ok(Payload::str(format!(
                "{text}\n… (truncated: the first {read} of {whole} bytes)"
            )));
        }
        self.data(answer, text)
    }

    /// A whole response for a program: JSON as data, any other text as text.
    fn data(&self, answer: &FetchResponse, text: String) -> Result<Payload, String> {
        if let Some(truncation) = &answer.truncated {
            let (whole, most) = (whole_size(truncation), self.tool.max_bytes);
            return Err(format!(
                "the response has {whole} bytes, and {most} are read (the tool's max_bytes)"
            ));
        }
        let json = is_json(&answer.media).then(|| Payload::from_json(&text).ok()).flatten();
        Ok(json.unwrap_or_else(|| Payload::str(text)))
    }

    /// The body as text, without secrets that a server may echo.
    fn text(&self, answer: &FetchResponse) -> Result<String, String> {
        let mut body = answer.body.as_slice();
        if let Err(error) = std::str::from_utf8(body) {
            // The limit may split a character.
            let whole = error.error_len().is_some() || answer.truncated.is_none();
            let textual = answer.media.starts_with("text/") || is_json(&answer.media);
            if let Some(charset) = charset(&answer.media).filter(|_| whole) {
                return Err(format!("the response is text in {charset}; send it in UTF-8"));
            }
            if whole && !textual {
                let media = if answer.media.is_empty() { "no type given" } else { &answer.media };
                return Err(format!("the response is not text ({media}, {} bytes)", body.len()));
            }
            if !whole {
                body = body.get(..error.valid_up_to()).unwrap_or_default();
            }
        }
        let mut text = String::from_utf8_lossy(body).into_owned();
        for header in &self.secret_headers {
            let secret = header.secret();
            if text.contains(secret.text.expose_secret()) {
                let shown = format!("(secret {})", secret.name);
                text = text.replace(secret.text.expose_secret(), &shown);
            }
        }
        Ok(text)
    }
}

impl Tool for HttpCaller {
    fn spec(&self) -> &ToolSpec {
        &self.tool.spec
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        async move { self.ask(ctx, &args, Self::shown).await }.boxed()
    }

    fn call_for_data<'a>(
        &'a self,
        ctx: &'a Ctx,
        args: Fields,
    ) -> BoxFuture<'a, Result<Payload, ToolError>> {
        async move { self.ask(ctx, &args, Self::data).await }.boxed()
    }
}

/// The size of a whole response, as far as the server said it.
fn whole_size(truncation: &Truncation) -> String {
    truncation.whole.map_or_else(|| "more".to_owned(), |bytes| bytes.to_string())
}

const fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

/// `application/json`, `application/problem+json` and similar types.
fn is_json(media: &str) -> bool {
    let kind = media.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

/// The character set of a type that is none that UTF-8 contains.
fn charset(media: &str) -> Option<&str> {
    let (_, charset) = media.split(';').find_map(|part| {
        part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
    })?;
    let charset = charset.trim().trim_matches('"');
    let is_utf8 =
        ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known));
    (!is_utf8).then_some(charset)
}

/// At most this many characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
