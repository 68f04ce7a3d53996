//! Parts of a value whose notes have no place of their own: the elements of a list or dict, a member
//! of a tuple or union. Their notes are added to those of the whole value where possible.

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
    /// The value, if it matches one of these members.
    Member(&'m [TypeIR]),
}

/// A description of a part, and its keyword and place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PartRemark {
    pub(super) text: String,
    pub(super) keyword: &'static str,
    pub(super) pointer: String,
}

impl ValuePart<'_> {
    pub(super) fn describe(&self, ty: &TypeIR, text: &str) -> String {
        match self {
            Self::Element => format!("each element: {text}"),
            Self::Value => format!("each value: {text}"),
            Self::Position(index) => format!("element {}: {text}", index + 1),
            Self::Member(_) => format!("if {}: {text}", brief(ty)),
        }
    }
}
