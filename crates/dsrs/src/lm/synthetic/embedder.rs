//! An embedding model that is none: words and their letters, hashed. Texts with words in common are
//! alike, also where the words end differently; of meaning it knows nothing.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use super::chance::hash;
use crate::lm::{Embedder, Embeddings, LmError, Usage};

/// The numbers of a vector.
const DIMENSION: usize = 256;
/// The letters of a piece of a word, and what it counts beside the whole word.
const LETTERS: usize = 3;
const PIECE: f32 = 0.3;

/// Vectors of length 1 from the words of a text and their triples of letters (feature hashing,
/// Weinberger et al. 2009), the same on every machine. Usage is one call for each time it is asked,
/// and a token a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyntheticEmbedder;

impl Embedder for SyntheticEmbedder {
    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Embeddings, LmError>> {
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
        // The sign is a bit of its own, so that features that meet by chance cancel on average.
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
