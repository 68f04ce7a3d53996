//! Secrets by name, and texts that refer to them as `${NAME}`. Neither errors nor `Debug` show the
//! text of a secret.

use std::fmt;

use indexmap::IndexMap;
use secrecy::{ExposeSecret, SecretString};

use super::nearest::hint;
use super::reader::SettingReader;
use super::settings::SecretSettings;

/// The secrets of the settings, by name.
#[derive(Debug, Clone, Default)]
pub struct Secrets(IndexMap<String, SecretString>);

impl Secrets {
    /// The text of a secret.
    ///
    /// # Errors
    /// A sentence that lists the secrets that exist.
    pub fn get(&self, name: &str) -> Result<&SecretString, String> {
        self.0.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            let known = match known.is_empty() {
                true => "the server's settings have none".to_owned(),
                false => format!("the server's settings have {}", known.join(", ")),
            };
            let hint = hint(name, self.names());
            format!("there is no secret \"{}\"; {known}{hint}", name.escape_debug())
        })
    }

    /// Their names in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<N: Into<String>> FromIterator<(N, SecretString)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (N, SecretString)>>(secrets: I) -> Self {
        Self(secrets.into_iter().map(|(name, text)| (name.into(), text)).collect())
    }
}

/// A text with secrets inserted.
#[derive(Clone)]
pub struct SecretText(SecretString);

impl SecretText {
    /// Replaces each `${NAME}` by the text of that secret.
    ///
    /// # Errors
    /// Names the reference that is no secret.
    pub fn read(text: &str, secrets: &Secrets) -> Result<Self, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after
                .split_once('}')
                .ok_or("\"${\" starts the name of a secret, but no \"}\" ends it")?;
            filled.push_str(before);
            filled.push_str(secrets.get(name)?.expose_secret());
            rest = behind;
        }
        filled.push_str(rest);
        Ok(Self(SecretString::from(filled)))
    }

    /// A text as it is.
    pub(super) fn plain(text: &str) -> Self {
        Self(SecretString::from(text))
    }

    /// The whole text.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

/// Reads `[secrets]`.
pub(super) fn read_secrets(read: &mut SettingReader<'_>) -> Option<Secrets> {
    let mut secrets = IndexMap::new();
    for name in SecretSettings::read(read, "")?.names {
        if let Some(reason) = unusable(&name) {
            read.problems.push(format!("secrets.{}: {reason}", name.escape_debug()));
            continue;
        }
        let given = read.given(&format!("secrets.{name}"));
        // A mounted file of a secret may end with a line break.
        let text = given.and_then(|given| given.items.first()).map_or("", |text| text.trim());
        if text.is_empty() {
            read.problems.push(format!("secrets.{name}: expected some text"));
            continue;
        }
        secrets.insert(name, SecretString::from(text));
    }
    Some(Secrets(secrets))
}

fn unusable(name: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let usable = name.len() <= 63 && name.chars().all(fits);
    (!usable).then_some("the name of a secret has up to 63 letters, digits and \"_\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        [("GITHUB", SecretString::from("ghp_1")), ("OTHER", SecretString::from("o"))]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_text_contains_the_secrets_it_names_and_debug_hides_them() {
        let text = SecretText::read("Bearer ${GITHUB}/${OTHER}!", &secrets()).unwrap();
        assert_eq!(text.expose(), "Bearer ghp_1/o!");
        assert!(!format!("{text:?} {:?}", secrets()).contains("ghp_1"));
    }

    #[test]
    fn an_unknown_secret_is_reported_with_the_known_ones() {
        assert_eq!(
            SecretText::read("${GITHUP}", &secrets()).unwrap_err(),
            "there is no secret \"GITHUP\"; the server's settings have GITHUB, OTHER; \
             did you mean \"GITHUB\"?"
        );
        assert!(SecretText::read("${GITHUB", &secrets()).is_err());
    }
}
