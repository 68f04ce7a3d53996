//! Members and headers that a request has beyond those that the client writes, for features of a
//! provider that have no setting. They cannot replace what the client writes.

use std::sync::Arc;

use crate::value::{Map, Payload};

/// The members that a client writes itself, in one protocol or another; those that name another model, address
/// or key to a gateway; and those that make a provider write or store more than one answer. In lower case and
/// without underscores: some servers read names in any case.
const RESERVED_MEMBERS: [&str; 57] = [
    "apibase",
    "apikey",
    "apitype",
    "apiversion",
    "background",
    "baseurl",
    "bestof",
    "contents",
    "conversation",
    "customllmprovider",
    "fallbacks",
    "functioncall",
    "functions",
    "generationconfig",
    "grammar",
    "guidedgrammar",
    "guidedjson",
    "inferenceconfig",
    "input",
    "instructions",
    "maxcompletiontokens",
    "maxoutputtokens",
    "maxtokens",
    "mcpservers",
    "message",
    "messages",
    "mockresponse",
    "model",
    "models",
    "n",
    "organization",
    "outputconfig",
    "plugins",
    "previousresponseid",
    "prompt",
    "reasoningeffort",
    "responseformat",
    "route",
    "seed",
    "servicetier",
    "stop",
    "stopsequences",
    "store",
    "stream",
    "streamoptions",
    "structuredoutputs",
    "system",
    "systeminstruction",
    "temperature",
    "text",
    "toolchoice",
    "toolconfig",
    "tools",
    "topp",
    "userconfig",
    "vertexcredentials",
    "webhook",
];

/// The headers that decide who is asked, by whom, who pays, and how the request is read.
const RESERVED_HEADERS: [&str; 24] = [
    "accept",
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "openai-organization",
    "openai-project",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-api-key",
    "x-goog-api-key",
    "x-goog-user-project",
    "x-http-method-override",
];

/// Beginnings of such headers: those of proxies, and those that direct a gateway elsewhere.
const RESERVED_PREFIXES: [&str; 7] =
    ["cf-", "helicone-", "proxy-", "x-amz-", "x-forwarded-", "x-original-", "x-portkey-"];

/// The most extra headers.
const MOST_HEADERS: usize = 32;

/// The longest name or value of an extra header, in bytes.
const LONGEST_HEADER: usize = 4096;

/// Further members of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtraBody(Arc<Map>);

impl ExtraBody {
    /// The members, or the first one that the client writes itself.
    ///
    /// # Errors
    /// Names the member.
    pub fn of(members: &Map) -> Result<Self, String> {
        match members.keys().find(|name| is_reserved_member(name)) {
            Some(name) => Err(format!("`{name}` is written by the server")),
            None => Ok(Self(Arc::new(members.clone()))),
        }
    }

    /// The members as data.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::map((*self.0).clone())
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Payload)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The members of both; those of `own` replace those of `defaults`.
    pub(super) fn merged(own: Option<&Self>, defaults: Option<&Self>) -> Option<Self> {
        let (Some(own), Some(defaults)) = (own, defaults) else {
            return own.or(defaults).cloned();
        };
        let mut members = (*defaults.0).clone();
        members.extend(own.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        Some(Self(Arc::new(members)))
    }
}

/// Further headers of a request: lower-case names, values of printable ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraHeaders(Arc<[(Arc<str>, Arc<str>)]>);

impl ExtraHeaders {
    /// The headers, or why one of them cannot be sent.
    ///
    /// # Errors
    /// Names the header.
    pub fn of<'h>(headers: impl IntoIterator<Item = (&'h str, &'h str)>) -> Result<Self, String> {
        let headers: Vec<_> = headers
            .into_iter()
            .map(|(name, value)| header(name, value))
            .collect::<Result<_, _>>()?;
        if headers.len() > MOST_HEADERS {
            return Err(format!("there are more than {MOST_HEADERS} headers"));
        }
        Ok(Self(headers.into()))
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The headers as data.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::map(self.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The headers of both; those of `own` replace those of `defaults`.
    pub(super) fn merged(own: Option<&Self>, defaults: Option<&Self>) -> Option<Self> {
        let (Some(own), Some(defaults)) = (own, defaults) else {
            return own.or(defaults).cloned();
        };
        let is_free = |(name, _): &&(Arc<str>, Arc<str>)| own.iter().all(|(own, _)| *own != **name);
        Some(Self(defaults.0.iter().filter(is_free).chain(own.0.iter()).cloned().collect()))
    }
}

fn is_reserved_member(name: &str) -> bool {
    let name: String = name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
    RESERVED_MEMBERS.contains(&&*name)
}

fn is_reserved_header(name: &str) -> bool {
    RESERVED_HEADERS.contains(&name)
        || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a text is a token of HTTP (RFC 9110), as names of headers are.
fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=LONGEST_HEADER).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

fn header(name: &str, value: &str) -> Result<(Arc<str>, Arc<str>), String> {
    if !is_token(name) {
        return Err(format!("`{name}` is not the name of a header"));
    }
    let name = name.to_ascii_lowercase();
    if is_reserved_header(&name) {
        return Err(format!("`{name}` is written by the server"));
    }
    if value.len() > LONGEST_HEADER || !value.chars().all(|c| matches!(c, ' '..='~')) {
        return Err(format!(
            "the value of `{name}` must be printable ASCII, at most {LONGEST_HEADER} characters"
        ));
    }
    Ok((name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_cannot_replace_what_the_client_writes() {
        let body = |json: &str| ExtraBody::of(Payload::from_json(json).unwrap().as_map().unwrap());
        assert!(body(r#"{"chat_template_kwargs": {"enable_thinking": false}}"#).is_ok());
        assert_eq!(body(r#"{"model": "big"}"#).unwrap_err(), "`model` is written by the server");
        for name in ["Model", "max_Tokens", "generation_config", "api_base", "models", "N"] {
            assert!(body(&format!("{{\"{name}\": 1}}")).is_err(), "{name}");
        }
        let headers = |name, value| ExtraHeaders::of([(name, value)]).map(|_| ());
        assert_eq!(headers("X-Title", "dsrs"), Ok(()));
        assert!(headers("Authorization", "Bearer x").unwrap_err().contains("`authorization`"));
        for name in
            ["X-Portkey-Custom-Host", "Helicone-Target-URL", "Forwarded", "X-Forwarded-Host"]
        {
            assert!(headers(name, "x").is_err(), "{name}");
        }
        assert!(headers("x-a", "a\r\nhost: b").unwrap_err().contains("printable"));
        assert!(headers("a b", "").unwrap_err().contains("not the name"));
    }
}
