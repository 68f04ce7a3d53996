//! One tag of a text.

use std::borrow::Cow;

use super::entity;

/// The longest tag.
const LIMIT: usize = 200;

/// A tag in a text.
pub(super) struct XmlTag<'t> {
    pub(super) name: &'t str,
    pub(super) kind: TagKind,
    /// Names and values of attributes.
    pub(super) attributes: Vec<(&'t str, Cow<'t, str>)>,
    /// Its length, including the angle brackets.
    pub(super) len: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    Open,
    Close,
    /// `<name/>`
    Empty,
}

/// The tag at the beginning of a text.
pub(super) fn at(text: &str) -> Option<XmlTag<'_>> {
    let near = text.as_bytes().get(..LIMIT.min(text.len()))?;
    let end = near.iter().position(|byte| *byte == b'>')?;
    let inside = text.get(1..end)?;
    let (kind, inside) = match (inside.strip_prefix('/'), inside.strip_suffix('/')) {
        (Some(inside), _) => (TagKind::Close, inside),
        (None, Some(inside)) => (TagKind::Empty, inside),
        (None, None) => (TagKind::Open, inside),
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let len = inside.find(|c| !is_part(c)).unwrap_or(inside.len());
    let (name, rest) = inside.split_at_checked(len)?;
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') || rest.contains('<') {
        return None;
    }
    let attributes = if kind == TagKind::Close { Vec::new() } else { attributes(rest)? };
    Some(XmlTag { name, kind, attributes, len: end + 1 })
}

/// `name="value"` pairs; `None` for anything else.
fn attributes(text: &str) -> Option<Vec<(&str, Cow<'_, str>)>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=')?;
        let behind = behind.trim_start();
        let quote = behind.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, behind) = behind.get(1..)?.split_once(quote)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        found.push((name, entity::undo(value)));
        rest = behind.trim_start();
    }
    Some(found)
}
