//! What stands beside a type in a JSON Schema and goes with its field, class or enum. Knows nothing
//! of the type.

use std::sync::Arc;

use super::limits::{Limit, read_limits};
use crate::problem::{At, Code, Problems};
use crate::read::{boolean, shared_text};
use crate::types::constraint::read_constraints;
use crate::types::{Constraint, TypeIR};
use crate::value::{Map, Payload};

/// What a schema says beside its type.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) title: Option<Arc<str>>,
    pub(super) description: Option<Arc<str>>,
    pub(super) alias: Option<Arc<str>>,
    pub(super) default: Option<Payload>,
    pub(super) constraints: Vec<Constraint>,
    pub(super) limits: Vec<Limit>,
    pub(super) strict: Option<bool>,
    /// How a signature's field is written into a prompt.
    pub(super) prompt_format: Option<Arc<str>>,
    /// `format`, as long as no type has come of it.
    pub(super) text_format: Option<Arc<str>>,
}

impl Notes {
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

    /// Takes over what an inner schema says; what stands outside wins.
    pub(super) fn absorb(&mut self, inner: Self) {
        self.title = self.title.take().or(inner.title);
        self.description = self.description.take().or(inner.description);
        self.alias = self.alias.take().or(inner.alias);
        self.default = self.default.take().or(inner.default);
        self.strict = self.strict.or(inner.strict);
        self.prompt_format = self.prompt_format.take().or(inner.prompt_format);
        self.text_format = self.text_format.take().or(inner.text_format);
        self.constraints.extend(inner.constraints);
        self.limits.extend(inner.limits);
    }

    /// The description, with the format of the text told in it.
    pub(super) fn told(&self) -> Option<Arc<str>> {
        match (&self.description, &self.text_format) {
            (description, None) => description.clone(),
            (None, Some(format)) => Some(format!("format: {format}").into()),
            (Some(description), Some(format)) => {
                Some(format!("{description} (format: {format})").into())
            }
        }
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
        let kept = present.into_iter().filter(|(_, present)| *present).map(|(keyword, _)| keyword);
        for keyword in kept.chain(self.limits.iter().map(Limit::keyword)) {
            let detail = format!("`{keyword}` cannot be kept here; only a field can carry it");
            problems.add(&at.key(keyword), Code::InvalidType, detail);
        }
    }
}
