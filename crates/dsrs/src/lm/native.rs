//! Models whose providers speak protocols of their own: Anthropic, Gemini, Bedrock and others, through
//! the genai library. Sends one request and reports what came back; never retries. The key goes where
//! the protocol wants it and nowhere else.

mod fault;
mod reply;
mod request;

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use hyper::Uri;

use self::fault::Fault;
use super::http::{HttpLimits, tls};
use super::{DeltaSink, Lm, LmError, LmReply, LmRequest};

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Gemini and Claude on Google's Vertex AI; the key is an access token.
    Vertex,
    /// The models on Amazon's Bedrock; the key is a Bedrock API key.
    Bedrock,
    /// Cohere's chat.
    Cohere,
    /// Ollama's own.
    Ollama,
}

impl Protocol {
    const fn adapter(self) -> AdapterKind {
        match self {
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
            Self::Vertex => AdapterKind::Vertex,
            Self::Bedrock => AdapterKind::BedrockApi,
            Self::Cohere => AdapterKind::Cohere,
            Self::Ollama => AdapterKind::Ollama,
        }
    }
}

/// Where a model is and how it is reached.
#[derive(Clone)]
pub struct NativeConfig {
    /// What is spoken there.
    pub protocol: Protocol,
    /// The address before the path of the call, its version included.
    pub base_url: String,
    /// The provider's name for the model.
    pub model: Arc<str>,
    /// The key, if one is wanted.
    pub api_key: Option<String>,
    /// Limits of connections; the size of an answer is not limited here.
    pub http: HttpLimits,
}

/// Shows neither the key nor the address, which may hold one too.
impl fmt::Debug for NativeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NativeConfig");
        shown.field("protocol", &self.protocol).field("model", &self.model).finish_non_exhaustive()
    }
}

/// A model behind a protocol of its provider's own.
pub struct Native {
    client: Client,
    target: ServiceTarget,
    host: Arc<str>,
    model: Arc<str>,
    key: Option<String>,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Native");
        shown.field("host", &self.host).field("model", &self.model).finish_non_exhaustive()
    }
}

impl Native {
    /// A client with connections of its own. Connects to nothing yet.
    ///
    /// # Errors
    /// When the address or the machine's certificates cannot be used.
    pub fn new(config: NativeConfig) -> Result<Self, String> {
        let base_url = config.base_url.trim().trim_end_matches('/');
        let address: Uri =
            base_url.parse().map_err(|_| "base_url cannot be read as an address".to_owned())?;
        let host = address.authority().filter(|host| !host.as_str().contains('@'));
        let host = host.ok_or("base_url must name a host, without a user or password")?;
        let key = config.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
        Ok(Self {
            client: Client::builder()
                .with_reqwest(connections(&config.http)?)
                .build()
                .map_err(|error| error.to_string())?,
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(format!("{base_url}/")),
                auth: AuthData::from_single(key.unwrap_or_default()),
                model: ModelIden::new(config.protocol.adapter(), &*config.model),
            },
            host: host.as_str().into(),
            key: key.map(str::to_owned),
            model: config.model,
        })
    }

    async fn ask(&self, request: &LmRequest) -> Result<LmReply, LmError> {
        let failed = |fault| self.error(fault, request);
        let (chat, options) = request::read(request).map_err(failed)?;
        let asked = self.client.exec_chat(self.target.clone(), chat, Some(&options)).await;
        asked.map(reply::whole).map_err(|error| failed(Fault::of(&error)))
    }

    async fn hear(&self, request: &LmRequest, heard: DeltaSink<'_>) -> Result<LmReply, LmError> {
        let failed = |fault| self.error(fault, request);
        let (chat, options) = request::read(request).map_err(failed)?;
        let asked = self.client.exec_chat_stream(self.target.clone(), chat, Some(&options)).await;
        let answer = asked.map_err(|error| failed(Fault::of(&error)))?;
        reply::heard(answer, heard).await.map_err(failed)
    }

    fn error(&self, fault: Fault, request: &LmRequest) -> LmError {
        fault.told(&self.model, &self.host, self.key.as_deref(), request.constraint.as_ref())
    }
}

impl Lm for Native {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.ask(request).boxed()
    }

    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.hear(request, heard).boxed()
    }
}

/// Connections as the other clients make them: neither proxies nor redirects, which would take the
/// key along.
fn connections(limits: &HttpLimits) -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect_timeout)
        .pool_max_idle_per_host(limits.idle_connections)
        .pool_idle_timeout(limits.idle_timeout)
        .build()
        .map_err(|error| error.to_string())
}
