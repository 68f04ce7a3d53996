//! The notes of a JSON Schema: everything beside the type that belongs to its field, class or enum.
//! Knows nothing of the type.

use std::sync::Arc;

use super::limits::{SchemaLimit, read_limits};
use super::parts::{PartRemark, ValuePart};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{boolean, shared_text};
use crate::types::constraint::read_constraints;
use crate::types::{Constraint, TypeIR};
use crate::value::{Map, Payload};

/// The notes of one schema.
#[derive(Clone, Debug, Default)]
pub(super) struct SchemaNotes {
    pub(super) title: Option<Arc<str>>,
    pub(super) description: Option<Arc<str>>,
    pub(super) alias: Option<Arc<str>>,
    pub(super) default: Option<Payload>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) limits: Vec<SchemaLimit>,
    pub(super) strict: Option<bool>,
    /// The prompt format of a signature field.
    pub(super) prompt_format: Option<Arc<str>>,
    /// `format`, unless it decided the type.
    pub(super) text_format: Option<Arc<str>>,
    /// Descriptions of parts of the value.
    pub(super) remarks: Vec<PartRemark>,
}

impl SchemaNotes {
    pub(super) fn read(map: &Map, at: &At<'_>, problems: &mut Problems) -> Self {
        let mut text = |name: &str| {
            map.get(name).and_then(|member| shared_text(member, &at.key(name), problems))
        };
        let mut notes = Self {
            title: text("title"),
            description: text("description"),
            alias: text("x-dsrs-alias"),
            prompt_format: text("x-dsrs-format"),
            text_format: text("format"),
            default: map.get("default").cloned(),
            ..Self::default()
        };
        notes.limits = read_limits(map, at, problems);
        if let Some(member) = map.get("x-dsrs-constraints") {
            let at = at.key("x-dsrs-constraints");
            notes.constraints = read_constraints(member, &at, problems).unwrap_or_default();
        }
        if let Some(member) = map.get("x-dsrs-strict") {
            notes.strict = boolean(member, &at.key("x-dsrs-strict"), problems);
        }
        notes
    }

    /// Adds the notes of an inner schema. If both have the same note, the outer one wins.
    pub(super) fn absorb(&mut self, inner: Self) {
        self.title = self.title.take().or(inner.title);
        self.description = match (self.description.take(), inner.description) {
            (Some(outer), Some(inner)) if outer != inner => {
                Some(format!("{outer}; {inner}").into())
            }
            (outer, inner) => outer.or(inner),
        };
        self.alias = self.alias.take().or(inner.alias);
        self.default = self.default.take().or(inner.default);
        self.strict = self.strict.or(inner.strict);
        self.prompt_format = self.prompt_format.take().or(inner.prompt_format);
        self.text_format = self.text_format.take().or(inner.text_format);
        self.constraints.extend(inner.constraints);
        self.limit(inner.limits);
        self.remarks.extend(inner.remarks);
    }

    /// Adds limits, except duplicates.
    pub(super) fn limit(&mut self, more: Vec<SchemaLimit>) {
        for limit in more {
            if !self.limits.iter().any(|known| known.repeats(&limit)) {
                self.limits.push(limit);
            }
        }
    }

    /// Restricts each limit to values of its own kind.
    pub(super) fn part_limits(&mut self) {
        let limits = std::mem::take(&mut self.limits);
        self.limits = limits.into_iter().map(SchemaLimit::for_own_kind).collect();
    }

    /// The description, including the text format and the descriptions of parts.
    pub(super) fn description_text(&self) -> Option<Arc<str>> {
        let own = match (&self.description, &self.text_format) {
            (Some(description), None) => Some(description.to_string()),
            (None, Some(format)) => Some(format!("format: {format}")),
            (Some(description), Some(format)) => Some(format!("{description} (format: {format})")),
            (None, None) => None,
        };
        let texts = own.into_iter().chain(self.remarks.iter().map(|remark| remark.text.clone()));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("; ").into())
    }

    /// All constraints on a value of the type.
    pub(super) fn constraints_on(&self, ty: &TypeIR) -> Vec<Constraint> {
        let limits = self.limits.iter().map(|limit| limit.constraint(ty));
        self.constraints.iter().cloned().chain(limits).collect()
    }

    /// Reports all notes, for a place that cannot have any.
    pub(super) fn refuse(&self, at: &At<'_>, problems: &mut Problems) {
        let present = [
            ("description", self.description.is_some()),
            ("format", self.text_format.is_some()),
            ("default", self.default.is_some()),
            ("x-dsrs-alias", self.alias.is_some()),
            ("x-dsrs-constraints", !self.constraints.is_empty()),
            ("x-dsrs-strict", self.strict.is_some()),
            ("x-dsrs-format", self.prompt_format.is_some()),
        ];
        for (keyword, _) in present.into_iter().filter(|(_, present)| *present) {
            refuse(keyword, at.key(keyword).pointer(), problems);
        }
        self.limits.iter().for_each(|limit| refuse_limit(limit, problems));
        for remark in &self.remarks {
            refuse(remark.keyword, remark.pointer.clone(), problems);
        }
    }

    /// Whether there are no notes that only a field can have.
    pub(super) fn is_empty(&self) -> bool {
        let mut found = Problems::new();
        self.refuse(&At::Root, &mut found);
        found.is_empty()
    }

    /// Adds the notes of a part of the value: descriptions and formats as text, limits as conditions.
    /// Reports all other notes.
    pub(super) fn absorb_part(
        &mut self,
        mut inner: Self,
        part: &ValuePart<'_>,
        ty: &TypeIR,
        at: &At<'_>,
        problems: &mut Problems,
    ) {
        if let Some(text) = inner.description_text() {
            let (keyword, pointer) = inner.first_remark(at);
            self.remarks.push(PartRemark { text: part.describe(ty, &text), keyword, pointer });
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

/// Reports a limit in a place that cannot have it.
fn refuse_limit(limit: &SchemaLimit, problems: &mut Problems) {
    refuse(limit.keyword(), limit.pointer().to_owned(), problems);
}

/// Reports a keyword in a place that cannot have it.
fn refuse(keyword: &str, pointer: String, problems: &mut Problems) {
    let detail = format!("`{keyword}` is not supported here; only a field can have it");
    problems.push(Problem { pointer, code: Code::InvalidType, detail });
}
