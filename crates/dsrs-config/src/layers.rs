//! The layers of settings: defaults, file, environment, flags, each over the one before. The result is
//! one text for each path, with its origin. Parses no values.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::{IndexMap, IndexSet};

use super::environment::Environment;
use super::nearest::hint;
use super::setting::Setting;

/// Variables with our prefix that are no settings of a server: they name its file, and say to the
/// commands of a client which server to call.
const NO_SETTINGS: [&str; 3] = ["DSRS_CONFIG", "DSRS_URL", "DSRS_API_KEY"];

/// The source of a text, as a person would look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SettingOrigin {
    Default,
    File { name: String, line: usize },
    Variable(String),
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// The text of one setting, with its origin. A list has one text for each item.
#[derive(Debug, Clone)]
pub(super) struct SettingText {
    pub(super) items: Vec<String>,
    pub(super) origin: SettingOrigin,
}

impl SettingText {
    pub(super) fn new(text: impl Into<String>, origin: SettingOrigin) -> Self {
        Self { items: vec![text.into()], origin }
    }

    /// The items of an array in the file as they are; a text from elsewhere is split at its commas.
    pub(super) fn items(&self) -> Vec<String> {
        match self.origin {
            SettingOrigin::File { .. } => self.items.clone(),
            _ => self.list().map(str::to_owned).collect(),
        }
    }

    /// The items, with each text split at its commas.
    pub(super) fn list(&self) -> impl Iterator<Item = &str> {
        let parts = self.items.iter().flat_map(|item| item.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty())
    }
}

/// The text of the highest layer for every path, with warnings about the environment.
#[derive(Debug, Default)]
pub(super) struct Layers {
    /// Every setting there is.
    table: Vec<&'static Setting>,
    given: IndexMap<String, SettingText>,
    pub(super) warnings: Vec<String>,
}

impl Layers {
    /// Puts the file over the defaults, the environment over the file and the flags over all.
    pub(super) fn collect(
        table: impl IntoIterator<Item = &'static Setting>,
        file: Vec<(String, SettingText)>,
        env: &Environment,
        flags: &BTreeMap<String, String>,
    ) -> Self {
        let mut layers = Self { table: table.into_iter().collect(), ..Self::default() };
        layers.add_defaults();
        layers.given.extend(file);
        layers.add_environment(env);
        for (path, text) in flags {
            let name = path.replace(['.', '_'], "-");
            layers.given.insert(path.clone(), SettingText::new(text, SettingOrigin::Flag(name)));
        }
        layers
    }

    pub(super) fn get(&self, path: &str) -> Option<&SettingText> {
        self.given.get(path)
    }

    /// Every path with its text.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&String, &SettingText)> {
        self.given.iter()
    }

    /// The row of the setting at a path.
    pub(super) fn setting(&self, path: &str) -> Option<&'static Setting> {
        self.table.iter().copied().find(|row| row.describes(path))
    }

    /// The default of the setting at a path. Only members of named tables need this: the other
    /// defaults are a layer of their own.
    pub(super) fn default_of(&self, path: &str) -> Option<&'static str> {
        self.setting(path).and_then(|row| row.default)
    }

    /// The aliases of models with any setting, in the order of appearance.
    pub(super) fn aliases(&self) -> Vec<String> {
        self.names("models", |rest| rest.rsplit_once('.').map(|(alias, _)| alias))
    }

    /// The names that the operator chose in a table, in the order of appearance.
    pub(super) fn chosen(&self, section: &str) -> Vec<String> {
        match section {
            "models" => self.aliases(),
            _ => self.names(section, |rest| rest.split('.').next()),
        }
    }

    /// The members of the table at a path, in the order of appearance.
    pub(super) fn members(&self, table: &str) -> Vec<String> {
        self.names(table, Some)
    }

    fn names<'a>(&'a self, table: &str, name: impl Fn(&'a str) -> Option<&'a str>) -> Vec<String> {
        let members =
            self.given.keys().filter_map(|path| path.strip_prefix(table)?.strip_prefix('.'));
        let names: IndexSet<&str> = members.filter_map(name).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    fn add_defaults(&mut self) {
        for row in self.table.iter().filter(|row| row.named_table().is_none()) {
            if let Some(text) = row.default {
                self.given
                    .insert(row.path.to_owned(), SettingText::new(text, SettingOrigin::Default));
            }
        }
    }

    fn add_environment(&mut self, env: &Environment) {
        for row in self.table.clone().into_iter().filter(|row| row.named_table().is_none()) {
            for name in row.also {
                self.add_variable(row.path.to_owned(), name, env.get(name));
            }
        }
        for (name, text) in env.iter() {
            let Some(rest) = name.strip_prefix("DSRS_").filter(|_| !NO_SETTINGS.contains(&name))
            else {
                continue;
            };
            match self.path_of_variable(rest) {
                Some(path) => self.add_variable(path, name, Some(text)),
                None => self.warnings.push(self.unknown_variable(name)),
            }
        }
    }

    fn add_variable(&mut self, path: String, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.given
                .insert(path, SettingText::new(text, SettingOrigin::Variable(name.to_owned())));
        }
    }

    /// The path for the name of a variable without `DSRS_`.
    fn path_of_variable(&self, rest: &str) -> Option<String> {
        self.table.iter().find_map(|row| {
            let pattern = row.env_name()?;
            let pattern = pattern.strip_prefix("DSRS_")?;
            let Some(section) = row.named_table() else {
                return (pattern == rest).then(|| row.path.to_owned());
            };
            let (before, after) = pattern.split_once("NAME")?;
            let name = rest.strip_prefix(before)?.strip_suffix(after)?;
            (!name.is_empty()).then(|| row.path_for(&self.name_of_variable(section, name)))
        })
    }

    /// A chosen name in the spelling of the file, if the file has it: a variable cannot spell `fast-1`.
    fn name_of_variable(&self, section: &str, spelled: &str) -> String {
        let shout = |name: &str| name.to_uppercase().replace(['-', '.'], "_");
        let known = self.chosen(section).into_iter().find(|name| shout(name) == spelled);
        known.unwrap_or_else(|| match section {
            // Names of secrets have the form of variable names.
            "secrets" => spelled.to_owned(),
            _ => spelled.to_lowercase(),
        })
    }

    fn unknown_variable(&self, name: &str) -> String {
        let known: Vec<String> = self.table.iter().filter_map(|row| row.env_name()).collect();
        let hint = hint(name, known.iter().map(String::as_str));
        format!("environment variable {name} is not a setting and is ignored{hint}")
    }
}
