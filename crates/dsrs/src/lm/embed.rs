//! Embedding models: texts in, vectors out, so that texts can be compared by meaning. Does not know
//! the purpose of the comparison.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{LmError, LmErrorKind, RequestTrace, Usage};

/// The most texts of one request; OpenAI-compatible servers accept as many without configuration.
const MOST_TEXTS: usize = 256;
/// The most bytes of text of one request, if it has several: OpenAI accepts 300,000 tokens.
const MOST_BYTES: usize = 512 << 10;

/// The client of an embedding model. Implementations send requests and report what the endpoint
/// answered. They do not retry (see [`retry::embed`](super::retry::embed)) and do not read the
/// environment.
pub trait Embedder: Send + Sync {
    /// Returns one vector for each text, in the order of the texts, all of one length. Sends no
    /// request for an empty list. Dropping the future cancels it. The headers of `trace` name the span
    /// that sends the requests.
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        trace: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>>;
}

/// Vectors of texts, and their usage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embeddings {
    /// In the order of the texts; all of one length, of finite numbers.
    pub vectors: Vec<Arc<[f32]>>,
    /// Requests and input tokens.
    pub usage: Usage,
}

impl Embeddings {
    /// The length of each vector; `None` without vectors.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        self.vectors.first().map(|vector| vector.len())
    }

    /// The cosine of two vectors: 1 for the same direction, 0 for orthogonal vectors and for numbers
    /// out of range.
    #[must_use]
    pub fn likeness(&self, one: usize, other: usize) -> f64 {
        match (self.vectors.get(one), self.vectors.get(other)) {
            (Some(one), Some(other)) => cosine(one, other),
            _ => 0.0,
        }
    }

    /// Appends the vectors of further texts.
    ///
    /// # Errors
    /// `Malformed` if they have another length.
    pub fn add(&mut self, more: Self) -> Result<(), LmError> {
        if let (Some(here), Some(there)) = (self.dimension(), more.dimension())
            && here != there
        {
            let message = format!(
                "the embedding model returned vectors of {here} numbers for some texts and of {there} \
                 for others; vectors of different models cannot be compared"
            );
            let kind = LmErrorKind::Malformed;
            return Err(LmError { kind, message, status: None, retry_after: None });
        }
        self.vectors.extend(more.vectors);
        self.usage += more.usage;
        Ok(())
    }
}

/// The cosine of two vectors, from -1 to 1; 0 if one of them has no direction.
#[must_use]
pub fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let product = |one: &[f32], other: &[f32]| -> f64 {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
    };
    let lengths = (product(one, one) * product(other, other)).sqrt();
    if lengths > 0.0 { product(one, other) / lengths } else { 0.0 }
}

/// Splits texts into batches for one request each: at most 256 texts and half a mebibyte.
pub fn batches(mut texts: &[Arc<str>]) -> impl Iterator<Item = &[Arc<str>]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |text: &&Arc<str>| {
            bytes += text.len();
            bytes <= MOST_BYTES
        };
        let count = texts.iter().take(MOST_TEXTS).take_while(fits).count();
        // The server refuses a single text that is too long.
        let (batch, rest) = texts.split_at(count.max(1).min(texts.len()));
        texts = rest;
        Some(batch).filter(|batch| !batch.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(texts: &[Arc<str>]) -> Vec<usize> {
        batches(texts).map(<[_]>::len).collect()
    }

    #[test]
    fn a_batch_has_at_most_256_texts_and_half_a_mebibyte() {
        let short: Arc<str> = "x".into();
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&vec![short.clone(); 256]), [256]);
        assert_eq!(sizes(&vec![short.clone(); 600]), [256, 256, 88]);
        let half: Arc<str> = "x".repeat(MOST_BYTES / 2).into();
        let long: Arc<str> = "x".repeat(MOST_BYTES + 1).into();
        assert_eq!(sizes(&[half.clone(), half.clone(), short.clone(), long, short]), [2, 1, 1, 1]);
    }

    #[test]
    fn the_cosine_depends_on_direction_and_not_on_length() {
        assert!((cosine(&[1.0, 1.0], &[3.0, 3.0]) - 1.0).abs() < 1e-9);
        assert!((cosine(&[1.0, 0.0], &[-2.0, 0.0]) + 1.0).abs() < 1e-9);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
        assert_eq!(cosine(&[0.0, 0.0], &[0.0, 1.0]), 0.0);
    }
}
