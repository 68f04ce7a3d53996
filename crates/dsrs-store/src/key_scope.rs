//! The scopes of keys: what a key may do. May not know routes.

use std::fmt;

/// One right of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// Reads, and computes without a model.
    Read,
    /// Starts, cancels and signals runs and other jobs.
    Execute,
    /// Creates, changes, activates and deletes graphs, states and datasets.
    Write,
    /// Manages keys and workspaces and reads the audit log. Includes all other scopes.
    Admin,
}

impl KeyScope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Read, Self::Execute, Self::Write, Self::Admin];

    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Execute => "execute",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyScopes(u8);

impl KeyScopes {
    /// No scope.
    pub const NONE: Self = Self(0);

    /// Every scope.
    pub const ALL: Self = Self(KeyScope::Admin.bit());

    /// Whether a key with these scopes has this one, too. `admin` includes all.
    #[must_use]
    pub const fn allow(self, scope: KeyScope) -> bool {
        self.0 & (scope.bit() | KeyScope::Admin.bit()) != 0
    }

    /// The scopes that were given, without those that `admin` includes.
    pub fn iter(self) -> impl Iterator<Item = KeyScope> {
        KeyScope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }

    /// The words, as stored and shown.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        self.iter().map(KeyScope::as_str).collect()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<KeyScope> for KeyScopes {
    fn from_iter<I: IntoIterator<Item = KeyScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

/// As stored. A word of a later release grants nothing here.
impl From<Vec<String>> for KeyScopes {
    fn from(words: Vec<String>) -> Self {
        words.iter().filter_map(|word| KeyScope::parse(word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_admin_includes_other_scopes() {
        let one = |scope| [scope].into_iter().collect::<KeyScopes>();
        for scope in KeyScope::ALL {
            assert!(one(scope).allow(scope) && KeyScopes::ALL.allow(scope));
            assert!(!KeyScopes::NONE.allow(scope));
            let others = KeyScope::ALL.into_iter().filter(|other| *other != scope);
            let includes = others.filter(|other| one(scope).allow(*other)).count();
            assert_eq!(includes, if scope == KeyScope::Admin { 3 } else { 0 }, "{scope}");
        }
    }

    #[test]
    fn scopes_are_stored_as_words_and_unknown_words_grant_nothing() {
        let words = ["write", "read", "fly"].map(str::to_owned).to_vec();
        assert_eq!(KeyScopes::from(words).words(), ["read", "write"]);
    }
}
