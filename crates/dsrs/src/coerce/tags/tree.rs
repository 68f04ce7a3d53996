//! The nested elements of a text.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::super::lines::data;
use super::super::loose::{Loose, LooseShape};
use super::super::repair::{self, DEPTH_LIMIT};
use super::super::{Leniencies, LeniencyKind};
use super::entity;
use super::tag::{self, TagKind, XmlTag};

type Member<'t> = (Cow<'t, str>, Loose<'t>);

/// The text between these is skipped.
const ASIDES: &[(&str, &str)] = &[("<!--", "-->"), ("<?", "?>")];

/// How many times a text may be read as data in total, by nested elements with mixed content.
const READINGS: usize = 4;

/// The elements of a text, while it is parsed.
pub(super) struct TagTree<'t> {
    text: &'t str,
    allowed: Leniencies,
    /// The outermost elements.
    outermost: Vec<Member<'t>>,
    open: Vec<OpenElement<'t>>,
    /// The text before this position is read.
    seen: usize,
    /// How many bytes may still be read as data.
    readable: usize,
    prose: bool,
}

/// An open element.
struct OpenElement<'t> {
    name: &'t str,
    /// The start of its tag and of its content.
    start: usize,
    inner: usize,
    members: Vec<Member<'t>>,
    /// Whether it contains other elements, and text beside them.
    nests: bool,
    has_text: bool,
}

impl<'t> TagTree<'t> {
    /// Parses a text. `None` if it has no elements or too deep ones.
    pub(super) fn of(text: &'t str, allowed: Leniencies) -> Option<Self> {
        let mut tree = Self {
            text,
            allowed,
            outermost: Vec::new(),
            open: Vec::new(),
            seen: 0,
            readable: text.len().saturating_mul(READINGS),
            prose: false,
        };
        let mut at = 0;
        while let Some(next) = text.get(at..)?.find('<') {
            at += next;
            at = tree.mark(at)?;
        }
        tree.text_until(text.len());
        tree.close_to(0, text.len());
        (!tree.outermost.is_empty()).then_some(tree)
    }

    /// The leniencies needed to find the elements.
    pub(super) fn leniencies(&self) -> Leniencies {
        let leniencies = Leniencies::NONE.with(LeniencyKind::Tags);
        if self.prose { leniencies.with(LeniencyKind::Prose) } else { leniencies }
    }

    /// The outermost elements; those with the same name become a list.
    pub(super) fn members(self) -> Vec<Member<'t>> {
        together(self.text, self.outermost)
    }

    /// Reads the tag at this angle bracket. Returns the position after it.
    fn mark(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        if let Some((_, closer)) = ASIDES.iter().find(|(opener, _)| rest.starts_with(opener)) {
            let len = rest.find(closer).map_or(rest.len(), |len| len + closer.len());
            self.text_until(at);
            self.seen = at + len;
            return Some(self.seen);
        }
        if rest.starts_with("<![CDATA[") {
            return Some(at + rest.find("]]>").map_or(rest.len(), |len| len + 3));
        }
        let Some(tag) = tag::at(rest) else { return Some(at + 1) };
        let end = at + tag.len;
        if tag.kind == TagKind::Close {
            self.close(tag.name, at, end);
            return Some(end);
        }
        self.text_until(at);
        self.seen = end;
        let is_empty = tag.kind == TagKind::Empty;
        self.push(tag, at)?;
        if is_empty && let Some(element) = self.open.pop() {
            self.finish(element, end, end, Leniencies::NONE);
        }
        Some(end)
    }

    fn push(&mut self, tag: XmlTag<'t>, start: usize) -> Option<()> {
        if self.open.len() >= DEPTH_LIMIT {
            return None;
        }
        if let Some(parent) = self.open.last_mut() {
            parent.nests = true;
        }
        let attribute = |(name, value)| {
            let source = if let Cow::Borrowed(text) = value { text } else { name };
            let shape = LooseShape::Quoted(value);
            (Cow::Borrowed(name), Loose { source, shape, leniencies: Leniencies::NONE })
        };
        let members = tag.attributes.into_iter().map(attribute).collect();
        let inner = start + tag.len;
        let element =
            OpenElement { name: tag.name, start, inner, members, nests: false, has_text: false };
        self.open.push(element);
        Some(())
    }

    /// Closes the nearest element with this name and the unclosed elements in it.
    fn close(&mut self, name: &str, at: usize, end: usize) {
        let Some(index) = self.open.iter().rposition(|element| element.name == name) else {
            return;
        };
        self.text_until(at);
        self.close_to(index + 1, at);
        if let Some(element) = self.open.pop() {
            self.finish(element, at, end, Leniencies::NONE);
        }
        self.seen = end;
    }

    /// Closes all unclosed elements from an index on.
    fn close_to(&mut self, index: usize, at: usize) {
        while self.open.len() > index
            && let Some(element) = self.open.pop()
        {
            self.finish(element, at, at, Leniencies::NONE.with(LeniencyKind::Unclosed));
        }
    }

    fn finish(&mut self, element: OpenElement<'t>, at: usize, end: usize, leniencies: Leniencies) {
        let inner = self.text.get(element.inner..at).unwrap_or_default();
        let source = self.text.get(element.start..end).unwrap_or_default();
        let mut members = element.members;
        let value = if element.nests && !element.has_text {
            let shape = LooseShape::Map(together(source, members));
            Loose { source, shape, leniencies }
        } else {
            let mut value = self.value(inner);
            value.leniencies = value.leniencies.and(leniencies);
            if members.is_empty() || element.nests {
                value
            } else {
                if value.shape != LooseShape::Missing {
                    members.push((Cow::Borrowed("text"), value));
                }
                Loose { source, shape: LooseShape::Map(members), leniencies }
            }
        };
        let siblings =
            self.open.last_mut().map_or(&mut self.outermost, |parent| &mut parent.members);
        siblings.push((Cow::Borrowed(element.name), value));
    }

    /// The text of an element as data.
    fn value(&mut self, inner: &'t str) -> Loose<'t> {
        let text = inner.trim();
        let is_readable = text.len() <= self.readable;
        self.readable = self.readable.saturating_sub(text.len());
        let raw = text.strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>"));
        if raw.is_none() && !is_readable {
            return repair::as_bare_text(text);
        }
        let content = raw.map_or_else(|| entity::undo(text), Cow::Borrowed);
        match content {
            Cow::Borrowed(_) if raw.is_none() => data(inner, self.allowed),
            content => Loose {
                source: inner,
                shape: LooseShape::Quoted(content),
                leniencies: Leniencies::NONE,
            },
        }
    }

    /// Records text beside the elements before a tag.
    fn text_until(&mut self, at: usize) {
        let has_text = self.text.get(self.seen..at).is_some_and(|text| !text.trim().is_empty());
        match self.open.last_mut() {
            Some(element) => element.has_text |= has_text,
            None => self.prose |= has_text,
        }
        self.seen = at;
    }
}

/// Members; those with the same name become a list.
fn together<'t>(source: &'t str, members: Vec<Member<'t>>) -> Vec<Member<'t>> {
    let mut groups: IndexMap<Cow<'t, str>, Vec<Loose<'t>>> = IndexMap::new();
    for (name, value) in members {
        groups.entry(name).or_default().push(value);
    }
    let grouped = |(name, mut values): (_, Vec<_>)| match values.pop() {
        Some(only) if values.is_empty() => (name, only),
        last => {
            values.extend(last);
            (name, Loose { source, shape: LooseShape::List(values), leniencies: Leniencies::NONE })
        }
    };
    groups.into_iter().map(grouped).collect()
}
