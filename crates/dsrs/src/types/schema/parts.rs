//! What a schema says of a part of a value that has no place of its own: the elements of a list or
//! dict, a member of a tuple or union. It is said of the whole instead, where that can be done.

use super::limits::SchemaLimit;
use super::notes::SchemaNotes;
use crate::problem::{At, Code, Problem, Problems};
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
    fn description_text(&self, ty: &TypeIR, said: &str) -> String {
        match self {
            Self::Element => format!("each element: {said}"),
            Self::Value => format!("each value: {said}"),
            Self::Position(index) => format!("element {}: {said}", index + 1),
            Self::Member(_) => format!("if {}: {said}", brief(ty)),
        }
    }
}

impl SchemaNotes {
    /// Takes over what is said of a part: descriptions and formats in words, limits as conditions.
    /// All else is reported.
    pub(super) fn absorb_part(
        &mut self,
        mut inner: Self,
        part: &ValuePart<'_>,
        ty: &TypeIR,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        if let Some(said) = inner.description_text() {
            let (keyword, pointer) = inner.first_remark(at);
            self.remarks.push(PartRemark {
                text: part.description_text(ty, &said),
                keyword,
                pointer,
            });
        }
        for limit in std::mem::take(&mut inner.limits) {
            match limit.of_part(part, ty) {
                Ok(moved) => self.limits.push(moved),
                Err(limit) => refuse_limit(&limit, problems),
            }
        }
        inner.description = None;
        inner.text_format = None;
        inner.remarks.clear();
        inner.refuse(at, problems);
    }

    fn first_remark(&self, at: &At<'_>) -> (&'static str, String) {
        let own = match (&self.description, &self.text_format) {
            (Some(_), _) => Some("description"),
            (None, Some(_)) => Some("format"),
            (None, None) => None,
        };
        match (own, self.remarks.first()) {
            (None, Some(remark)) => (remark.keyword, remark.pointer.clone()),
            (own, _) => {
                let keyword = own.unwrap_or("description");
                (keyword, at.key(keyword).pointer())
            }
        }
    }
}

/// Reports a limit that would be lost.
pub(super) fn refuse_limit(limit: &SchemaLimit, problems: &mut Problems) {
    refuse(limit.keyword(), limit.pointer().to_owned(), problems);
}

/// Reports a keyword that would be lost at a place where nothing can carry it.
pub(super) fn refuse(keyword: &str, pointer: String, problems: &mut Problems) {
    let detail = format!("`{keyword}` cannot be kept here; only a field can carry it");
    problems.push(Problem { pointer, code: Code::InvalidType, detail });
}
