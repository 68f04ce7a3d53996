//! The settings file: TOML to paths and texts, each with its line. An unknown key is a problem that
//! names the nearest known key.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::layers::{SettingOrigin, SettingText};
use super::nearest::hint;
use super::setting::SettingKind;
use super::settings::{all_settings, setting};

/// Reads the file; every problem found is one line in `problems`.
pub(super) fn read_file(path: &Path, problems: &mut Vec<String>) -> Vec<(String, SettingText)> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => read_text(&name, &text, problems),
        Err(error) => {
            problems.push(format!("cannot read the settings file {name}: {error}"));
            Vec::new()
        }
    }
}

fn read_text(name: &str, text: &str, problems: &mut Vec<String>) -> Vec<(String, SettingText)> {
    let mut reader = FileReader { name, text, problems, settings: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = reader.line(error.span().map_or(0, |span| span.start));
        reader
            .problems
            .push(format!("{name}:{line}: not valid TOML: {}", one_line(error.message())));
    }
    if errors.is_empty() {
        reader.table("", table.get_ref());
    }
    reader.settings
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct FileReader<'a> {
    name: &'a str,
    text: &'a str,
    problems: &'a mut Vec<String>,
    settings: Vec<(String, SettingText)>,
}

impl FileReader<'_> {
    /// Walks a table in the order of the file.
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let line = self.line(key.span().start);
            let path = match prefix {
                // A table has no value of its own beside its members.
                "log" if key.get_ref() == "filter" => prefix.to_owned(),
                "" => key.get_ref().to_string(),
                _ => format!("{prefix}.{}", key.get_ref()),
            };
            self.entry(&path, value, line);
        }
    }

    fn entry(&mut self, path: &str, value: &Spanned<DeValue<'_>>, line: usize) {
        match (setting(path), value.get_ref()) {
            (None, DeValue::Table(table)) if is_section(path) => self.table(path, table),
            (Some(_), DeValue::Table(table)) if has_members(path) => self.table(path, table),
            (None, _) => {
                let known = known_keys(path);
                let hint = hint(path, known.iter().map(String::as_str));
                self.problem(line, format!("unknown key \"{path}\"{hint}"));
            }
            (Some(row), value) => match items(value, row.kind) {
                Some(items) => {
                    let origin = SettingOrigin::File { name: self.name.to_owned(), line };
                    self.settings.push((path.to_owned(), SettingText { items, origin }));
                }
                None => self.problem(line, format!("{path}: expected {}", expected(row.kind))),
            },
        }
    }

    fn problem(&mut self, line: usize, text: String) {
        self.problems.push(format!("{}:{line}: {text}", self.name));
    }

    fn line(&self, offset: usize) -> usize {
        self.text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1
    }
}

/// Whether a path may hold a table: it is part of the path of a setting, or inside a table whose
/// members the operator names.
fn is_section(path: &str) -> bool {
    let prefix = format!("{path}.");
    chosen(path).is_some() || all_settings().any(|row| row.path.starts_with(&prefix))
}

/// Whether a path that is a setting may hold a table instead: `secrets.NAME` is a text or a table.
fn has_members(path: &str) -> bool {
    let mut deeper = all_settings().filter_map(|row| row.path.rsplit_once('.'));
    deeper.any(|(above, _)| setting(path).is_some_and(|row| row.path == above))
}

/// The keys that are allowed at the place of `path`.
fn known_keys(path: &str) -> Vec<String> {
    let member = chosen(path).and_then(|(section, rest)| Some((section, rest.rsplit_once('.')?.0)));
    let keys = all_settings().filter(|row| row.named_table() == member.map(|(section, _)| section));
    keys.map(|row| row.path_for(member.map_or("NAME", |(_, name)| name))).collect()
}

/// Splits a path inside a table whose members the operator names: the table, the rest of the path.
fn chosen(path: &str) -> Option<(&'static str, &str)> {
    let sections = all_settings().filter_map(|row| row.named_table());
    sections
        .filter_map(|section| Some((section, path.strip_prefix(section)?.strip_prefix('.')?)))
        .next()
}

/// A scalar as one text; an array of texts where the setting is a list.
fn items(value: &DeValue<'_>, kind: SettingKind) -> Option<Vec<String>> {
    match value {
        DeValue::Array(items) if matches!(kind, SettingKind::List | SettingKind::Secret) => {
            items.iter().map(|item| scalar(item.get_ref())).collect()
        }
        value => scalar(value).map(|text| vec![text]),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

fn expected(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::List => "a list of texts",
        _ => "a single value",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        read_text("dsrs.toml", text, &mut problems);
        problems
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        assert_eq!(
            problems_of(
                "data_dir = 'x'\nbnid = '1'\n[limits]\nbody_byte = 1\n[zebra]\nstripes = 1"
            ),
            [
                "dsrs.toml:2: unknown key \"bnid\"; did you mean \"bind\"?",
                "dsrs.toml:4: unknown key \"limits.body_byte\"; did you mean \"limits.body_bytes\"?",
                "dsrs.toml:5: unknown key \"zebra\"",
            ]
        );
        assert_eq!(
            problems_of("[models.fast]\nmodle = 'x'"),
            ["dsrs.toml:2: unknown key \"models.fast.modle\"; did you mean \"models.fast.model\"?"]
        );
    }

    #[test]
    fn invalid_toml_is_reported_with_its_line() {
        let problems = problems_of("bind = '1'\nbind = '2'\nlog = \n");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("dsrs.toml:2: not valid TOML: "), "{problems:?}");
        assert!(problems[1].starts_with("dsrs.toml:3: not valid TOML: "), "{problems:?}");
    }

    #[test]
    fn a_table_in_place_of_a_value_is_a_problem() {
        assert_eq!(
            problems_of("[bind]\nport = 1\n[models]\nfast = 'x'"),
            [
                "dsrs.toml:1: bind: expected a single value",
                "dsrs.toml:4: unknown key \"models.fast\""
            ]
        );
    }

    #[test]
    fn models_keep_the_order_of_the_file() {
        let text = "[models.zeta]\nmodel = 'z'\n[models.alpha]\nmodel = 'a'";
        let found = read_text("dsrs.toml", text, &mut Vec::new());
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["models.zeta.model", "models.alpha.model"]);
    }
}
