//! Prices and context lengths of known models: the built-in table, or the file that replaces it. Does not
//! know which models are configured.

use std::collections::HashMap;

use serde::Deserialize;
use url::Url;

use super::endpoint::Provider;

/// The built-in table, in the format of `model_prices_and_context_window.json` of the project LiteLLM.
const BUILT_IN: &str = include_str!("model_data.json");

/// What is known of a model. Prices are for one token.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KnownModel {
    #[serde(rename = "litellm_provider")]
    provider: String,
    input_cost_per_token: Option<f64>,
    output_cost_per_token: Option<f64>,
    cache_read_input_token_cost: Option<f64>,
    cache_creation_input_token_cost: Option<f64>,
    max_input_tokens: Option<u32>,
    max_output_tokens: Option<u32>,
}

/// Prices of a million tokens, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenPrices {
    pub input: Option<f64>,
    pub output: Option<f64>,
    /// Input tokens that the provider reads from its cache.
    pub cached_input: Option<f64>,
    /// Input tokens that the provider writes to its cache.
    pub cache_write: Option<f64>,
}

/// The sizes of a model in tokens, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenLimits {
    /// The longest input.
    pub context: Option<u32>,
    /// The longest answer.
    pub output: Option<u32>,
}

impl KnownModel {
    pub(super) fn prices(&self) -> TokenPrices {
        // Rounded, because prices of one token have no exact form.
        let million = |price: f64| (price * 1e12).round() / 1e6;
        TokenPrices {
            input: self.input_cost_per_token.map(million),
            output: self.output_cost_per_token.map(million),
            cached_input: self.cache_read_input_token_cost.map(million),
            cache_write: self.cache_creation_input_token_cost.map(million),
        }
    }

    pub(super) const fn limits(&self) -> TokenLimits {
        TokenLimits { context: self.max_input_tokens, output: self.max_output_tokens }
    }
}

/// Known models by name.
#[derive(Debug, Default)]
pub(super) struct ModelData(HashMap<String, KnownModel>);

impl ModelData {
    /// The built-in table.
    pub(super) fn built_in() -> Self {
        Self::read(BUILT_IN).unwrap_or_default()
    }

    /// Reads a table. Members of models that are not known here do not matter.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let models: HashMap<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| format!("it is not a JSON object of models: {error}"))?;
        // Some entries describe the format, and some have texts in place of numbers.
        let models = models.into_iter().filter_map(|(name, model)| {
            serde_json::from_value(model).ok().map(|model| (name, model))
        });
        Ok(Self(models.collect()))
    }

    /// What is known of a model at an address. A local server may serve a model of the same name at
    /// another price, so the address must be the provider's.
    pub(super) fn find(
        &self,
        provider: Provider,
        base_url: &str,
        model: &str,
    ) -> Option<&KnownModel> {
        let host = Url::parse(base_url).ok()?.host_str()?.to_owned();
        PROVIDERS.iter().filter(|(_, known, end)| *known == provider && is_at(&host, end)).find_map(
            |(name, ..)| {
                let prefixed = self.0.get(&format!("{name}/{model}"));
                prefixed.or_else(|| self.0.get(model)).filter(|found| found.provider == *name)
            },
        )
    }
}

/// The names of providers in tables, the protocol that they speak, and where.
const PROVIDERS: [(&str, Provider, &str); 19] = [
    ("openai", Provider::OpenAi, "api.openai.com"),
    ("openai", Provider::Responses, "api.openai.com"),
    ("azure", Provider::OpenAi, ".openai.azure.com"),
    ("openai", Provider::OpenAi, ".openai.azure.com"),
    ("anthropic", Provider::Anthropic, "api.anthropic.com"),
    ("anthropic", Provider::OpenAi, "api.anthropic.com"),
    ("gemini", Provider::Gemini, "generativelanguage.googleapis.com"),
    ("gemini", Provider::OpenAi, "generativelanguage.googleapis.com"),
    ("vertex_ai-language-models", Provider::Vertex, "aiplatform.googleapis.com"),
    ("bedrock_converse", Provider::Bedrock, ".amazonaws.com"),
    ("bedrock", Provider::Bedrock, ".amazonaws.com"),
    ("cohere_chat", Provider::Cohere, "api.cohere.com"),
    ("mistral", Provider::OpenAi, "api.mistral.ai"),
    ("groq", Provider::OpenAi, "api.groq.com"),
    ("together_ai", Provider::OpenAi, "api.together.xyz"),
    ("openrouter", Provider::OpenAi, "openrouter.ai"),
    ("deepseek", Provider::OpenAi, "api.deepseek.com"),
    ("xai", Provider::OpenAi, "api.x.ai"),
    ("fireworks_ai", Provider::OpenAi, "api.fireworks.ai"),
];

fn is_at(host: &str, end: &str) -> bool {
    host == end || (end.starts_with('.') && host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_the_built_in_table_is_read() {
        let built_in: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(BUILT_IN).unwrap();
        let known = ModelData::built_in();
        assert_eq!(known.0.len(), built_in.len());
        let names: Vec<_> = PROVIDERS.iter().map(|(name, ..)| *name).collect();
        for (name, model) in &known.0 {
            assert!(names.contains(&model.provider.as_str()), "{name}");
            assert!(model.input_cost_per_token.is_some() && model.max_input_tokens.is_some());
        }
    }

    #[test]
    fn a_model_is_known_only_at_its_provider() {
        let known = ModelData::built_in();
        let find = |provider, url, model| known.find(provider, url, model).map(KnownModel::prices);
        let openai = find(Provider::OpenAi, "https://api.openai.com/v1", "gpt-4o-mini").unwrap();
        assert_eq!((openai.input, openai.cached_input), (Some(0.15), Some(0.075)));
        assert_eq!(find(Provider::OpenAi, "http://127.0.0.1:8000/v1", "gpt-4o-mini"), None);
        let url = "https://api.anthropic.com/v1";
        let claude = find(Provider::Anthropic, url, "claude-sonnet-4-5").unwrap();
        assert_eq!((claude.output, claude.cache_write), (Some(15.0), Some(3.75)));
        assert_eq!(find(Provider::Anthropic, url, "gpt-4o-mini"), None);
        let google = "https://generativelanguage.googleapis.com/v1beta";
        assert!(find(Provider::Gemini, google, "gemini-2.5-flash").is_some());
        assert!(
            find(Provider::OpenAi, "https://api.groq.com/openai/v1", "openai/gpt-oss-20b")
                .is_some()
        );
    }

    #[test]
    fn entries_that_are_not_understood_are_skipped() {
        let table = r#"{"sample_spec": {"max_input_tokens": "a number"}, "m": {"litellm_provider": "openai", "input_cost_per_token": 1e-6, "mode": "chat"}}"#;
        let known = ModelData::read(table).unwrap();
        let found = known.find(Provider::OpenAi, "https://api.openai.com/v1", "m").unwrap();
        assert_eq!(found.prices(), TokenPrices { input: Some(1.0), ..TokenPrices::default() });
        assert!(ModelData::read("[]").unwrap_err().contains("not a JSON object"));
    }
}
