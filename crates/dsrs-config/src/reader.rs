//! Settings by path to typed values. Every problem is one readable line that names the setting, its
//! text (never a secret) and its origin.

use super::environment::Environment;
use super::layers::{Layers, SettingText};
use super::setting::{Setting, SettingKind};
use super::value::Expected;

/// Reads typed values from the layers.
pub(super) struct SettingReader<'a> {
    pub(super) layers: &'a Layers,
    pub(super) env: &'a Environment,
    pub(super) problems: Vec<String>,
    /// What is no reason to refuse the settings, for the log.
    pub(super) warnings: Vec<String>,
}

impl<'a> SettingReader<'a> {
    /// A setting that may be absent; its default applies then, if it has one. `Some(None)` stands
    /// for an absent value and for a refused one.
    pub(super) fn optional<T>(
        &mut self,
        path: &str,
        parse: fn(&str) -> Result<T, Expected>,
    ) -> Option<Option<T>> {
        let Some(given) = self.given(path) else {
            return Some(self.layers.default_of(path).and_then(|text| parse(text).ok()));
        };
        let text = given.items.first().map_or("", String::as_str);
        match parse(text) {
            Ok(value) => Some(Some(value)),
            Err(expected) => {
                self.refuse(path, given, &expected);
                Some(None)
            }
        }
    }

    /// A setting that must have a value. Without a value and without a default it is missing.
    pub(super) fn required<T>(
        &mut self,
        path: &str,
        parse: fn(&str) -> Result<T, Expected>,
    ) -> Option<T> {
        if self.given(path).is_none() && self.layers.default_of(path).is_none() {
            self.problems.push(format!("{path} is missing"));
        }
        self.optional(path, parse)?
    }

    /// The parts of a list, separated by commas or as the items of an array. The caller parses them.
    pub(super) fn listed<T>(
        &mut self,
        path: &str,
        _: fn(&str) -> Result<T, Expected>,
    ) -> Option<Vec<String>> {
        Some(
            self.given(path)
                .map_or_else(Vec::new, |given| given.list().map(str::to_owned).collect()),
        )
    }

    /// The items of an array as the file has them, commas included. The caller parses them.
    pub(super) fn items<T>(
        &mut self,
        path: &str,
        _: fn(&str) -> Result<T, Expected>,
    ) -> Option<Vec<String>> {
        Some(self.given(path).map_or_else(Vec::new, SettingText::items))
    }

    /// The names in a table whose members the operator names. The caller reads their values.
    pub(super) fn members<T>(
        &mut self,
        path: &str,
        _: fn(&str) -> Result<T, Expected>,
    ) -> Option<Vec<String>> {
        Some(self.layers.members(path.strip_suffix(".*").unwrap_or(path)))
    }

    /// The text at a path, if it is set.
    pub(super) fn given(&self, path: &str) -> Option<&'a SettingText> {
        self.layers.get(path)
    }

    /// Reports a text that does not fit.
    pub(super) fn refuse(&mut self, path: &str, given: &SettingText, expected: &str) {
        let shown = match self.layers.setting(path).is_none_or(is_private) {
            true => String::new(),
            false => format!(" = \"{}\"", given.items.join(",").escape_debug()),
        };
        self.problems.push(format!("{path}{shown} ({}): {expected}", given.origin));
    }
}

/// Whether a setting's text may hold a password or key.
fn is_private(row: &Setting) -> bool {
    matches!(row.kind, SettingKind::Secret | SettingKind::Url)
}
