//! What a text uses that the language does not have.

use std::fmt;

use crate::language::{known, missing};

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// A filter that does not exist.
    Filter,
    /// A test that does not exist.
    Test,
    /// A method that does not exist.
    Method,
    /// A function that does not exist.
    Function,
    /// The call of a value.
    Value,
    /// The call of a block of a template.
    Block,
    /// The step of a slice that is not a positive number.
    Step,
    /// A tag that is neither `if` nor `for`.
    Tag,
}

/// Something that a text uses and that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is.
    pub kind: RefusalKind,
    /// Its name; empty if it has none.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
}

impl Refusal {
    /// The names that there are instead.
    #[must_use]
    pub const fn known(&self) -> &'static [&'static str] {
        known(self.kind)
    }

    /// Why there is none, or what to use instead, if that is known.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        missing(self.kind, &self.name)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.kind {
            RefusalKind::Filter => write!(f, "there is no filter `{name}`"),
            RefusalKind::Test => write!(f, "there is no test `{name}`"),
            RefusalKind::Method => write!(f, "there is no method `{name}`"),
            RefusalKind::Function => write!(f, "there is no function `{name}`"),
            RefusalKind::Value => f.write_str("a value is called like a function"),
            RefusalKind::Block => write!(f, "`self.{name}()` calls a block, and there are no blocks"),
            RefusalKind::Step => f.write_str(
                "the step of a slice is a positive number; the filter `reverse` reverses a text or a list",
            ),
            RefusalKind::Tag => f.write_str("a tag is neither `if` nor `for`"),
        }?;
        self.reason().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}
