//! The marks around a model's reasoning: `<think>…</think>` and its kin. Knows one place of a text
//! that may still be arriving, and nothing of sections.

use super::header::{Found, same};

/// How one family of models marks its reasoning.
#[derive(Debug)]
pub(super) struct Tag {
    /// The word in it. An output of that name makes it the output's own.
    name: &'static str,
    open: &'static str,
    close: &'static str,
}

const TAGS: [Tag; 10] = [
    Tag { name: "think", open: "<think>", close: "</think>" },
    Tag { name: "thinking", open: "<thinking>", close: "</thinking>" },
    Tag { name: "thought", open: "<thought>", close: "</thought>" },
    Tag { name: "reasoning", open: "<reasoning>", close: "</reasoning>" },
    Tag { name: "reflection", open: "<reflection>", close: "</reflection>" },
    Tag { name: "scratchpad", open: "<scratchpad>", close: "</scratchpad>" },
    Tag { name: "think", open: "<seed:think>", close: "</seed:think>" },
    Tag { name: "think", open: "[THINK]", close: "[/THINK]" },
    Tag { name: "thought", open: "<|begin_of_thought|>", close: "<|end_of_thought|>" },
    Tag {
        name: "analysis",
        open: "<|channel|>analysis<|message|>",
        close: "<|channel|>final<|message|>",
    },
];

impl Tag {
    /// Where its close stands in a text: the whole mark.
    pub(super) fn find_close(&self, text: &str) -> Option<std::ops::Range<usize>> {
        let first = *self.close.as_bytes().first()?;
        let mut from = 0;
        while let Some(step) = text.as_bytes().get(from..)?.iter().position(|b| *b == first) {
            let start = from + step;
            if let Found::Yes(length) = starts(text.get(start..)?, self.close, true) {
                return Some(start..start + length);
            }
            from = start + 1;
        }
        None
    }

    /// How much of the end of a text may be the beginning of its close.
    pub(super) const fn longest_part_of_close(&self) -> usize {
        self.close.len() - 1
    }
}

/// The marks that none of these names makes its own.
pub(super) fn tags_beside<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<&'static Tag> {
    TAGS.iter().filter(|tag| !names.clone().any(|name| same(name, tag.name))).collect()
}

/// The mark at the beginning of `text` that opens reasoning, with its length.
pub(super) fn opening(
    text: &str,
    tags: &[&'static Tag],
    ended: bool,
) -> Found<(&'static Tag, usize)> {
    any(tags, |tag| match starts(text, tag.open, ended) {
        Found::Yes(length) => Found::Yes((tag, length)),
        Found::No => Found::No,
        Found::Unsure => Found::Unsure,
    })
}

/// The length of the mark at the beginning of `text` that closes reasoning.
pub(super) fn closing(text: &str, tags: &[&'static Tag], ended: bool) -> Found<usize> {
    any(tags, |tag| starts(text, tag.close, ended))
}

fn any<T>(tags: &[&'static Tag], look: impl Fn(&'static Tag) -> Found<T>) -> Found<T> {
    let mut best = Found::No;
    for tag in tags {
        match look(tag) {
            Found::No => {}
            Found::Unsure => best = Found::Unsure,
            yes @ Found::Yes(_) => return yes,
        }
    }
    best
}

fn starts(text: &str, mark: &str, ended: bool) -> Found<usize> {
    let length = text.len().min(mark.len());
    let (Some(found), Some(wanted)) =
        (text.as_bytes().get(..length), mark.as_bytes().get(..length))
    else {
        return Found::No;
    };
    match found.eq_ignore_ascii_case(wanted) {
        true if length == mark.len() => Found::Yes(length),
        true if !ended => Found::Unsure,
        _ => Found::No,
    }
}
