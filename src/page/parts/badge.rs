//! Badges: a word in a colour. The word carries the meaning, the colour repeats it.

use maud::{Markup, html};

/// The look of a badge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page) enum Tone {
    Plain,
    Good,
    Bad,
    Warn,
    Info,
}

impl Tone {
    const fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("good"),
            Self::Bad => Some("bad"),
            Self::Warn => Some("warn"),
            Self::Info => Some("info"),
        }
    }
}

/// A badge with a word.
pub(in crate::page) fn badge(tone: Tone, word: &str) -> Markup {
    html! { span.badge class=[tone.class()] { (word) } }
}

/// The status of a run or of another job.
pub(in crate::page) fn status(word: &str) -> Markup {
    let tone = match word {
        "succeeded" => Tone::Good,
        "failed" => Tone::Bad,
        "cancelled" => Tone::Plain,
        "waiting" => Tone::Warn,
        _ => Tone::Info,
    };
    badge(tone, word)
}
