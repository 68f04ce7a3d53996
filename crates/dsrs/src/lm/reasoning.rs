//! The reasoning of a model: how much of it a request asks for, and what a reply contains. Does not
//! know how providers write either.

use std::sync::Arc;

use serde::{Serialize, Serializer};

/// How much a reasoning model reasons before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningEffort {
    /// Not at all, if the model can do without.
    None,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// More than `high`.
    XHigh,
    /// As much as the model can.
    Max,
    /// At most this many tokens.
    Tokens(u32),
}

impl ReasoningEffort {
    /// The words, from the least effort to the most.
    pub const WORDS: [&'static str; 7] =
        ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

    /// Reads a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "none" => Self::None,
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::XHigh,
            "max" => Self::Max,
            _ => return None,
        })
    }

    /// The word. A number of tokens has the word of the effort that spends about as many, for
    /// endpoints that know only words.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None | Self::Tokens(0) => "none",
            Self::Minimal => "minimal",
            Self::Low | Self::Tokens(..=2048) => "low",
            Self::Medium | Self::Tokens(..=8192) => "medium",
            Self::High | Self::Tokens(_) => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// What a model wrote before its answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplyReasoning {
    /// The texts, one for each block of the reply.
    pub texts: Vec<Arc<str>>,
    /// The provider's signatures, which it expects back unchanged.
    pub signatures: Vec<Arc<str>>,
}

impl ReplyReasoning {
    /// A text without signatures; `None` if it is empty.
    #[must_use]
    pub fn of(text: impl Into<Arc<str>>) -> Option<Arc<Self>> {
        let text = text.into();
        let given = !text.trim().is_empty();
        given.then(|| Arc::new(Self { texts: vec![text], signatures: Vec::new() }))
    }

    /// All texts as one.
    #[must_use]
    pub fn text(&self) -> String {
        self.texts.join("\n\n")
    }
}

/// As its text.
impl Serialize for ReplyReasoning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_written() {
        for word in ReasoningEffort::WORDS {
            assert_eq!(ReasoningEffort::from_word(word).map(ReasoningEffort::word), Some(word));
        }
        assert_eq!(ReasoningEffort::from_word("hard"), None);
        let words = [0, 500, 4000, 32_000].map(|tokens| ReasoningEffort::Tokens(tokens).word());
        assert_eq!(words, ["none", "low", "medium", "high"]);
    }
}
