//! The tags around a model's reasoning, `<think>…</think>` and similar, at one place of a text that
//! may still be arriving. Does not know sections.

use super::header::{ScanResult, same};

/// The reasoning tags of a family of models.
#[derive(Debug)]
pub(super) struct ReasoningTag {
    /// The word in the tag. An output with that name owns the tag.
    name: &'static str,
    open: &'static str,
    close: &'static str,
}

const TAGS: [ReasoningTag; 10] = [
    ReasoningTag { name: "think", open: "<think>", close: "</think>" },
    ReasoningTag { name: "thinking", open: "<thinking>", close: "</thinking>" },
    ReasoningTag { name: "thought", open: "<thought>", close: "</thought>" },
    ReasoningTag { name: "reasoning", open: "<reasoning>", close: "</reasoning>" },
    ReasoningTag { name: "reflection", open: "<reflection>", close: "</reflection>" },
    ReasoningTag { name: "scratchpad", open: "<scratchpad>", close: "</scratchpad>" },
    ReasoningTag { name: "think", open: "<seed:think>", close: "</seed:think>" },
    ReasoningTag { name: "think", open: "[THINK]", close: "[/THINK]" },
    ReasoningTag { name: "thought", open: "<|begin_of_thought|>", close: "<|end_of_thought|>" },
    ReasoningTag {
        name: "analysis",
        open: "<|channel|>analysis<|message|>",
        close: "<|channel|>final<|message|>",
    },
];

impl ReasoningTag {
    /// The range of the closing tag in a text.
    pub(super) fn find_close(&self, text: &str) -> Option<std::ops::Range<usize>> {
        let first = *self.close.as_bytes().first()?;
        let mut from = 0;
        while let Some(step) = text.as_bytes().get(from..)?.iter().position(|b| *b == first) {
            let start = from + step;
            if let ScanResult::Match(length) = starts(text.get(start..)?, self.close, true) {
                return Some(start..start + length);
            }
            from = start + 1;
        }
        None
    }

    /// How many bytes at the end of a text may be the beginning of the closing tag.
    pub(super) const fn longest_part_of_close(&self) -> usize {
        self.close.len() - 1
    }
}

/// The tags that no output owns.
pub(super) fn reasoning_tags<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
) -> Vec<&'static ReasoningTag> {
    TAGS.iter().filter(|tag| !names.clone().any(|name| same(name, tag.name))).collect()
}

/// The opening tag at the beginning of `text`, with its length.
pub(super) fn opening(
    text: &str,
    tags: &[&'static ReasoningTag],
    ended: bool,
) -> ScanResult<(&'static ReasoningTag, usize)> {
    any(tags, |tag| match starts(text, tag.open, ended) {
        ScanResult::Match(length) => ScanResult::Match((tag, length)),
        ScanResult::NoMatch => ScanResult::NoMatch,
        ScanResult::Incomplete => ScanResult::Incomplete,
    })
}

/// The length of the closing tag at the beginning of `text`.
pub(super) fn closing(
    text: &str,
    tags: &[&'static ReasoningTag],
    ended: bool,
) -> ScanResult<usize> {
    any(tags, |tag| starts(text, tag.close, ended))
}

fn any<T>(
    tags: &[&'static ReasoningTag],
    scan: impl Fn(&'static ReasoningTag) -> ScanResult<T>,
) -> ScanResult<T> {
    let mut best = ScanResult::NoMatch;
    for tag in tags {
        match scan(tag) {
            ScanResult::NoMatch => {}
            ScanResult::Incomplete => best = ScanResult::Incomplete,
            yes @ ScanResult::Match(_) => return yes,
        }
    }
    best
}

fn starts(text: &str, mark: &str, ended: bool) -> ScanResult<usize> {
    let length = text.len().min(mark.len());
    let (Some(found), Some(wanted)) =
        (text.as_bytes().get(..length), mark.as_bytes().get(..length))
    else {
        return ScanResult::NoMatch;
    };
    match found.eq_ignore_ascii_case(wanted) {
        true if length == mark.len() => ScanResult::Match(length),
        true if !ended => ScanResult::Incomplete,
        _ => ScanResult::NoMatch,
    }
}
