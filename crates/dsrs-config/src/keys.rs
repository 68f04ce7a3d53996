//! The API keys that the server accepts. Only their SHA-256 digests are stored, and every digest is
//! compared even after a match, so that neither memory nor timing reveals a key.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The digests of the configured keys.
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<ApiKey>);

#[derive(Clone)]
struct ApiKey {
    digest: [u8; 32],
    name: String,
}

impl ApiKeys {
    /// The digests of these keys, without duplicates.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<ApiKey> = Vec::new();
        for key in keys {
            let digest = digest(key);
            if !known.iter().any(|other| other.digest == digest) {
                known.push(ApiKey { digest, name: name(&digest) });
            }
        }
        Self(known)
    }

    /// Whether requests need no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| key.name.as_str())
    }

    /// The name of the presented key, if it is configured: `key-` and the first eight digits of its
    /// digest, safe for records and logs.
    pub fn identify(&self, presented: &str) -> Option<&str> {
        let presented = digest(presented);
        self.0.iter().fold(None, |found, key| match same(&key.digest, &presented) {
            true => Some(key.name.as_str()),
            false => found,
        })
    }
}

fn digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

fn name(digest: &[u8; 32]) -> String {
    digest.iter().take(4).fold("key-".to_owned(), |mut name, byte| {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// Compares every byte, whether or not the first ones differ.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

/// The reason why a key cannot be used, if there is one: it must fit after `Bearer ` in a header.
pub(super) fn unusable(key: &str) -> Option<&'static str> {
    let fits = key.bytes().all(|byte| byte.is_ascii_graphic());
    (!fits).then_some("contains a character that an Authorization header cannot carry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_configured_key_is_identified() {
        let keys = ApiKeys::new(["alpha", "beta", "alpha"]);
        assert_eq!(keys.len(), 2);
        assert_eq!(keys.identify("beta"), Some("key-f44e64e7"));
        for wrong in ["", "Alpha", "alpha ", "alphabeta"] {
            assert_eq!(keys.identify(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn without_keys_nothing_is_identified() {
        assert!(ApiKeys::default().is_empty());
        assert_eq!(ApiKeys::default().identify(""), None);
    }
}
