//! Embedding models: texts in, vectors out, so that texts can be compared by meaning. Knows nothing
//! of what they are compared for.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use super::{Lm, LmError, LmErrorKind, LmReply, LmRequest, Usage};

/// The most texts of one request; what OpenAI-compatible servers take without being told to.
const MOST_TEXTS: usize = 256;
/// The most bytes of text of one request, where it has several: OpenAI takes 300,000 tokens.
const MOST_BYTES: usize = 512 << 10;

/// A model that makes vectors of texts. Implementations ask and report what came back; they never
/// retry (`retry::embed` does) and never read the environment.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Embedder, SyntheticEmbedder};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let texts: [Arc<str>; 3] = ["where is my parcel?".into(), "where is the parcel".into(), "2 + 2".into()];
/// let found = SyntheticEmbedder.embed(&texts).await.unwrap();
/// assert!(found.likeness(0, 1) > 0.5 && found.likeness(0, 2) < 0.3);
/// # });
/// ```
pub trait Embedder: Send + Sync {
    /// One vector for each text, in the order of the texts, all of one length. No texts give no
    /// vectors and ask nobody. Dropping the future stops it.
    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Embeddings, LmError>>;
}

/// Vectors of texts, and what they used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embeddings {
    /// In the order of the texts; all of one length, of finite numbers.
    pub vectors: Vec<Arc<[f32]>>,
    /// Requests and the tokens read.
    pub usage: Usage,
}

impl Embeddings {
    /// How many numbers a vector has; none without vectors.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        self.vectors.first().map(|vector| vector.len())
    }

    /// The cosine of two vectors: 1 for the same direction, 0 for none in common, and for vectors
    /// that are not there.
    #[must_use]
    pub fn likeness(&self, one: usize, other: usize) -> f64 {
        match (self.vectors.get(one), self.vectors.get(other)) {
            (Some(one), Some(other)) => cosine(one, other),
            _ => 0.0,
        }
    }

    /// Takes in the vectors of further texts.
    ///
    /// # Errors
    /// `Malformed`, if they are of another length.
    pub fn add(&mut self, more: Self) -> Result<(), LmError> {
        if let (Some(here), Some(there)) = (self.dimension(), more.dimension())
            && here != there
        {
            let message = format!(
                "the embedding model gave vectors of {here} numbers for some texts and of {there} \
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

/// Texts in pieces that one request may hold: 256 of them, or half a mebibyte.
pub fn batches(mut texts: &[Arc<str>]) -> impl Iterator<Item = &[Arc<str>]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |text: &&Arc<str>| {
            bytes += text.len();
            bytes <= MOST_BYTES
        };
        let count = texts.iter().take(MOST_TEXTS).take_while(fits).count();
        // A text that is too long for itself is the server's to refuse.
        let (batch, rest) = texts.split_at(count.max(1).min(texts.len()));
        texts = rest;
        Some(batch).filter(|batch| !batch.is_empty())
    })
}

/// What stands in for the answers of a model that has none.
pub(super) struct NoChat {
    alias: Arc<str>,
}

impl NoChat {
    pub(super) const fn of(alias: Arc<str>) -> Self {
        Self { alias }
    }
}

impl Lm for NoChat {
    fn complete<'a>(&'a self, _: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let message = format!(
            "`{}` is an embedding model: it makes vectors of texts and answers nothing; name another \
             model here",
            self.alias
        );
        let kind = LmErrorKind::Refused;
        async move { Err(LmError { kind, message, status: None, retry_after: None }) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(texts: &[Arc<str>]) -> Vec<usize> {
        batches(texts).map(<[_]>::len).collect()
    }

    #[test]
    fn batches_are_of_256_texts_or_half_a_mebibyte() {
        let short: Arc<str> = "x".into();
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&vec![short.clone(); 256]), [256]);
        assert_eq!(sizes(&vec![short.clone(); 600]), [256, 256, 88]);
        let half: Arc<str> = "x".repeat(MOST_BYTES / 2).into();
        let long: Arc<str> = "x".repeat(MOST_BYTES + 1).into();
        assert_eq!(sizes(&[half.clone(), half.clone(), short.clone(), long, short]), [2, 1, 1, 1]);
    }

    #[test]
    fn the_cosine_tells_direction_and_nothing_of_length() {
        assert!((cosine(&[1.0, 1.0], &[3.0, 3.0]) - 1.0).abs() < 1e-9);
        assert!((cosine(&[1.0, 0.0], &[-2.0, 0.0]) + 1.0).abs() < 1e-9);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
        assert_eq!(cosine(&[0.0, 0.0], &[0.0, 1.0]), 0.0);
    }
}
