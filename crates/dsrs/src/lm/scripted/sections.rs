//! Sections of messages by their headers, for LMs that are no models: which are asked for, which are
//! there, how they are written. Knows nothing of signatures.

use crate::lm::{LmRequest, Message, Role};

const OPEN: &str = "[[ ## ";
const CLOSE: &str = " ## ]]";
const COMPLETED: &str = "completed";

/// Values under their headers, then the closing marker.
pub(in crate::lm) fn layout<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        text.push_str(&format!("{OPEN}{name}{CLOSE}\n{value}\n\n"));
    }
    text + OPEN + COMPLETED + CLOSE
}

/// The sections of a text with what stands in them. A section goes to the next line that names one.
pub(in crate::lm) fn sections(text: &str) -> Vec<(&str, String)> {
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

/// The outputs that a text names, each once, in order.
pub(in crate::lm) fn outputs_named(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in named_sections(text).filter(|name| *name != COMPLETED) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The name of the header that has this line to itself.
fn header(line: &str) -> Option<&str> {
    line.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)
}

/// The sections that the system message and this call's user turns name, less those that a user
/// turn fills in. Demos name sections too, but they are not this call's.
pub(in crate::lm) fn wanted_sections(request: &LmRequest) -> Vec<&str> {
    let of = |role| move |message: &&Message| message.role == role;
    let asked = || request.chat.turns.iter().filter(of(Role::User));
    let filled: Vec<&str> = asked().flat_map(|said| filled_sections(&said.content)).collect();
    let rules = request.chat.messages().filter(of(Role::System));
    let named = rules.chain(asked()).flat_map(|said| named_sections(&said.content));
    named.filter(|name| !filled.contains(name)).collect()
}

fn named_sections(text: &str) -> impl Iterator<Item = &str> {
    text.split(OPEN).skip(1).filter_map(|rest| Some(rest.split_once(CLOSE)?.0))
}

/// A section is filled in where its header has a line to itself and text right under it.
fn filled_sections(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .zip(text.lines().skip(1))
        .filter(|(_, below)| !below.trim().is_empty() && !below.trim_start().starts_with(OPEN))
        .filter_map(|(line, _)| header(line))
}
