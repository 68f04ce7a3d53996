//! The layers of settings, laid over each other: defaults, file, environment, flags. What comes
//! out is one text a path, with where it came from. Nothing is parsed here beyond TOML itself.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::{IndexMap, IndexSet};

use super::environment::Environment;
use super::nearest::hint;
use super::table::{SETTINGS, Setting};

/// Where a text came from, as a person would look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    File { name: String, line: usize },
    Variable(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// One setting as given. A list keeps its items apart.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) items: Vec<String>,
    pub(super) origin: Origin,
}

impl Given {
    pub(super) fn new(text: impl Into<String>, origin: Origin) -> Self {
        Self { items: vec![text.into()], origin }
    }

    /// The items as the file keeps them apart; a text from elsewhere is taken apart at its commas.
    pub(super) fn items(&self) -> Vec<String> {
        match self.origin {
            Origin::File { .. } => self.items.clone(),
            _ => self.list().map(str::to_owned).collect(),
        }
    }

    /// The items, those of a comma-separated text taken apart.
    pub(super) fn list(&self) -> impl Iterator<Item = &str> {
        let parts = self.items.iter().flat_map(|item| item.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty())
    }
}

/// The highest layer's text of every path, with what is odd about the environment.
#[derive(Debug, Default)]
pub(super) struct Layers {
    given: IndexMap<String, Given>,
    pub(super) warnings: Vec<String>,
}

impl Layers {
    /// Lays environment and flags over what the file says, and the file over the defaults.
    pub(super) fn collect(
        file: Vec<(String, Given)>,
        env: &Environment,
        flags: &BTreeMap<String, String>,
    ) -> Self {
        let mut layers = Self::default();
        layers.lay_defaults();
        layers.given.extend(file);
        layers.lay_environment(env);
        for (path, text) in flags {
            let name = path.replace(['.', '_'], "-");
            layers.given.insert(path.clone(), Given::new(text, Origin::Flag(name)));
        }
        layers
    }

    /// What stands at a path.
    pub(super) fn get(&self, path: &str) -> Option<&Given> {
        self.given.get(path)
    }

    /// The aliases of models that anything is said about, in the order they were met.
    pub(super) fn aliases(&self) -> Vec<String> {
        self.names("models", |rest| rest.rsplit_once('.').map(|(alias, _)| alias))
    }

    /// The names that the owner chose in a section, in the order they were met.
    pub(super) fn chosen(&self, section: &str) -> Vec<String> {
        match section {
            "models" => self.aliases(),
            _ => self.names(section, |rest| rest.split('.').next()),
        }
    }

    /// The members of the table at a path, in the order they were met.
    pub(super) fn members(&self, table: &str) -> Vec<String> {
        self.names(table, Some)
    }

    fn names<'a>(&'a self, table: &str, name: impl Fn(&'a str) -> Option<&'a str>) -> Vec<String> {
        let members =
            self.given.keys().filter_map(|path| path.strip_prefix(table)?.strip_prefix('.'));
        let names: IndexSet<&str> = members.filter_map(name).collect();
        names.into_iter().map(str::to_owned).collect()
    }

    fn lay_defaults(&mut self) {
        for row in SETTINGS.iter().filter(|row| row.section().is_none()) {
            if let Some(text) = row.default {
                self.given.insert(row.path.to_owned(), Given::new(text, Origin::Default));
            }
        }
    }

    fn lay_environment(&mut self, env: &Environment) {
        for row in SETTINGS.iter().filter(|row| row.section().is_none()) {
            for name in row.also {
                self.lay_variable(row.path.to_owned(), name, env.get(name));
            }
        }
        for (name, text) in env.iter() {
            let Some(rest) = name.strip_prefix("DSRS_").filter(|_| name != "DSRS_CONFIG") else {
                continue;
            };
            match self.path_of_variable(rest) {
                Some(path) => self.lay_variable(path, name, Some(text)),
                None => self.warnings.push(unknown_variable(name)),
            }
        }
    }

    fn lay_variable(&mut self, path: String, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.given.insert(path, Given::new(text, Origin::Variable(name.to_owned())));
        }
    }

    /// The path that a variable's name without `DSRS_` means.
    fn path_of_variable(&self, rest: &str) -> Option<String> {
        SETTINGS.iter().find_map(|row| {
            let pattern = row.env_name()?;
            let pattern = pattern.strip_prefix("DSRS_")?;
            let Some(section) = row.section() else {
                return (pattern == rest).then(|| row.path.to_owned());
            };
            let (before, after) = pattern.split_once("NAME")?;
            let name = rest.strip_prefix(before)?.strip_suffix(after)?;
            (!name.is_empty()).then(|| row.path_for(&self.name_of_variable(section, name)))
        })
    }

    /// A chosen name as the file spells it, where the file has it: a variable cannot spell `fast-1`.
    fn name_of_variable(&self, section: &str, spelled: &str) -> String {
        let shout = |name: &str| name.to_uppercase().replace(['-', '.'], "_");
        let known = self.chosen(section).into_iter().find(|name| shout(name) == spelled);
        known.unwrap_or_else(|| match section {
            // Their names are written like those of variables.
            "secrets" => spelled.to_owned(),
            _ => spelled.to_lowercase(),
        })
    }
}

fn unknown_variable(name: &str) -> String {
    let known: Vec<String> = SETTINGS.iter().filter_map(Setting::env_name).collect();
    let hint = hint(name, known.iter().map(String::as_str));
    format!("environment variable {name} is not a setting and is ignored{hint}")
}
