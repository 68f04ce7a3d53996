//! What a schema says of a part of a value that has no place of its own: the elements of a list or
//! dict, a member of a tuple or union. It is said of the whole instead, where that can be done.

use crate::types::TypeIR;
use crate::types::brief::brief;

/// A part of a value.
#[derive(Clone, Debug)]
pub(super) enum ValuePart<'m> {
    /// The elements of a list.
    Element,
    /// The values of a dict.
    Value,
    /// One element of a tuple.
    Position(usize),
    /// The value, where it is of one member of these.
    Member(&'m [TypeIR]),
}

/// What is said of a part, and where it was said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PartRemark {
    pub(super) text: String,
    pub(super) keyword: &'static str,
    pub(super) pointer: String,
}

impl ValuePart<'_> {
    pub(super) fn describe(&self, ty: &TypeIR, said: &str) -> String {
        match self {
            Self::Element => format!("each element: {said}"),
            Self::Value => format!("each value: {said}"),
            Self::Position(index) => format!("element {}: {said}", index + 1),
            Self::Member(_) => format!("if {}: {said}", brief(ty)),
        }
    }
}
