//! The model that the environment names. Knows the variables and nothing of what the model answers.

use std::env;
use std::sync::Arc;

use super::{Models, OpenAi, OpenAiConfig, OpenAiConfigError};

/// OpenAI's own address.
const OPENAI: &str = "https://api.openai.com/v1";

impl Models {
    /// A model of an OpenAI-compatible endpoint as the only one: at the address in
    /// `OPENAI_BASE_URL`, else at OpenAI's, with the key in `OPENAI_API_KEY`, if there is one.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use dsrs::{Ctx, lm::Models};
    ///
    /// let models = Models::from_env("gpt-4o-mini")?;
    /// let ctx = Ctx::within(models.into(), Duration::from_secs(60));
    /// # Ok::<(), dsrs::lm::OpenAiConfigError>(())
    /// ```
    ///
    /// # Errors
    /// When the address, the key or the proxy of the environment cannot be used.
    pub fn from_env(model: &str) -> Result<Self, OpenAiConfigError> {
        let base_url = env::var("OPENAI_BASE_URL").unwrap_or_else(|_| OPENAI.to_owned());
        let api_key = env::var("OPENAI_API_KEY").ok();
        let config = OpenAiConfig { api_key, ..OpenAiConfig::new(base_url, model) };
        Ok(Self::only(Arc::new(OpenAi::new(config)?)))
    }
}
