//! Secrets by name with the destinations that they may go to, and texts that refer to them as
//! `${NAME}`. Neither errors nor `Debug` show the text of a secret.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::allow::Destination;
use super::nearest::hint;
use super::reader::SettingReader;

/// A secret, bound to the destinations that it may go to. Without any it goes nowhere.
#[derive(Debug, Clone)]
pub struct Secret {
    /// Its name, which definitions and settings refer to.
    pub name: String,
    pub text: SecretString,
    /// The hosts that it may be sent to.
    pub hosts: Vec<Destination>,
    /// The MCP servers that it may be passed to.
    pub mcp: Vec<String>,
}

impl Secret {
    /// Whether a request to this URL may contain the secret.
    ///
    /// # Errors
    /// A sentence that names the setting to change.
    pub fn admit_url(&self, url: &Url) -> Result<(), String> {
        let port = url.port_or_known_default().unwrap_or_default();
        let Some(host) = url.host() else {
            return Err(format!("the secret \"{}\" cannot go to a URL without a host", self.name));
        };
        if self.hosts.iter().any(|listed| listed.matches(&host, port)) {
            return Ok(());
        }
        let name = &self.name;
        let place = format!("`{host}` (port {port})");
        Err(match self.hosts.is_empty() {
            true => format!(
                "the secret \"{name}\" may not go to {place}: the server's `secrets.{name}.hosts` \
                 lists no host"
            ),
            false => format!(
                "the secret \"{name}\" may not go to {place}, which is not in the server's \
                 `secrets.{name}.hosts`"
            ),
        })
    }

    /// Whether an MCP server may receive the secret.
    ///
    /// # Errors
    /// A sentence that names the setting to change.
    pub(super) fn admit_server(&self, server: &str) -> Result<(), String> {
        match self.mcp.iter().any(|listed| listed == server) {
            true => Ok(()),
            false => Err(format!(
                "the secret \"{name}\" may not go to the MCP server \"{server}\", which is not in \
                 secrets.{name}.mcp",
                name = self.name
            )),
        }
    }
}

/// The secrets of the settings, by name.
#[derive(Debug, Clone, Default)]
pub struct Secrets(IndexMap<String, Arc<Secret>>);

impl Secrets {
    /// A secret that is to go into requests to this URL.
    ///
    /// # Errors
    /// A sentence that lists the secrets that exist, or names the setting that binds this one.
    pub fn for_url(&self, name: &str, url: &Url) -> Result<&Arc<Secret>, String> {
        let secret = self.named(name)?;
        secret.admit_url(url).map(|()| secret)
    }

    fn for_server(&self, name: &str, server: &str) -> Result<&Arc<Secret>, String> {
        let secret = self.named(name)?;
        secret.admit_server(server).map(|()| secret)
    }

    fn named(&self, name: &str) -> Result<&Arc<Secret>, String> {
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

impl FromIterator<Secret> for Secrets {
    fn from_iter<I: IntoIterator<Item = Secret>>(secrets: I) -> Self {
        Self(secrets.into_iter().map(|secret| (secret.name.clone(), Arc::new(secret))).collect())
    }
}

/// A text with secrets inserted.
#[derive(Clone)]
pub struct SecretText(SecretString);

impl SecretText {
    /// Replaces each `${NAME}` by the text of that secret, for an MCP server.
    ///
    /// # Errors
    /// Names the reference that is no secret, or may not go to this server.
    pub fn read(text: &str, secrets: &Secrets, server: &str) -> Result<Self, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after
                .split_once('}')
                .ok_or("\"${\" starts the name of a secret, but no \"}\" ends it")?;
            filled.push_str(before);
            filled.push_str(secrets.for_server(name, server)?.text.expose_secret());
            rest = behind;
        }
        filled.push_str(rest);
        Ok(Self(SecretString::from(filled)))
    }

    /// The text of a setting of an MCP server, in which each `${NAME}` must be a secret of the
    /// settings that may go there.
    pub(super) fn of_setting(
        read: &mut SettingReader<'_>,
        path: &str,
        secrets: &Secrets,
        server: &str,
    ) -> Option<Self> {
        let given = read.given(path)?;
        let text = given.items.first().map_or("", String::as_str);
        match Self::read(text, secrets, server) {
            Ok(text) => Some(text),
            Err(reason) => {
                read.refuse(path, given, &reason);
                None
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str, text: &str, hosts: &[&str], mcp: &[&str]) -> Secret {
        Secret {
            name: name.to_owned(),
            text: SecretString::from(text),
            hosts: hosts.iter().map(|host| Destination::read(host).unwrap()).collect(),
            mcp: mcp.iter().map(|server| (*server).to_owned()).collect(),
        }
    }

    fn secrets() -> Secrets {
        let bound = secret("GITHUB", "ghp_1", &["api.github.com", "*.ghe.example:8443"], &["git"]);
        [bound, secret("OTHER", "o", &[], &["git", "other"])].into_iter().collect()
    }

    #[test]
    fn a_text_contains_the_secrets_it_names_and_debug_hides_them() {
        let text = SecretText::read("Bearer ${GITHUB}/${OTHER}!", &secrets(), "git").unwrap();
        assert_eq!(text.expose(), "Bearer ghp_1/o!");
        assert!(!format!("{text:?} {:?}", secrets()).contains("ghp_1"));
    }

    #[test]
    fn an_unknown_secret_is_reported_with_the_known_ones() {
        assert_eq!(
            SecretText::read("${GITHUP}", &secrets(), "git").unwrap_err(),
            "there is no secret \"GITHUP\"; the server's settings have GITHUB, OTHER; \
             did you mean \"GITHUB\"?"
        );
        assert!(SecretText::read("${GITHUB", &secrets(), "git").is_err());
    }

    #[test]
    fn a_secret_goes_only_to_the_mcp_servers_that_list_it() {
        assert_eq!(
            SecretText::read("${OTHER} ${GITHUB}", &secrets(), "other").unwrap_err(),
            "the secret \"GITHUB\" may not go to the MCP server \"other\", which is not in \
             secrets.GITHUB.mcp"
        );
    }

    #[test]
    fn a_secret_goes_only_to_its_hosts() {
        let secrets = secrets();
        let refusal = |name, url| {
            let url = Url::parse(url).unwrap();
            secrets.for_url(name, &url).map(|secret| secret.name.clone())
        };
        for url in [
            "https://api.github.com/user",
            "http://API.GITHUB.COM.:8080/",
            "https://a.b.ghe.example:8443/",
        ] {
            assert!(refusal("GITHUB", url).is_ok(), "{url}");
        }
        for url in [
            "https://github.com/",
            "https://api.github.com.evil.example/",
            "https://evil.example/api.github.com",
            "https://evil.example/?host=api.github.com",
            "https://xapi.github.com/",
            "https://ghe.example:8443/",
            "https://a.ghe.example/",
            "https://140.82.121.6/",
        ] {
            let refused = refusal("GITHUB", url).unwrap_err();
            assert!(refused.ends_with("not in the server's `secrets.GITHUB.hosts`"), "{refused}");
        }
        assert_eq!(
            refusal("OTHER", "https://api.github.com/").unwrap_err(),
            "the secret \"OTHER\" may not go to `api.github.com` (port 443): the server's \
             `secrets.OTHER.hosts` lists no host"
        );
    }
}
