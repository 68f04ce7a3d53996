//! Problems of a document: the place, a stable code and a text. All readers and checkers report
//! them. Knows nothing of HTTP; a response lists them as `errors`.

use std::collections::HashSet;
use std::fmt;

/// Stable, machine-readable codes of problems. Codes are added, never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// An unknown member, or a path without a field.
    UnknownField,
    /// A required member is missing.
    MissingField,
    /// A member has the wrong JSON type.
    WrongType,
    /// A member has the right type, but a value that is not allowed.
    InvalidValue,
    /// Two things have the same name, or a JSON object has a duplicate key.
    DuplicateName,
    /// The strategy is not in the registry.
    UnknownStrategy,
    /// The config does not fit the strategy's config schema.
    InvalidConfig,
    /// The signature cannot be read.
    InvalidSignature,
    /// The type expression or JSON Schema cannot be read.
    InvalidType,
    /// The name does not match the grammar of names.
    InvalidName,
    /// The name is reserved.
    ReservedName,
    /// An edge, output or edit names a node that does not exist.
    UnknownNode,
    /// The source of an edge is not assignable to its target.
    TypeMismatch,
    /// Edges form a cycle.
    Cycle,
    /// The same edge occurs twice.
    DuplicateEdge,
    /// An input has more than one source.
    InputAlreadyConnected,
    /// An input has neither a source nor a default.
    UnconnectedInput,
    /// A type cannot be inferred from the connected nodes.
    UndeterminedType,
    /// The model alias is not configured.
    UnknownModel,
    /// A size, count or depth exceeds its limit.
    TooLarge,
    /// The `name` in the body is not the name in the path.
    NameMismatch,
}

impl Code {
    /// The code that clients see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownField => "unknown_field",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::InvalidValue => "invalid_value",
            Self::DuplicateName => "duplicate_name",
            Self::UnknownStrategy => "unknown_strategy",
            Self::InvalidConfig => "invalid_config",
            Self::InvalidSignature => "invalid_signature",
            Self::InvalidType => "invalid_type",
            Self::InvalidName => "invalid_name",
            Self::ReservedName => "reserved_name",
            Self::UnknownNode => "unknown_node",
            Self::TypeMismatch => "type_mismatch",
            Self::Cycle => "cycle",
            Self::DuplicateEdge => "duplicate_edge",
            Self::InputAlreadyConnected => "input_already_connected",
            Self::UnconnectedInput => "unconnected_input",
            Self::UndeterminedType => "undetermined_type",
            Self::UnknownModel => "unknown_model",
            Self::TooLarge => "too_large",
            Self::NameMismatch => "name_mismatch",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place in a JSON document, as a chain of borrowed steps. Extending it is free; only a problem
/// allocates the text.
///
/// ```
/// use dsrs::problem::At;
/// let root = At::Root;
/// let nodes = root.key("nodes");
/// assert_eq!(nodes.key("a/b").index(2).pointer(), "/nodes/a~1b/2");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    /// The whole document.
    Root,
    /// A member of the object at the place.
    Key(&'a At<'a>, &'a str),
    /// An element of the array at the place.
    Index(&'a At<'a>, usize),
}

impl<'a> At<'a> {
    /// The place of the member `name`.
    #[must_use]
    pub const fn key(&'a self, name: &'a str) -> At<'a> {
        At::Key(self, name)
    }

    /// The place of the element `index`.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> At<'a> {
        At::Index(self, index)
    }

    /// The name of the nearest member on the way to this place.
    #[must_use]
    pub const fn name(&self) -> Option<&'a str> {
        match self {
            At::Root => None,
            At::Key(_, name) => Some(name),
            At::Index(parent, _) => parent.name(),
        }
    }

    /// This place as a JSON Pointer (RFC 6901).
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            At::Root => {}
            At::Key(parent, name) => {
                parent.write(text);
                text.push('/');
                text.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            At::Index(parent, index) => {
                parent.write(text);
                text.push('/');
                text.push_str(&index.to_string());
            }
        }
    }
}

/// One problem at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// JSON Pointer into the document.
    pub pointer: String,
    /// Stable code.
    pub code: Code,
    /// Names the thing and how to fix it, for a person.
    pub detail: String,
}

impl Problem {
    fn shortened(mut self) -> Self {
        shorten(&mut self.pointer, POINTER_LIMIT);
        shorten(&mut self.detail, DETAIL_LIMIT);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{place}: {} ({})", self.detail, self.code)
    }
}

/// How many problems are recorded. More are counted.
const MOST: usize = 100;

/// The longest pointer of a recorded problem, in bytes.
const POINTER_LIMIT: usize = 1_000;

/// The longest detail of a recorded problem, in bytes.
const DETAIL_LIMIT: usize = 2_000;

/// The problems of a document, in the order of detection. The first 100 are recorded, with pointers
/// and details of bounded length; all are counted. A document can have a million problems, each
/// behind a name of a million bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    recorded: Vec<Problem>,
    unrecorded: usize,
}

impl Problems {
    /// No problems yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a problem at a place.
    pub fn add(&mut self, at: &At<'_>, code: Code, detail: impl Into<String>) {
        match self.recorded.len() < MOST {
            true => self.push(Problem { pointer: at.pointer(), code, detail: detail.into() }),
            false => self.unrecorded += 1,
        }
    }

    /// Adds an existing problem.
    pub fn push(&mut self, problem: Problem) {
        match self.recorded.len() < MOST {
            true => self.recorded.push(problem.shortened()),
            false => self.unrecorded += 1,
        }
    }

    /// Adds the problem that ends a check. It is recorded even if the list is full.
    pub fn add_last(&mut self, at: &At<'_>, code: Code, detail: impl Into<String>) {
        let last = Problem { pointer: at.pointer(), code, detail: detail.into() };
        self.recorded.push(last.shortened());
    }

    /// Adds all problems of another check.
    pub fn append(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        self.extend(other.recorded);
        self.unrecorded += other.unrecorded;
    }

    /// Adds the problems of a later check of the same document, except consequences of known ones:
    /// repetitions, and problems inside a part that is missing or of the wrong type.
    pub fn also(&mut self, later: Self) {
        if self.is_empty() {
            return self.append(later);
        }
        let known: HashSet<(&str, Code)> =
            self.recorded.iter().map(|found| (found.pointer.as_str(), found.code)).collect();
        let unread = |place: &str| {
            let unread = [Code::MissingField, Code::WrongType];
            unread.iter().any(|code| known.contains(&(place, *code)))
        };
        let follows = |found: &Problem| {
            let place = found.pointer.as_str();
            known.contains(&(place, found.code))
                || place.rmatch_indices('/').any(|(end, _)| unread(&place[..end]))
        };
        let fresh: Vec<Problem> =
            later.recorded.into_iter().filter(|found| !follows(found)).collect();
        self.extend(fresh);
        self.unrecorded += later.unrecorded;
    }

    /// The same problems after a change of each recorded one.
    #[must_use]
    pub fn map(self, mut change: impl FnMut(Problem) -> Problem) -> Self {
        let change = |problem| change(problem).shortened();
        Self {
            recorded: self.recorded.into_iter().map(change).collect(),
            unrecorded: self.unrecorded,
        }
    }

    /// Whether there are no problems.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// The number of problems, with those that are only counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorded.len() + self.unrecorded
    }

    /// The number of problems that are only counted.
    #[must_use]
    pub fn unrecorded(&self) -> usize {
        self.unrecorded
    }

    /// The recorded problems, in the order of detection.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.recorded.iter()
    }

    /// `Ok(value)` if there are no problems, else the problems.
    ///
    /// # Errors
    /// All problems so far.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        let mut problems = Self::new();
        problems.push(problem);
        problems
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.recorded.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        match self.unrecorded {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Cuts a text that is too long, and marks the cut.
fn shorten(text: &mut String, limit: usize) {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_tilde_and_slash() {
        let root = At::Root;
        assert_eq!(root.key("a~b/c").pointer(), "/a~0b~1c");
        assert_eq!(root.pointer(), "");
    }

    #[test]
    fn consequences_of_known_problems_are_not_added() {
        let found = |all: &[(&str, Code)]| {
            let mut problems = Problems::new();
            problems.extend(all.iter().map(|(pointer, code)| Problem {
                pointer: (*pointer).to_owned(),
                code: *code,
                detail: String::new(),
            }));
            problems
        };
        let mut problems = found(&[
            ("/a", Code::WrongType),
            ("/b", Code::DuplicateName),
            ("/c", Code::MissingField),
        ]);
        problems.also(found(&[
            ("/a/x", Code::UnknownField),
            ("/a", Code::UnknownField),
            ("/ab", Code::InvalidValue),
            ("/b/x", Code::InvalidValue),
            ("/c", Code::MissingField),
            ("/c/x/y", Code::MissingField),
        ]));
        let left: Vec<_> = problems.iter().skip(3).map(|found| found.pointer.as_str()).collect();
        assert_eq!(left, ["/a", "/ab", "/b/x"]);
    }

    #[test]
    fn more_than_a_hundred_problems_are_counted_and_long_ones_shortened() {
        let mut problems = Problems::new();
        let name = "k".repeat(30_000);
        for number in 0..5_000 {
            problems.add(&At::Root.key(&name).index(number), Code::WrongType, name.as_str());
        }
        assert_eq!((problems.len(), problems.iter().count()), (5_000, 100));
        let text = problems.to_string();
        assert!(text.len() < 310_000 && text.ends_with("; and 4900 more"));

        let mut merged = Problems::from(problems.iter().next().unwrap().clone());
        merged.append(problems);
        assert_eq!((merged.len(), merged.unrecorded()), (5_001, 4_901));
    }

    #[test]
    fn problems_print_place_detail_and_code() {
        let mut problems = Problems::new();
        problems.add(&At::Root.key("nodes"), Code::MissingField, "`nodes` is missing");
        assert_eq!(problems.to_string(), "/nodes: `nodes` is missing (missing_field)");
    }
}
