//! The path of a predictor within a module, as text: `field`, `items[0]`, `weights['key']`. Options
//! and boxes add nothing to it.

use std::fmt::Write as _;

/// A path that grows by one step at a time and shrinks again on the way back.
#[derive(Debug, Default)]
pub(super) struct PathText(String);

impl PathText {
    /// The path so far.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The current length, for [`Self::back_to`].
    pub(super) const fn mark(&self) -> usize {
        self.0.len()
    }

    /// Shortens the path to an earlier length.
    pub(super) fn back_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    /// A field of a struct.
    pub(super) fn field(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push('.');
        }
        self.0.push_str(name);
    }

    /// An element of a list.
    pub(super) fn index(&mut self, index: usize) {
        let _ = write!(self.0, "[{index}]");
    }

    /// An entry of a map.
    pub(super) fn key(&mut self, key: &str) {
        self.0.push_str("['");
        for c in key.chars() {
            match c {
                '\\' => self.0.push_str("\\\\"),
                '\'' => self.0.push_str("\\'"),
                c if c.is_control() => {
                    let _ = write!(self.0, "\\u{{{:X}}}", u32::from(c));
                }
                c => self.0.push(c),
            }
        }
        self.0.push_str("']");
    }
}
