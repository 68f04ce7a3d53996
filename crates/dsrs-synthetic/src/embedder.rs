//! A synthetic embedding model: it hashes words and their letters. Texts with common words are
//! similar, also if the words end differently. Meaning does not count.

use std::sync::Arc;

use dsrs::lm::{Embedder, Embeddings, LmError, RequestTrace, Usage};
use futures_util::future::{BoxFuture, FutureExt};

use crate::random::hash;

/// The length of a vector.
const DIMENSION: usize = 256;
/// The letters of a part of a word, and its weight relative to the whole word.
const LETTERS: usize = 3;
const PIECE: f32 = 0.3;

/// Vectors of length 1 from the words of a text and their triples of letters (feature hashing,
/// Weinberger et al. 2009), the same on every machine. Its usage is one call a request and one token a
/// word.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::Embedder;
/// use dsrs_synthetic::SyntheticEmbedder;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let texts: [Arc<str>; 3] =
///     ["where is my parcel?".into(), "where is the parcel".into(), "2 + 2".into()];
/// let found = SyntheticEmbedder.embed(&texts, None).await.unwrap();
/// assert!(found.likeness(0, 1) > 0.5 && found.likeness(0, 2) < 0.3);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SyntheticEmbedder;

impl Embedder for SyntheticEmbedder {
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        _: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        let words = texts.iter().map(|text| text.split_whitespace().count() as u64).sum();
        let calls = u64::from(!texts.is_empty());
        let usage = Usage { lm_calls: calls, input_tokens: words, ..Usage::default() };
        let vectors = texts.iter().map(|text| vector(text)).collect();
        async move { Ok(Embeddings { vectors, usage }) }.boxed()
    }
}

fn vector(text: &str) -> Arc<[f32]> {
    let mut numbers = vec![0.0_f32; DIMENSION];
    let mut count = |feature: &str, weight: f32| {
        let hash = hash([feature]);
        // Another bit decides the sign, so that colliding features cancel on average.
        let sign = if hash >> 63 == 0 { weight } else { -weight };
        if let Some(number) = numbers.get_mut(hash as usize % DIMENSION) {
            *number += sign;
        }
    };
    let text = text.to_lowercase();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        count(word, 1.0);
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.windows(LETTERS).filter(|piece| piece.len() < letters.len()) {
            count(&piece.iter().collect::<String>(), PIECE);
        }
    }
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length > 0.0 {
        numbers.iter_mut().for_each(|number| *number /= length);
    }
    numbers.into()
}
