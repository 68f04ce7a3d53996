//! HTTP requests as tools: sends what the engine makes of a call, with the owner's secrets in the
//! headers that name them, and tells the answer. Where a request may go is the guard's to say.

use std::sync::Arc;

use bytes::Bytes;
use dsrs::lm::ToolSpec;
use dsrs::predict::{Ctx, Tool, ToolError};
use dsrs::strategy::{HeaderText, HttpMethod, HttpTool};
use dsrs::value::{Fields, Payload};
use futures_util::future::{BoxFuture, FutureExt};
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::fetch::{Answer, Fetch, Request};
use crate::config::Secrets;

/// How much of a failure's body the LM is shown.
const SHOWN: usize = 2000;

/// A request that an LM may have sent.
struct HttpCaller {
    tool: HttpTool,
    headers: HeaderMap,
    /// Those that the headers hold: no answer gives them away.
    secrets: Vec<(Arc<str>, SecretString)>,
    fetch: Arc<Fetch>,
}

/// Makes a tool of the description of a request.
///
/// # Errors
/// A host that is not allowed, a secret that is not there, or one that no header can hold.
pub(super) fn http_tool(
    tool: &HttpTool,
    secrets: &Secrets,
    fetch: &Arc<Fetch>,
) -> Result<Arc<dyn Tool>, String> {
    let origin = tool.url.origin();
    let url = Url::parse(origin).map_err(|error| format!("`{origin}` is no URL: {error}"))?;
    fetch.admit(&url).map_err(|refused| refused.to_string())?;
    let mut caller = HttpCaller {
        tool: tool.clone(),
        headers: HeaderMap::new(),
        secrets: Vec::new(),
        fetch: fetch.clone(),
    };
    for (name, text) in &tool.headers {
        let value =
            caller.header(text, secrets).map_err(|why| format!("header `{name}`: {why}"))?;
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is no name of a header"))?;
        caller.headers.insert(name, value);
    }
    if tool.method.has_body() {
        let json = HeaderValue::from_static("application/json");
        caller.headers.entry(CONTENT_TYPE).or_insert(json);
    }
    Ok(Arc::new(caller))
}

impl HttpCaller {
    /// The value of a header. One with a secret is marked, so that it stays with its origin and is
    /// never printed.
    fn header(&mut self, text: &HeaderText, secrets: &Secrets) -> Result<HeaderValue, String> {
        let (name, prefix) = match text {
            HeaderText::Text(text) => {
                return HeaderValue::from_str(text).map_err(|_| "no header can hold it".to_owned());
            }
            HeaderText::Secret { name, prefix } => (name, prefix),
        };
        let secret = secrets.get(name)?;
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", secret.expose_secret()))
            .map_err(|_| format!("no header can hold the secret \"{name}\""))?;
        value.set_sensitive(true);
        self.secrets.push((name.clone(), secret.clone()));
        Ok(value)
    }

    async fn ask(&self, args: &Fields) -> Result<Payload, String> {
        let request = self.request(args)?;
        let asked = self.fetch.fetch(request, self.tool.max_bytes);
        let answer = tokio::time::timeout(self.tool.timeout, asked).await;
        let answer = answer.map_err(|_| {
            format!("no answer within {} ms (the tool's timeout_ms)", self.tool.timeout.as_millis())
        })?;
        self.told(&answer.map_err(|error| error.to_string())?)
    }

    fn request(&self, args: &Fields) -> Result<Request, String> {
        let call = self.tool.call(args)?;
        Ok(Request {
            method: method(self.tool.method),
            url: Url::parse(&call.url).map_err(|error| format!("the URL is not valid: {error}"))?,
            headers: self.headers.clone(),
            body: call.body.map(|body| Bytes::from(body.to_json())),
        })
    }

    /// An answer for the LM: JSON as data, any other text as it is.
    fn told(&self, answer: &Answer) -> Result<Payload, String> {
        let text = self.text(answer)?;
        if !answer.succeeded {
            let shown = shortened(&text, SHOWN);
            return Err(format!("the server answered with status {}: {shown}", answer.status));
        }
        if text.is_empty() {
            return Ok(Payload::str(format!("(status {}, no body)", answer.status)));
        }
        if let Some(cut) = &answer.cut {
            let whole = cut.whole.map_or_else(|| "more".to_owned(), |bytes| format!("{bytes}"));
            let read = answer.body.len();
            return Ok(Payload::str(format!("{text}\n… (cut: the first {read} of {whole} bytes)")));
        }
        let json = is_json(&answer.media).then(|| Payload::from_json(&text).ok()).flatten();
        Ok(json.unwrap_or_else(|| Payload::str(text)))
    }

    /// The body as text, without the secrets that a server may send back.
    fn text(&self, answer: &Answer) -> Result<String, String> {
        let mut body = answer.body.as_slice();
        if let Err(error) = std::str::from_utf8(body) {
            // The cut may go through a character.
            let whole = error.error_len().is_some() || answer.cut.is_none();
            let textual = answer.media.starts_with("text/") || is_json(&answer.media);
            if whole && !textual {
                let media = if answer.media.is_empty() { "no type given" } else { &answer.media };
                return Err(format!("the answer is no text ({media}, {} bytes)", body.len()));
            }
            if !whole {
                body = body.get(..error.valid_up_to()).unwrap_or_default();
            }
        }
        let mut text = String::from_utf8_lossy(body).into_owned();
        for (name, secret) in &self.secrets {
            if text.contains(secret.expose_secret()) {
                text = text.replace(secret.expose_secret(), &format!("(secret {name})"));
            }
        }
        Ok(text)
    }
}

impl Tool for HttpCaller {
    fn spec(&self) -> &ToolSpec {
        &self.tool.spec
    }

    fn call<'a>(&'a self, _: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        async move { self.ask(&args).await.map_err(ToolError::told) }.boxed()
    }
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

/// `application/json`, `application/problem+json` and their like.
fn is_json(media: &str) -> bool {
    let kind = media.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

/// At most this many characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
