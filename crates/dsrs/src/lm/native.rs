//! A client for protocols of single providers: Anthropic, Gemini, Bedrock and others, through the
//! genai library. Sends one request and reports the answer; does not retry. The key is sent where the
//! protocol expects it and appears nowhere else.

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

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The messages API of Anthropic.
    Anthropic,
    /// Gemini of Google.
    Gemini,
    /// Gemini and Claude on Google Vertex AI; the key is an access token.
    Vertex,
    /// The models on Amazon Bedrock; the key is a Bedrock API key.
    Bedrock,
    /// The chat API of Cohere.
    Cohere,
    /// The native API of Ollama.
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

/// The address of a model and how to connect to it.
#[derive(Clone)]
pub struct NativeConfig {
    /// The protocol.
    pub protocol: Protocol,
    /// The address without the path of the call, including the version.
    pub base_url: String,
    /// The provider's name for the model.
    pub model: Arc<str>,
    /// The key, if the endpoint requires one.
    pub api_key: Option<String>,
    /// Limits of connections. The size of an answer is not limited.
    pub http: HttpLimits,
}

/// Prints neither the key nor the address, which may contain a key.
impl fmt::Debug for NativeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("NativeConfig");
        shown.field("protocol", &self.protocol).field("model", &self.model).finish_non_exhaustive()
    }
}

/// A model that is called through the protocol of its provider.
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
    /// A client with its own connections. It connects with the first request.
    ///
    /// # Errors
    /// When the address or the machine's certificates cannot be used.
    pub fn new(config: NativeConfig) -> Result<Self, String> {
        let base_url = config.base_url.trim().trim_end_matches('/');
        let address: Uri =
            base_url.parse().map_err(|_| "base_url is not a valid address".to_owned())?;
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

    async fn send(
        &self,
        request: &LmRequest,
        mut deltas: DeltaSink<'_>,
    ) -> Result<LmReply, LmError> {
        let failed = |fault| self.error(fault, request);
        let (chat, options) = request::translate(request).map_err(failed)?;
        let (client, target) = (&self.client, self.target.clone());
        if !deltas.is_open() {
            let answer = client.exec_chat(target, chat, Some(&options)).await;
            return answer.map(reply::whole).map_err(|error| failed(Fault::of(&error)));
        }
        let answer = client.exec_chat_stream(target, chat, Some(&options)).await;
        let answer = answer.map_err(|error| failed(Fault::of(&error)))?;
        reply::streamed(answer, &mut deltas).await.map_err(failed)
    }

    fn error(&self, fault: Fault, request: &LmRequest) -> LmError {
        fault.into_error(&self.model, &self.host, self.key.as_deref(), request.constraint.as_ref())
    }
}

impl Lm for Native {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        self.send(request, deltas).boxed()
    }
}

/// An HTTP client without proxies and redirects, which would receive the key.
fn connections(limits: &HttpLimits) -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect_timeout)
        .pool_max_idle_per_host(limits.connections)
        .pool_idle_timeout(limits.idle_timeout)
        .build()
        .map_err(|error| error.to_string())
}
