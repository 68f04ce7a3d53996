//! HTTP requests as tools: a checked description, and the request of one call. Sends nothing: the
//! server that hosts the graph decides which hosts are allowed and sends the request.

use std::sync::Arc;
use std::time::Duration;

use facet::Facet;
use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::url::UrlTemplate;
use crate::document::read_settings;
use crate::lm::ToolSpec;
use crate::predict::is_tool_name;
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object, ValueSchema, nearest};
use crate::value::{Fields, Map, Payload};

/// A tool that is an HTTP request.
#[derive(Clone, Debug)]
pub struct HttpTool {
    /// Its description for the LM.
    pub spec: ToolSpec,
    /// The method of the request.
    pub method: HttpMethod,
    /// The URL of the request.
    pub url: UrlTemplate,
    /// The headers, names in lower case.
    pub headers: IndexMap<Arc<str>, HeaderText>,
    /// The time limit of a request.
    pub timeout: Duration,
    /// The most bytes of an answer to read.
    pub max_bytes: usize,
    /// Whether a request may be sent again if it is not known whether the server received it.
    pub is_idempotent: bool,
}

/// The settings of a request.
#[derive(Facet)]
pub(super) struct HttpToolConfig {
    /// The name of the tool for the LM.
    name: String,
    /// What it does and when to use it, for the LM.
    description: String,
    /// The method of the request.
    method: HttpMethod,
    /// The URL. `{argument}` stands for an argument, percent-encoded, in the path or the query.
    url: String,
    /// The headers, each a text or a secret.
    #[facet(dsrs::keywords(HEADERS))]
    headers: Option<Payload>,
    /// How arguments that are not in the URL are sent with POST, PUT and PATCH; with GET and DELETE they go to the
    /// query.
    body: Option<HttpBody>,
    /// The JSON Schema of the arguments. Default: a text for each name in the URL.
    #[facet(dsrs::object)]
    arguments: Option<Payload>,
    /// The time limit of a request in milliseconds.
    #[facet(default = 10_000, dsrs::minimum(1), dsrs::maximum(120_000))]
    timeout_ms: u64,
    /// The most bytes of an answer to read.
    #[facet(default = 256 << 10, dsrs::minimum(1), dsrs::maximum(10 << 20))]
    max_bytes: usize,
    /// Whether `call` may send a request again if it is not known whether the server received it. Default: true for GET, PUT
    /// and DELETE.
    idempotent: Option<bool>,
}

/// The keywords of headers.
const HEADERS: &str = r#"{"type": "object", "additionalProperties": {
    "type": ["string", "object"],
    "properties": {
        "secret": {"type": "string", "description": "The name of a secret of the server."},
        "prefix": {"type": "string", "description": "The text before the secret, such as `Bearer `."}
    },
    "additionalProperties": false
}}"#;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[repr(u8)]
pub enum HttpMethod {
    /// Reads.
    #[facet(rename = "GET")]
    Get,
    /// Creates, or does something.
    #[facet(rename = "POST")]
    Post,
    /// Replaces.
    #[facet(rename = "PUT")]
    Put,
    /// Changes.
    #[facet(rename = "PATCH")]
    Patch,
    /// Removes.
    #[facet(rename = "DELETE")]
    Delete,
}

/// How arguments are sent.
#[derive(Facet)]
#[repr(u8)]
enum HttpBody {
    #[facet(rename = "json")]
    Json,
}

impl HttpMethod {
    /// As it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether a repeat has the effect of one request (RFC 9110, 9.2.2).
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        matches!(self, Self::Get | Self::Put | Self::Delete)
    }

    /// Whether its arguments are sent in a body.
    #[must_use]
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// As it is written.
    Text(Arc<str>),
    /// A secret of the server, after a prefix.
    Secret {
        /// The secret's name.
        name: Arc<str>,
        /// The text before it, such as `Bearer `.
        prefix: Arc<str>,
    },
}

/// The request of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// The whole URL.
    pub url: String,
    /// The JSON body, if there is one.
    pub body: Option<Payload>,
}

impl HttpTool {
    /// The request of a call with these arguments: those that the URL names go there, the others to the
    /// body, or to the query if there is none.
    ///
    /// # Errors
    /// The message for the LM about arguments that do not make a URL.
    pub fn call(&self, args: &Fields) -> Result<HttpCall, String> {
        let others = || args.iter().filter(|(name, _)| !self.url.slots().any(|slot| slot == *name));
        if !self.method.has_body() {
            return Ok(HttpCall { url: self.url.fill(args, others())?, body: None });
        }
        let body: Map = others().map(|(name, value)| (name.clone(), value.clone())).collect();
        let url = self.url.fill(args, std::iter::empty())?;
        Ok(HttpCall { url, body: Some(Payload::map(body)) })
    }

    /// Reads the description of a request: the `http` of an entry of `tools`. Adds to the problems what
    /// is wrong with it.
    pub fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let before = problems.len();
        let tool = read_settings::<HttpToolConfig>(payload, at, problems)?.tool(at, problems);
        tool.filter(|_| problems.len() == before)
    }
}

impl HttpToolConfig {
    /// The tool. Adds to the problems what the schema of the config cannot express.
    pub(super) fn tool(self, at: &At<'_>, problems: &mut Problems) -> Option<HttpTool> {
        let before = problems.len();
        let name = tool_name(&self.name, &at.key("name"), problems);
        let url = url(&self.url, &at.key("url"), problems);
        let headers = self.headers.and_then(|read| headers(&read, &at.key("headers"), problems));
        let arguments = self.arguments.as_ref();
        let parameters = parameters(arguments, url.as_ref()?, &at.key("arguments"), problems);
        let spec =
            ToolSpec { name: name?, description: self.description.into(), parameters: parameters? };
        (problems.len() == before).then_some(HttpTool {
            spec,
            method: self.method,
            url: url?,
            headers: headers.unwrap_or_default(),
            timeout: Duration::from_millis(self.timeout_ms),
            max_bytes: self.max_bytes,
            is_idempotent: self.idempotent.unwrap_or_else(|| self.method.is_idempotent()),
        })
    }
}

/// Checks the name of a tool, which every LM provider accepts.
pub(super) fn tool_name(name: &str, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    if is_tool_name(name) {
        return Some(name.into());
    }
    let detail = "the name of a tool is 1 to 64 letters, digits, `_` or `-`";
    problems.add(at, Code::InvalidName, detail);
    None
}

fn url(text: &str, at: &At<'_>, problems: &mut Problems) -> Option<UrlTemplate> {
    let parsed = UrlTemplate::parse(text);
    parsed.map_err(|reason| problems.add(at, Code::InvalidValue, reason)).ok()
}

/// Headers that the connection sets itself.
const OWN: [&str; 6] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

fn headers(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<IndexMap<Arc<str>, HeaderText>> {
    let read = read::members(payload, at, problems, |name, value, at, problems| {
        let lower = name.to_ascii_lowercase();
        let sign = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(sign) {
            problems.add(at, Code::InvalidName, format!("`{name}` is not a valid header name"));
            return None;
        }
        if OWN.contains(&lower.as_str()) {
            problems.add(
                at,
                Code::ReservedName,
                format!("the header `{name}` is set by the server"),
            );
            return None;
        }
        Some((Arc::from(lower), header(value, at, problems)?))
    })?;
    Some(read.into_iter().map(|(_, header)| header).collect())
}

fn header(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<HeaderText> {
    if payload.as_str().is_some() {
        return header_text(payload, at, problems).map(HeaderText::Text);
    }
    let mut object = Object::open(payload, at, problems)?;
    let name = object.required("secret", read::shared_text);
    let prefix = object.optional("prefix", header_text);
    object.close();
    Some(HeaderText::Secret { name: name?, prefix: prefix.unwrap_or_default() })
}

fn header_text(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Arc<str>> {
    let text = read::shared_text(payload, at, problems)?;
    if text.chars().all(|c| c == '\t' || (' '..='~').contains(&c)) {
        return Some(text);
    }
    problems.add(at, Code::InvalidValue, "the text of a header must be one line of ASCII");
    None
}

/// The JSON Schema of the arguments; by default a text for every name in the URL.
fn parameters(
    given: Option<&Payload>,
    url: &UrlTemplate,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<RawValue>> {
    let schema = match given {
        Some(given) => {
            let members = read::map(given, at, problems)?;
            let known = members.get("properties").and_then(Payload::as_map);
            for slot in
                url.slots().filter(|slot| known.is_none_or(|known| !known.contains_key(*slot)))
            {
                let names = known.into_iter().flat_map(|known| known.keys().map(|name| &**name));
                let hint = nearest(slot, names)
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let detail = format!(
                    "the URL names the argument `{slot}`, which is missing in `properties`{hint}"
                );
                problems.add(&at.key("properties"), Code::MissingField, detail);
            }
            if members.get("type").is_some_and(|ty| ty.as_str() != Some("object")) {
                problems.add(&at.key("type"), Code::InvalidValue, "arguments are an object");
            }
            let tree = serde_json::to_value(given).unwrap_or_default();
            if let Err(error) = ValueSchema::compile(&tree) {
                let detail = format!("the arguments are not a supported JSON Schema: {error}");
                problems.add(at, Code::InvalidType, detail);
            }
            given.clone()
        }
        None => of_slots(url),
    };
    serde_json::value::to_raw_value(&schema).ok().map(Arc::from)
}

fn of_slots(url: &UrlTemplate) -> Payload {
    let text = || Payload::map(Map::from_iter([("type".into(), "string".into())]));
    let properties: Map = url.slots().map(|slot| (slot.clone(), text())).collect();
    let required = properties.keys().cloned().map(Payload::Str).collect();
    Payload::map(Map::from_iter([
        ("type".into(), "object".into()),
        ("properties".into(), Payload::map(properties)),
        ("required".into(), Payload::list(required)),
        ("additionalProperties".into(), false.into()),
    ]))
}
