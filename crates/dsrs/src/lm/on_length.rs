//! What a predictor does with an answer that a limit of tokens cut.

/// What happens to an answer that a limit of tokens cut within an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLength {
    /// The prediction fails. The same request is not sent again: it would be cut again.
    #[default]
    Fail,
    /// What arrived is used if it fits the signature, with a note in the report.
    Accept,
    /// The model is asked for the rest, a few times at most.
    Continue,
}

impl OnLength {
    /// The words.
    pub const WORDS: [&'static str; 3] = ["fail", "accept", "continue"];

    /// Reads a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "fail" => Self::Fail,
            "accept" => Self::Accept,
            "continue" => Self::Continue,
            _ => return None,
        })
    }

    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Accept => "accept",
            Self::Continue => "continue",
        }
    }
}
