//! A search index of the handbook. It stands for the client of a search engine: a program shares one in
//! an `Arc`, and it is no part of what an optimizer may change.

use crate::handbook::PASSAGES;

/// The shortest word that says something.
const WORD: usize = 4;

/// A client of the index.
pub struct Index {
    passages: Vec<&'static str>,
}

impl Index {
    /// The index of the handbook.
    #[must_use]
    pub fn of_handbook() -> Self {
        Self { passages: PASSAGES.to_vec() }
    }

    /// The passages that contain a word.
    ///
    /// # Errors
    /// When there is none, in words for the LM.
    pub async fn search(&self, word: &str) -> Result<Vec<String>, String> {
        let word = word.trim().to_lowercase();
        let contains = |passage: &&&str| passage.to_lowercase().contains(&word);
        let found: Vec<String> =
            self.passages.iter().filter(contains).map(ToString::to_string).collect();
        if word.is_empty() || found.is_empty() {
            return Err(format!("no passage contains `{word}`"));
        }
        Ok(found)
    }

    /// The passage that shares most words with a text, if any shares one.
    pub async fn nearest(&self, text: &str) -> Option<String> {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= WORD);
        let words: Vec<&str> = words.collect();
        let shared = |passage: &str| {
            let passage = passage.to_lowercase();
            words.iter().filter(|word| passage.contains(*word)).count()
        };
        let scored = self.passages.iter().map(|passage| (shared(passage), passage));
        let best = scored.filter(|(shared, _)| *shared > 0).max_by_key(|(shared, _)| *shared);
        best.map(|(_, passage)| (*passage).to_owned())
    }
}
