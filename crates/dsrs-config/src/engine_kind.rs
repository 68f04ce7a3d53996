//! The words of the settings about the engine: which one, and the key of its requests. Knows no other setting.

/// What hands background work to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// The table of jobs in the database.
    Postgres,
    /// Restate, beside the database.
    Restate,
}

impl EngineKind {
    /// The words of the setting.
    pub(super) const WORDS: &[&str] = &["postgres", "restate"];

    pub(super) fn find(word: &str) -> Option<Self> {
        match word {
            "postgres" => Some(Self::Postgres),
            "restate" => Some(Self::Restate),
            _ => None,
        }
    }
}

/// The public key of a cluster of Restate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineKey([u8; 32]);

impl EngineKey {
    /// A key in Restate's notation: `publickeyv1_` and Base58.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut key = [0; 32];
        let length = bs58::decode(text.strip_prefix("publickeyv1_")?).onto(&mut key).ok()?;
        (length == key.len()).then_some(Self(key))
    }

    /// The key for Ed25519.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_key_has_its_prefix_and_32_bytes() {
        let text = "publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9";
        assert!(EngineKey::parse(text).is_some());
        for wrong in [
            "",
            "2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9",
            "publickeyv1_",
            "publickeyv1_0l",
            "publickeyv1_2G8d",
        ] {
            assert_eq!(EngineKey::parse(wrong), None, "{wrong}");
        }
    }
}
