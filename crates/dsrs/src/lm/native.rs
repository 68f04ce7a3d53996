//! A client for protocols of single providers: Anthropic, Gemini, Bedrock and others, through the
//! genai library. Sends one request and reports the answer; does not retry. The key is sent where the
//! protocol expects it and appears nowhere else.

mod end_notes;
mod fault;
mod reply;
mod request;
mod wire_name;

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use hyper::Uri;

use self::end_notes::NoteCollector;
use self::fault::Fault;
use self::request::MessageForm;
use super::http::{HttpLimits, tls};
use super::param_support::ParamSupport;
use super::{DeltaSink, Lm, LmError, LmParams, LmReply, LmRequest, ReasoningEffort};

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
    /// The responses API of OpenAI.
    Responses,
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
            Self::Responses => AdapterKind::OpenAIResp,
        }
    }

    /// Whether the provider caches a conversation only up to a mark.
    const fn marks_prefix(self) -> bool {
        matches!(self, Self::Anthropic | Self::Vertex | Self::Bedrock)
    }

    /// Whether the results of the calls of one message are sent together. The library sends only the last of several
    /// results of one message to Ollama (genai 0.7.2).
    const fn joins_results(self) -> bool {
        !matches!(self, Self::Ollama)
    }

    /// Whether texts of reasoning are asked for in any case. Models of OpenAI that do not reason refuse
    /// that.
    const fn always_captures_reasoning(self) -> bool {
        !matches!(self, Self::Responses)
    }

    fn param_support(self) -> ParamSupport {
        match self {
            Self::Cohere | Self::Ollama | Self::Bedrock => ParamSupport::without_extra_body(),
            _ => ParamSupport::default(),
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
    /// Whether the end of the shared prefix is marked for the provider's cache, if the protocol has
    /// marks.
    pub marks_prefix: bool,
    /// Limits of connections. Of the size of an answer, only that of a streamed one is limited: the library
    /// below reads a whole answer, and each line of a stream, at once.
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
    protocol: Protocol,
    marks_prefix: bool,
    param_support: ParamSupport,
    host: Arc<str>,
    model: Arc<str>,
    key: Option<String>,
    /// The largest streamed answer in bytes.
    answer_bytes: usize,
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
                model: ModelIden::new(
                    config.protocol.adapter(),
                    wire_name::given_name(config.protocol, &config.model),
                ),
            },
            protocol: config.protocol,
            marks_prefix: config.marks_prefix && config.protocol.marks_prefix(),
            param_support: config.protocol.param_support(),
            host: host.as_str().into(),
            key: key.map(str::to_owned),
            model: config.model,
            answer_bytes: config.http.answer_bytes,
        })
    }

    /// Asks, and again without the settings that the endpoint refuses.
    async fn send(
        &self,
        request: &LmRequest,
        mut deltas: DeltaSink<'_>,
    ) -> Result<LmReply, LmError> {
        let mut trial = self.param_support.begin(None);
        loop {
            let (params, omitted) = trial.supported(&request.params);
            match self.send_params(request, &params, &mut deltas).await {
                Ok(reply) => return Ok(LmReply { omitted, ..self.named(reply) }),
                Err(fault) if fault.teaches(&mut trial, &params) => {}
                Err(fault) => return Err(self.error(fault, request)),
            }
        }
    }

    async fn send_params(
        &self,
        request: &LmRequest,
        params: &LmParams,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<LmReply, Fault> {
        let form = MessageForm {
            marks_prefix: self.marks_prefix,
            joins_results: self.protocol.joins_results(),
        };
        let (chat, mut options) = request::translate(request, params, form)?;
        let reasons = params.reasoning_effort.is_some_and(|effort| effort != ReasoningEffort::None);
        options.capture_reasoning_content =
            Some(reasons || self.protocol.always_captures_reasoning());
        wire_name::name_model(self.protocol, &self.model, &mut options);
        let (client, target) = (&self.client, self.target.clone());
        if !deltas.is_open() {
            options.capture_raw_body = Some(true);
            let answer = client.exec_chat(target, chat, Some(&options)).await;
            return reply::whole(answer.map_err(|error| Fault::of(&error))?);
        }
        let collector = Arc::new(NoteCollector::default());
        options.raw_frame_sink = Some(collector.clone());
        let answer = client.exec_chat_stream(target, chat, Some(&options)).await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        reply::streamed(answer, deltas, self.answer_bytes, &collector).await
    }

    /// The reply with the name of the model, where the provider does not say one.
    fn named(&self, reply: LmReply) -> LmReply {
        let is_given = *reply.model == *self.target.model.model_name;
        let model = if is_given { self.model.clone() } else { reply.model };
        LmReply { model, ..reply }
    }

    fn error(&self, fault: Fault, request: &LmRequest) -> LmError {
        fault.into_error(&self.model, &self.host, self.key.as_deref(), request)
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
        // A small compressed answer may be a huge text.
        .no_gzip()
        .tls_backend_preconfigured(tls()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect_timeout)
        .pool_max_idle_per_host(limits.connections)
        .pool_idle_timeout(limits.idle_timeout)
        .build()
        .map_err(|error| error.to_string())
}
