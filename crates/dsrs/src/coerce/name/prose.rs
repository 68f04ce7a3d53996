//! Finds names as whole words in a sentence and whether the sentence negates them. Does not know
//! what the names belong to.

use std::cmp::Reverse;

/// How many characters before a name are checked for a negation.
const REACH: usize = 60;

/// Verbs with a negation, without apostrophe.
const DENIALS: [&str; 12] = [
    "isnt", "arent", "wasnt", "werent", "dont", "doesnt", "didnt", "wont", "cant", "shouldnt",
    "neednt", "aint",
];

/// One occurrence of a name in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coerce) struct Mention {
    /// The index of the name.
    pub(in crate::coerce) name: usize,
    pub(in crate::coerce) start: usize,
    pub(in crate::coerce) end: usize,
    /// Whether a negation precedes it.
    pub(in crate::coerce) denied: bool,
}

/// All occurrences of the names as whole words, except those inside of a longer name. Text and
/// names have the same spelling.
pub(in crate::coerce) fn mentions<N: AsRef<str>>(text: &str, names: &[N]) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for (name, spelling) in names.iter().enumerate() {
        let spelling = spelling.as_ref();
        if spelling.is_empty() {
            continue;
        }
        for (start, _) in text.match_indices(spelling) {
            let end = start + spelling.len();
            if is_whole(text, start, end) {
                found.push(Mention { name, start, end, denied: is_denied(&text[..start]) });
            }
        }
    }
    found.sort_by_key(|mention| (mention.start, Reverse(mention.end)));
    let mut widest: Option<Mention> = None;
    found.retain(|mention| {
        let hidden = widest.is_some_and(|wide| mention.is_within(wide));
        if widest.is_none_or(|wide| mention.end > wide.end) {
            widest = Some(*mention);
        }
        !hidden
    });
    found
}

impl Mention {
    const fn is_within(self, wide: Self) -> bool {
        self.end <= wide.end && self.end - self.start < wide.end - wide.start
    }
}

/// Whether a name is in quotes, or was before one of them was lost: `TWO" is it`.
pub(super) fn is_quoted(text: &str, mention: &Mention) -> bool {
    let mut before = text[..mention.start].chars().rev();
    let mut after = text[mention.end..].chars();
    let quotes = |mark: Option<char>, beyond: Option<char>| {
        mark.is_some_and(is_quote) && !beyond.is_some_and(char::is_alphanumeric)
    };
    quotes(before.next(), before.next()) || quotes(after.next(), after.next())
}

const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '*' | '“' | '”' | '„' | '‘' | '’' | '«' | '»')
}

/// Whether no letter or digit is adjacent.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let joined = |c: char| c.is_alphanumeric();
    !text[..start].ends_with(joined) && !text[end..].starts_with(joined)
}

/// Whether the clause before a name negates it with `not`, `isn't` or `never`, at most three words
/// away.
fn is_denied(before: &str) -> bool {
    let near = before.char_indices().rev().nth(REACH).map_or(before, |(at, _)| &before[at..]);
    let clause = near.rsplit(['.', ',', ';', ':', '!', '?', '\n', '—']).next().unwrap_or_default();
    for (distance, word) in clause.split_whitespace().rev().take(3).enumerate() {
        match word.to_lowercase().as_str() {
            "but" | "rather" | "instead" => return false,
            "not" | "never" | "neither" | "nor" | "cannot" => return true,
            "no" if distance == 0 => return true,
            word if DENIALS.contains(&word.replace(['\'', '’'], "").as_str()) => return true,
            _ => {}
        }
    }
    false
}
