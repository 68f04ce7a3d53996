//! Models of providers that are not OpenAI-compatible, in a server built with the feature `genai`.

use std::sync::Arc;

use dsrs::lm::Lm;
#[cfg(feature = "genai")]
use dsrs::lm::{HttpLimits, Native, NativeConfig, Protocol};
#[cfg(feature = "genai")]
use secrecy::ExposeSecret;

use dsrs_config::ModelConfig;
#[cfg(feature = "genai")]
use dsrs_config::{CacheMarks, Provider};

/// A client, or why the settings cannot be used. Opens no connection yet.
#[cfg(feature = "genai")]
pub(crate) fn native_model(settings: &ModelConfig) -> Result<Arc<dyn Lm>, String> {
    let protocol = protocol(settings.provider)
        .ok_or("OpenAI-compatible endpoints have a client of their own")?;
    let connections = settings.max_connections as usize;
    let model = Native::new(NativeConfig {
        protocol,
        base_url: settings.base_url.clone(),
        model: settings.model.as_str().into(),
        api_key: settings.api_key.as_ref().map(|key| key.expose_secret().to_owned()),
        marks_prefix: settings.cache_marks != CacheMarks::Off,
        http: HttpLimits { connections, ..HttpLimits::default() },
    });
    Ok(Arc::new(model?))
}

#[cfg(feature = "genai")]
const fn protocol(provider: Provider) -> Option<Protocol> {
    match provider {
        Provider::OpenAi => None,
        Provider::Anthropic => Some(Protocol::Anthropic),
        Provider::Gemini => Some(Protocol::Gemini),
        Provider::Vertex => Some(Protocol::Vertex),
        Provider::Bedrock => Some(Protocol::Bedrock),
        Provider::Cohere => Some(Protocol::Cohere),
        Provider::Ollama => Some(Protocol::Ollama),
        Provider::Responses => Some(Protocol::Responses),
    }
}

/// The settings loader refuses such a provider; settings built in code may still have one.
#[cfg(not(feature = "genai"))]
pub(crate) fn native_model(settings: &ModelConfig) -> Result<Arc<dyn Lm>, String> {
    Err(format!("this server was built without `{}`", settings.provider.as_str()))
}
