//! The scopes of keys: what a key may do. May not know routes.

pub use dsrs_api::key::KeyScope;

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyScopes(u8);

const fn bit(scope: KeyScope) -> u8 {
    1 << scope as u8
}

impl KeyScopes {
    /// No scope.
    pub const NONE: Self = Self(0);

    /// Every scope.
    pub const ALL: Self = Self(bit(KeyScope::Admin));

    /// Whether a key with these scopes has this one, too. `admin` includes all.
    #[must_use]
    pub const fn allow(self, scope: KeyScope) -> bool {
        self.0 & (bit(scope) | bit(KeyScope::Admin)) != 0
    }

    /// The scopes that were given, without those that `admin` includes.
    pub fn iter(self) -> impl Iterator<Item = KeyScope> {
        KeyScope::ALL.into_iter().filter(move |scope| self.0 & bit(*scope) != 0)
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
        Self(scopes.into_iter().fold(0, |bits, scope| bits | bit(scope)))
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
