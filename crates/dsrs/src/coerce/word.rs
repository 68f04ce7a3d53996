//! The words for booleans and null. Does not know types.

use super::name::{Mention, bare, folded, mentions, opening};
use super::{Leniencies, LeniencyKind};

/// Why a text is no boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TruthError {
    None,
    Both,
    Denied,
}

impl TruthError {
    /// The reason in words; empty if the text makes it obvious.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Both => "both true and false",
            Self::Denied => "denied",
        }
    }
}

/// The boolean that a text means, with the leniencies needed.
pub(super) fn truth(text: &str, allowed: Leniencies) -> Result<(bool, Leniencies), TruthError> {
    let word = Leniencies::NONE.with(LeniencyKind::Word);
    let prose = Leniencies::NONE.with(LeniencyKind::Prose);
    let by = |verdict: &str| {
        if matches!(folded(verdict).as_str(), "true" | "false") {
            prose
        } else {
            prose.with(LeniencyKind::Word)
        }
    };
    if let Some(flag) = of_word(bare(text)) {
        return if allowed.covers(word) { Ok((flag, word)) } else { Err(TruthError::None) };
    }
    if let Some((flag, used)) =
        opening(text).and_then(|verdict| Some((of_word(verdict)?, by(verdict))))
        && allowed.covers(used)
    {
        return Ok((flag, used));
    }
    in_prose(text, allowed)
}

fn of_word(text: &str) -> Option<bool> {
    if text.len() > 5 {
        return None;
    }
    match folded(text).as_str() {
        "true" | "yes" | "y" | "on" => Some(true),
        "false" | "no" | "n" | "off" => Some(false),
        _ => None,
    }
}

/// The only boolean in a sentence: `true` or `false` anywhere, `yes` or `no` at the end of a
/// clause, since `no` also counts things.
fn in_prose(text: &str, allowed: Leniencies) -> Result<(bool, Leniencies), TruthError> {
    const NAMES: [&str; 4] = ["true", "false", "yes", "no"];
    if !allowed.has(LeniencyKind::Prose) {
        return Err(TruthError::None);
    }
    let text = folded(text);
    let counts = |mention: &&Mention| {
        let ends = text[mention.end..].trim_start_matches(['*', '`', '"']);
        mention.name < 2
            || (allowed.has(LeniencyKind::Word)
                && (ends.is_empty() || ends.starts_with(['.', ',', ';', '!', '\n'])))
    };
    let found = mentions(&text, &NAMES);
    let counted: Vec<&Mention> = found.iter().filter(counts).collect();
    let meant: Vec<usize> =
        counted.iter().filter(|mention| !mention.denied).map(|mention| mention.name).collect();
    let Some(first) = meant.first() else {
        return Err(if counted.is_empty() { TruthError::None } else { TruthError::Denied });
    };
    // `yes` counts nothing; anywhere in the sentence it contradicts a `no`.
    let yes = found.iter().any(|mention| mention.name == 2 && !mention.denied);
    if meant.iter().any(|other| other % 2 != first % 2) || yes && first % 2 == 1 {
        return Err(TruthError::Both);
    }
    let plain = meant.iter().any(|name| *name < 2);
    let used = Leniencies::NONE.with(LeniencyKind::Prose);
    Ok((first % 2 == 0, if plain { used } else { used.with(LeniencyKind::Word) }))
}

/// Whether a text is a word for null.
pub(super) fn is_null(text: &str) -> bool {
    let word = bare(text);
    word.len() <= 4 && matches!(folded(word).as_str(), "null" | "none" | "nil" | "n/a")
}
