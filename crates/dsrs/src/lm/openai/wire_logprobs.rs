//! The wire format of the probabilities of tokens. Whatever of it is not as expected counts as absent.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::lm::TokenLogprobs;

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    content: Vec<Token>,
}

#[derive(Deserialize)]
struct Token {
    token: Arc<str>,
    logprob: f64,
    #[serde(default)]
    top_logprobs: Vec<Alternative>,
}

#[derive(Deserialize)]
struct Alternative {
    token: Arc<str>,
    logprob: f64,
}

/// The tokens of a choice's `logprobs`; none where it has none.
pub(super) fn token_logprobs(logprobs: Option<Value>) -> Vec<TokenLogprobs> {
    let content = logprobs.and_then(|found| serde_json::from_value::<Content>(found).ok());
    let tokens = content.into_iter().flat_map(|found| found.content);
    let token = |found: Token| {
        let others = found.top_logprobs.into_iter().map(|other| (other.token, other.logprob));
        TokenLogprobs::of(found.token, found.logprob, others)
    };
    tokens.map(token).collect()
}
