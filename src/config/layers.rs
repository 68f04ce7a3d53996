//! The layers of settings, laid over each other: defaults, file, environment, flags. What comes
//! out is one text a path, with where it came from. Nothing is parsed here beyond TOML itself.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;

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
        let members = self.given.keys().filter_map(|path| path.strip_prefix("models."));
        let mut aliases: Vec<String> = Vec::new();
        for (alias, _) in members.filter_map(|rest| rest.rsplit_once('.')) {
            if !aliases.iter().any(|known| known == alias) {
                aliases.push(alias.to_owned());
            }
        }
        aliases
    }

    fn lay_defaults(&mut self) {
        for row in SETTINGS.iter().filter(|row| !row.is_model_member()) {
            if let Some(text) = row.default {
                self.given.insert(row.path.to_owned(), Given::new(text, Origin::Default));
            }
        }
    }

    fn lay_environment(&mut self, env: &Environment) {
        for row in SETTINGS.iter().filter(|row| !row.is_model_member()) {
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
        let Some(nested) = rest.strip_prefix("MODELS__") else {
            let row = SETTINGS.iter().find(|row| row.env_name()[5..] == *rest)?;
            return (!row.is_model_member()).then(|| row.path.to_owned());
        };
        let (alias, member) = nested.rsplit_once("__").filter(|(alias, _)| !alias.is_empty())?;
        let path = format!("models.*.{}", member.to_lowercase());
        let row = SETTINGS.iter().find(|row| row.path == path)?;
        Some(row.path_for(&self.alias_of_variable(alias)))
    }

    /// An alias as the file spells it, where the file has it: a variable cannot spell `fast-1`.
    fn alias_of_variable(&self, spelled: &str) -> String {
        let shout = |alias: &str| alias.to_uppercase().replace(['-', '.'], "_");
        let known = self.aliases().into_iter().find(|alias| shout(alias) == spelled);
        known.unwrap_or_else(|| spelled.to_lowercase())
    }
}

fn unknown_variable(name: &str) -> String {
    let known: Vec<String> = SETTINGS.iter().map(Setting::env_name).collect();
    let hint = hint(name, known.iter().map(String::as_str));
    format!("environment variable {name} is not a setting and is ignored{hint}")
}
