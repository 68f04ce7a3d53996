//! A place inside a value, as a chain of borrowed steps. Only errors and reports convert it to
//! text.

use std::fmt;

use super::shorten;

/// A place in a value.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The whole value.
    Root,
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An element of a list or tuple.
    Element(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The member with a name, below this place.
    #[must_use]
    pub const fn member(&'a self, name: &'a str) -> Path<'a> {
        Path::Member(self, name)
    }

    /// The element at an index, below this place.
    #[must_use]
    pub const fn element(&'a self, index: usize) -> Path<'a> {
        Path::Element(self, index)
    }

    /// The number of steps.
    #[must_use]
    pub const fn depth(&self) -> usize {
        let mut depth = 0;
        let mut here = self;
        while let Path::Member(parent, _) | Path::Element(parent, _) = here {
            depth += 1;
            here = parent;
        }
        depth
    }
}

/// Splits a path as text into its first step and the rest.
pub(crate) fn split_first_step(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (first, rest) = path.split_at(end);
    (first, rest.strip_prefix('.').unwrap_or(rest))
}

/// As text, with very long names shortened: keys can have any length.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Member(Path::Root, name) => f.write_str(&shorten(name)),
            Path::Member(parent, name) => write!(f, "{parent}.{}", shorten(name)),
            Path::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_selections() {
        let root = Path::Root;
        let people = root.member("people");
        let first = people.element(0);
        assert_eq!(first.member("age").to_string(), "people[0].age");
        assert_eq!(root.element(2).to_string(), "[2]");
        assert_eq!(first.depth(), 2);
    }
}
