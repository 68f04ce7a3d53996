//! What stands beside a type in a JSON Schema and goes with its field, class or enum. Knows nothing
//! of the type.

use std::sync::Arc;

use super::limits::{SchemaLimit, read_limits};
use super::parts::{PartRemark, ValuePart};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{boolean, shared_text};
use crate::types::constraint::read_constraints;
use crate::types::{Constraint, TypeIR};
use crate::value::{Map, Payload};

/// What a schema says beside its type.
#[derive(Clone, Debug, Default)]
pub(super) struct SchemaNotes {
    pub(super) title: Option<Arc<str>>,
    pub(super) description: Option<Arc<str>>,
    pub(super) alias: Option<Arc<str>>,
    pub(super) default: Option<Payload>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) limits: Vec<SchemaLimit>,
    pub(super) strict: Option<bool>,
    /// How a signature's field is written into a prompt.
    pub(super) prompt_format: Option<Arc<str>>,
    /// `format`, as long as no type has come of it.
    pub(super) text_format: Option<Arc<str>>,
    /// What is said of parts of the value.
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

    /// Takes over what an inner schema says; of two that cannot both be, what stands outside wins.
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

    /// Adds limits, those excepted that are there already.
    pub(super) fn limit(&mut self, more: Vec<SchemaLimit>) {
        for limit in more {
            if !self.limits.iter().any(|known| known.repeats(&limit)) {
                self.limits.push(limit);
            }
        }
    }

    /// Makes limits of one kind of value out of limits of the value.
    pub(super) fn part_limits(&mut self) {
        let limits = std::mem::take(&mut self.limits);
        self.limits = limits.into_iter().map(SchemaLimit::for_own_kind).collect();
    }

    /// The description, with the format of the text and what is said of parts description_text in it.
    pub(super) fn description_text(&self) -> Option<Arc<str>> {
        let own = match (&self.description, &self.text_format) {
            (Some(description), None) => Some(description.to_string()),
            (None, Some(format)) => Some(format!("format: {format}")),
            (Some(description), Some(format)) => Some(format!("{description} (format: {format})")),
            (None, None) => None,
        };
        let said = own.into_iter().chain(self.remarks.iter().map(|remark| remark.text.clone()));
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join("; ").into())
    }

    /// All constraints on a value of the type.
    pub(super) fn constraints_on(&self, ty: &TypeIR) -> Vec<Constraint> {
        let limits = self.limits.iter().map(|limit| limit.constraint(ty));
        self.constraints.iter().cloned().chain(limits).collect()
    }

    /// Reports everything that would be lost at a place that keeps no notes.
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

    /// Whether nothing is said that only a field can carry.
    pub(super) fn is_empty(&self) -> bool {
        let mut found = Problems::new();
        self.refuse(&At::Root, &mut found);
        found.is_empty()
    }

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
            self.remarks.push(PartRemark { text: part.describe(ty, &said), keyword, pointer });
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
fn refuse_limit(limit: &SchemaLimit, problems: &mut Problems) {
    refuse(limit.keyword(), limit.pointer().to_owned(), problems);
}

/// Reports a keyword that would be lost at a place where nothing can carry it.
fn refuse(keyword: &str, pointer: String, problems: &mut Problems) {
    let detail = format!("`{keyword}` cannot be kept here; only a field can carry it");
    problems.push(Problem { pointer, code: Code::InvalidType, detail });
}
