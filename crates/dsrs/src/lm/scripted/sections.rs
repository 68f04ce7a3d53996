//! Finds the sections of messages by their headers, for test doubles of LMs: which sections are
//! requested, which are present, how they are written. Knows nothing of signatures.

use crate::lm::{LmRequest, Message, Role};

const OPEN: &str = "[[ ## ";
const CLOSE: &str = " ## ]]";
const COMPLETED: &str = "completed";

/// Writes values under their headers, then the closing marker.
#[must_use]
pub fn layout<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        text.push_str(&format!("{OPEN}{name}{CLOSE}\n{value}\n\n"));
    }
    text + OPEN + COMPLETED + CLOSE
}

/// The sections of a text with their contents. A section ends at the next header line.
#[must_use]
pub fn sections(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match (header(line), found.last_mut()) {
            (Some(COMPLETED), _) => open = false,
            (Some(name), _) => {
                found.push((name, String::new()));
                open = true;
            }
            (None, _) if line.contains(OPEN) => open = false,
            (None, Some((_, value))) if open => {
                value.push_str(line);
                value.push('\n');
            }
            (None, _) => {}
        }
    }
    found.into_iter().map(|(name, value)| (name, value.trim().to_owned())).collect()
}

/// The sections that a text names, each once, in order.
#[must_use]
pub fn named_once(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in named_sections(text).filter(|name| *name != COMPLETED) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The name of a header that is the whole line.
fn header(line: &str) -> Option<&str> {
    line.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)
}

/// The sections that the system message and the user turns of this call name, without those that a
/// user turn fills in. The sections of demos do not count.
#[must_use]
pub fn open_sections(request: &LmRequest) -> Vec<&str> {
    let of = |role| move |message: &&Message| message.role == role;
    let turns = || request.chat.turns.iter().filter(of(Role::User));
    let filled: Vec<&str> = turns().flat_map(|message| filled_sections(&message.content)).collect();
    let rules = request.chat.messages().filter(of(Role::System));
    let named = rules.chain(turns()).flat_map(|message| named_sections(&message.content));
    named.filter(|name| !filled.contains(name)).collect()
}

fn named_sections(text: &str) -> impl Iterator<Item = &str> {
    text.split(OPEN).skip(1).filter_map(|rest| Some(rest.split_once(CLOSE)?.0))
}

/// The sections whose header is a whole line with text right below it.
fn filled_sections(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .zip(text.lines().skip(1))
        .filter(|(_, below)| !below.trim().is_empty() && !below.trim_start().starts_with(OPEN))
        .filter_map(|(line, _)| header(line))
}
