//! The members of a document: the fields of its type, with what a reader and a schema need to know of them.

use crate::reflect::flat_fields;
use facet::{Def, Facet, Shape};

use super::rule::{self, Rule};

/// A member of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocumentMember {
    /// Its name in JSON.
    pub(super) name: &'static str,
    /// The type of its value.
    pub(super) shape: &'static Shape,
    /// Its documentation, line by line.
    pub(super) doc: &'static [&'static str],
    /// Whether a document without it is complete: the member has a default, or may be null.
    pub(super) is_optional: bool,
    pub(super) has_default: bool,
    field: &'static facet::Field,
}

impl DocumentMember {
    /// Null is a value of the member. Elsewhere, null counts as absent.
    pub(super) fn is_nullable(&self) -> bool {
        matches!(self.shape.def, Def::Option(_))
    }

    /// The rules of its value.
    pub(super) fn rules(&self) -> impl Iterator<Item = Rule> {
        rule::of_field(self.field)
    }

    fn longest(&self) -> Option<usize> {
        self.rules().find_map(Rule::longest)
    }
}

/// The most characters of a member of a document, if a rule bounds them.
#[must_use]
pub fn longest<T: Facet<'static>>(member: &str) -> Option<usize> {
    members(T::SHAPE).iter().find(|known| known.name == member)?.longest()
}

/// The members of a document, in the order of its fields. A type that is no struct has none.
pub(super) fn members(shape: &'static Shape) -> Vec<DocumentMember> {
    let fields = flat_fields(shape).unwrap_or_default();
    let member = |flat: crate::reflect::FlatField| DocumentMember {
        name: flat.name(),
        shape: flat.field.shape(),
        doc: flat.field.doc,
        is_optional: flat.field.has_default() || matches!(flat.field.shape().def, Def::Option(_)),
        has_default: flat.field.has_default(),
        field: flat.field,
    };
    fields.into_iter().map(member).collect()
}
