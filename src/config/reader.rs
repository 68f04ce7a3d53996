//! Settings by path to typed values, collecting every problem in one readable line that names the
//! setting, what was given (never a secret), and where.

use super::environment::Environment;
use super::layers::{Given, Layers};
use super::parse::Expected;
use super::secrets::{SecretText, Secrets};
use super::table::{Kind, Setting, setting};

/// Reads typed values out of the layers.
pub(super) struct Reader<'a> {
    pub(super) layers: &'a Layers,
    pub(super) env: &'a Environment,
    pub(super) problems: Vec<String>,
}

impl<'a> Reader<'a> {
    /// A setting that may be left out.
    pub(super) fn optional<T>(
        &mut self,
        path: &str,
        parse: impl Fn(&str) -> Result<T, Expected>,
    ) -> Option<T> {
        let given = self.given(path)?;
        let text = given.items.first().map_or("", String::as_str);
        match parse(text) {
            Ok(value) => Some(value),
            Err(expected) => {
                self.refuse(path, given, &expected);
                None
            }
        }
    }

    /// A setting that must have a value; without one, and without a problem of its own, it is
    /// missing.
    pub(super) fn required<T>(
        &mut self,
        path: &str,
        parse: impl Fn(&str) -> Result<T, Expected>,
    ) -> Option<T> {
        if self.given(path).is_none() && default_of(path).is_none() {
            self.problems.push(format!("{path} is missing"));
            return None;
        }
        match self.given(path) {
            Some(_) => self.optional(path, parse),
            None => default_of(path).and_then(|text| parse(text).ok()),
        }
    }

    /// A text with `${NAME}` in it, each of which must be a secret of the settings.
    pub(super) fn with_secrets(&mut self, path: &str, secrets: &Secrets) -> Option<SecretText> {
        let given = self.given(path)?;
        let text = given.items.first().map_or("", String::as_str);
        match SecretText::read(text, secrets) {
            Ok(text) => Some(text),
            Err(reason) => {
                self.refuse(path, given, &reason);
                None
            }
        }
    }

    /// What was given at a path, if anything was.
    pub(super) fn given(&self, path: &str) -> Option<&'a Given> {
        self.layers.get(path)
    }

    /// Notes that what was given does not fit.
    pub(super) fn refuse(&mut self, path: &str, given: &Given, expected: &str) {
        let shown = match setting(path).is_none_or(is_private) {
            true => String::new(),
            false => format!(" = \"{}\"", given.items.join(",").escape_debug()),
        };
        self.problems.push(format!("{path}{shown} ({}): {expected}", given.origin));
    }
}

/// Whether a setting's text may hold a password or key.
fn is_private(row: &Setting) -> bool {
    matches!(row.kind, Kind::Secret | Kind::Url)
}

/// Only members of a model come here: the other defaults are a layer of their own.
fn default_of(path: &str) -> Option<&'static str> {
    setting(path).and_then(|row| row.default)
}
