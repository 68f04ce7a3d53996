//! Badges: a word in a colour. The word carries the meaning, the colour repeats it.

use maud::{Markup, html};

/// The look of a badge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Warn,
    Info,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Plain => "badge",
            Self::Good => "badge good",
            Self::Bad => "badge bad",
            Self::Warn => "badge warn",
            Self::Info => "badge info",
        }
    }
}

/// A badge with a word.
pub(crate) fn badge(tone: Tone, word: &str) -> Markup {
    html! { span class=(tone.class()) { (word) } }
}

/// The status of a run or of another job.
pub(crate) fn status(word: &str) -> Markup {
    let tone = match word {
        "succeeded" => Tone::Good,
        "failed" => Tone::Bad,
        "cancelled" => Tone::Plain,
        "waiting" => Tone::Warn,
        _ => Tone::Info,
    };
    badge(tone, word)
}
