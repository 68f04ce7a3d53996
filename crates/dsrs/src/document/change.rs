//! A change of a document: the members that a request sets. A new document is a change of its defaults, so that one
//! operation checks both.

use std::fmt;
use std::marker::PhantomData;

use crate::problem::{At, Code, Problems};
use crate::reflect::{ReflectError, from_payload, to_payload};
use crate::value::{Map, Payload};
use facet::Facet;

use super::read::read_members;

/// The members of a `T` that a request sets, with the problems found so far.
pub struct Change<T> {
    members: Map,
    problems: Problems,
    document: PhantomData<fn() -> T>,
}

impl<T: Facet<'static>> Change<T> {
    /// Reads the body of a request that creates a document; `problems` are those of its JSON.
    ///
    /// ```
    /// use dsrs::{document::Change, facet::Facet, problem::Problems, value::Payload};
    ///
    /// #[derive(Facet)]
    /// #[facet(crate = dsrs::facet)]
    /// struct Receiver {
    ///     #[facet(dsrs::length(1, 4))]
    ///     name: String,
    ///     events: Vec<String>,
    /// }
    ///
    /// let body = Payload::from_json(r#"{"name": "on call"}"#).unwrap();
    /// let problems = Change::<Receiver>::read_new(&body, Problems::new()).unwrap_err();
    /// let places: Vec<&str> = problems.iter().map(|problem| &*problem.pointer).collect();
    /// assert_eq!(places, ["/name", "/events"]);
    /// ```
    ///
    /// # Errors
    /// All problems, if a member that every document has is missing or cannot be read.
    pub fn read_new(body: &Payload, problems: Problems) -> Result<Self, Problems> {
        Self::read(body, problems, true, true)
    }

    /// The same for a document whose other members are checked further although some are missing or cannot be read.
    ///
    /// # Errors
    /// All problems, if the body is no object.
    pub fn read_draft(body: &Payload, problems: Problems) -> Result<Self, Problems> {
        Self::read(body, problems, true, false)
    }

    /// Reads the body of a request that changes a document. What it does not name stays as it is.
    ///
    /// # Errors
    /// All problems, if the body is no object.
    pub fn read_patch(body: &Payload, problems: Problems) -> Result<Self, Problems> {
        Self::read(body, problems, false, false)
    }

    fn read(
        body: &Payload,
        mut problems: Problems,
        is_new: bool,
        needs_all: bool,
    ) -> Result<Self, Problems> {
        match read_members(T::SHAPE, body, is_new, &At::Root, &mut problems) {
            Some(read) if read.is_complete || !needs_all => {
                Ok(Self { members: read.members, problems, document: PhantomData })
            }
            _ => Err(problems),
        }
    }

    /// A change of one member, whose value has its type.
    #[must_use]
    pub fn of(member: &'static str, value: impl Into<Payload>) -> Self {
        let members = [(member.into(), value.into())].into_iter().collect();
        Self { members, problems: Problems::new(), document: PhantomData }
    }

    /// Whether the request sets a member.
    #[must_use]
    pub fn sets(&self, member: &str) -> bool {
        self.members.contains_key(member)
    }

    /// The problems found so far. The document is checked further, so that all are reported at once.
    #[must_use]
    pub const fn problems(&self) -> &Problems {
        &self.problems
    }

    /// The document with the change.
    ///
    /// # Errors
    /// If `current` cannot be represented as data, which is a fault of its type.
    pub fn apply(&self, current: &T) -> Result<T, ReflectError> {
        let mut changed: Map = to_payload(current)?.as_map().cloned().unwrap_or_default();
        changed.extend(self.members.iter().map(|(name, value)| (name.clone(), value.clone())));
        from_payload(&Payload::map(changed))
    }
}

/// Reads a document that is used at once: what it says, and the problems of members that a document may lack. They are
/// reported together with those of further checks. `problems` are those of its JSON.
///
/// # Errors
/// All problems, if a member that every document has is missing or cannot be read.
pub fn read_document<T: Facet<'static>>(
    body: &Payload,
    problems: Problems,
) -> Result<(T, Problems), Problems> {
    let Change { members, mut problems, .. } = Change::<T>::read_new(body, problems)?;
    match from_payload(&Payload::map(members)) {
        Ok(document) => Ok((document, problems)),
        // What was read fits its type, unless the type has a value that the reader does not know.
        Err(error) => {
            problems.add(&At::Root, Code::InvalidValue, error.to_string());
            Err(problems)
        }
    }
}

impl<T> fmt::Debug for Change<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.members).finish()
    }
}
