//! Who answers for an alias, in the words of the semantic conventions. Sends nothing.

use std::collections::HashMap;

use url::Url;

use dsrs_config::{ModelTable, Provider};

/// Where the requests of an alias go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelEndpoint {
    /// `gen_ai.provider.name`.
    pub(super) provider: &'static str,
    /// `server.address`.
    pub(super) address: String,
    /// `server.port`.
    pub(super) port: Option<u16>,
}

/// The endpoints of all models.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelEndpoints(HashMap<String, ModelEndpoint>);

impl ModelEndpoints {
    pub(crate) fn of(models: &ModelTable) -> Self {
        let known = models.iter().map(|(alias, model)| {
            let url = Url::parse(&model.base_url).ok();
            let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
            let port = url.as_ref().and_then(Url::port_or_known_default);
            let provider = provider(model.provider, &host);
            (alias.to_owned(), ModelEndpoint { provider, address: host, port })
        });
        let mut all: HashMap<_, _> = known.collect();
        let default = models.default_alias().and_then(|alias| all.get(alias).cloned());
        if let Some(default) = default {
            all.entry(dsrs_config::DEFAULT_ALIAS.to_owned()).or_insert(default);
        }
        Self(all)
    }

    pub(super) fn get(&self, alias: &str) -> Option<&ModelEndpoint> {
        self.0.get(alias)
    }
}

/// Well-known values of `gen_ai.provider.name`. An endpoint with OpenAI's protocol that is none of the known services
/// counts as `openai`, as the conventions say; `server.address` says which one it is.
fn provider(protocol: Provider, host: &str) -> &'static str {
    const SERVICES: &[(&str, &str)] = &[
        ("openai.azure.com", "azure.ai.openai"),
        ("services.ai.azure.com", "azure.ai.inference"),
        ("models.ai.azure.com", "azure.ai.inference"),
        ("api.deepseek.com", "deepseek"),
        ("api.groq.com", "groq"),
        ("api.mistral.ai", "mistral_ai"),
        ("api.perplexity.ai", "perplexity"),
        ("api.x.ai", "x_ai"),
        ("api.moonshot.ai", "moonshot_ai"),
        ("api.anthropic.com", "anthropic"),
        ("api.cohere.com", "cohere"),
        ("generativelanguage.googleapis.com", "gcp.gemini"),
        ("aiplatform.googleapis.com", "gcp.vertex_ai"),
        ("amazonaws.com", "aws.bedrock"),
        ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
    ];
    let is_at = |service: &str| {
        host.strip_suffix(service)
            .is_some_and(|start| start.is_empty() || start.ends_with(['.', '-']))
    };
    match protocol {
        Provider::OpenAi | Provider::Responses => {
            let known = SERVICES.iter().find(|(service, _)| is_at(service));
            known.map_or("openai", |(_, name)| *name)
        }
        Provider::Anthropic => "anthropic",
        Provider::Gemini => "gcp.gemini",
        Provider::Vertex => "gcp.vertex_ai",
        Provider::Bedrock => "aws.bedrock",
        Provider::Cohere => "cohere",
        // Not among the well-known values.
        Provider::Ollama => "ollama",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_with_the_protocol_of_openai_has_a_name_of_its_own() {
        let named = |host| provider(Provider::OpenAi, host);
        assert_eq!(named("api.openai.com"), "openai");
        assert_eq!(named("mine.openai.azure.com"), "azure.ai.openai");
        assert_eq!(named("eu-aiplatform.googleapis.com"), "gcp.vertex_ai");
        assert_eq!(named("api.groq.com"), "groq");
        assert_eq!(named("notapi.groq.com"), "openai");
        assert_eq!(named("localhost"), "openai");
        assert_eq!(provider(Provider::Gemini, "proxy"), "gcp.gemini");
    }
}
