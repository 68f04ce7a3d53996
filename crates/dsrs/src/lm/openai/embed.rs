//! A client for `POST …/embeddings` of OpenAI-compatible endpoints: OpenAI, llama.cpp, vLLM, Ollama,
//! gateways. Checks that the answer has one vector for each text, all of one length. Does not retry.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde::{Deserialize, Serialize};

use super::endpoint::Endpoint;
use super::{OpenAiConfig, OpenAiConfigError};
use crate::lm::http::{HttpAnswer, HttpLimits, HttpPost};
use crate::lm::{
    Embedder, Embeddings, LmError, LmErrorKind, RequestTrace, Usage, batches, failure_kind,
};

/// How much larger than a chat completion an answer may be: 256 vectors of 4096 numbers as text.
const LARGER: usize = 4;

/// An embedding model behind an OpenAI-compatible endpoint.
pub struct OpenAiEmbedder {
    endpoint: Endpoint,
}

impl fmt::Debug for OpenAiEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenAiEmbedder");
        let Endpoint { host, model, .. } = &self.endpoint;
        shown.field("host", host).field("model", model).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<&'a str>,
}

#[derive(Deserialize)]
struct EmbeddingList {
    #[serde(default)]
    data: Vec<EmbeddingItem>,
    #[serde(default)]
    usage: Option<EmbeddingUsage>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    /// The position of its text. Some servers omit it and keep the order.
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct EmbeddingUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

impl OpenAiEmbedder {
    /// A client with its own connections. It connects with the first request. Settings of chat
    /// completions have no effect.
    ///
    /// # Errors
    /// When the address, the key or the machine's certificates cannot be used.
    pub fn new(config: &OpenAiConfig) -> Result<Self, OpenAiConfigError> {
        let answer_bytes = config.http.answer_bytes.saturating_mul(LARGER);
        let limits = HttpLimits { answer_bytes, ..config.http };
        Ok(Self { endpoint: Endpoint::new(config, "/embeddings", limits)? })
    }

    async fn embed_batch(
        &self,
        batch: &[Arc<str>],
        trace: Option<&RequestTrace>,
    ) -> Result<Embeddings, LmError> {
        let input = batch.iter().map(AsRef::as_ref).collect();
        let body =
            serde_json::to_vec(&Body { model: &self.endpoint.model, input }).map_err(|error| {
                self.endpoint.error(LmErrorKind::Refused, format!("not sent: {error}"))
            })?;
        let answer =
            self.endpoint.http.post(HttpPost::new(body, "application/json").in_trace(trace)).await;
        self.read(&answer.map_err(|error| self.endpoint.transport_error(error))?, batch.len())
    }

    fn read(&self, answer: &HttpAnswer, count: usize) -> Result<Embeddings, LmError> {
        if !(200..300).contains(&answer.status) {
            let kind = failure_kind::of_answer(answer.status, &answer.body, None);
            return Err(self.endpoint.failed(answer, kind, None));
        }
        let malformed = |why: String| {
            let what = format!("the answer is not a list of embeddings: {why}");
            let error = self.endpoint.error(LmErrorKind::Malformed, what);
            LmError { status: Some(answer.status), ..error }
        };
        let found: EmbeddingList =
            serde_json::from_slice(&answer.body).map_err(|error| malformed(error.to_string()))?;
        if found.error.is_some() && found.data.is_empty() {
            let kind = failure_kind::of_error(&answer.body, None);
            return Err(self.endpoint.failed(answer, kind, None));
        }
        let input_tokens = found.usage.and_then(|tokens| tokens.prompt_tokens).unwrap_or_default();
        let vectors = vectors(found.data, count).map_err(malformed)?;
        Ok(Embeddings { vectors, usage: Usage { lm_calls: 1, input_tokens, ..Usage::default() } })
    }
}

impl Embedder for OpenAiEmbedder {
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        trace: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        async move {
            let mut all = Embeddings::default();
            for batch in batches(texts) {
                all.add(self.embed_batch(batch, trace).await?)?;
            }
            Ok(all)
        }
        .boxed()
    }
}

/// The vectors in the order of their texts, if there is one for each and all have one length.
fn vectors(items: Vec<EmbeddingItem>, count: usize) -> Result<Vec<Arc<[f32]>>, String> {
    if items.len() != count {
        return Err(format!("it has {} vectors for {count} texts", items.len()));
    }
    let length = items.first().map_or(0, |item| item.embedding.len());
    let mut by_index: Vec<Option<Arc<[f32]>>> = vec![None; count];
    for (position, item) in items.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        if item.embedding.is_empty() || item.embedding.len() != length {
            let other = item.embedding.len();
            return Err(format!("vector {index} has {other} numbers, another one {length}"));
        }
        // serde_json reports this itself only with some of its features.
        if !item.embedding.iter().all(|number| number.is_finite()) {
            return Err(format!("vector {index} has a number that is not finite"));
        }
        match by_index.get_mut(index) {
            Some(place @ None) => *place = Some(item.embedding.into()),
            Some(Some(_)) => return Err(format!("it has two vectors of index {index}")),
            None => return Err(format!("it has a vector of index {index} for {count} texts")),
        }
    }
    Ok(by_index.into_iter().flatten().collect())
}
