//! Every setting with its text and its origin, for `config check`. Secrets are never shown.

use url::Url;

use super::environment::Environment;
use super::file::read_file;
use super::layers::{Layers, SettingOrigin, SettingText};
use super::load::{Flags, settings_file};
use super::setting::SettingKind;
use super::settings::all_settings;

/// One setting as the server reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingSource {
    /// Its path in the settings file.
    pub path: String,
    /// Its text; that of a secret is replaced.
    pub text: String,
    /// The file and line, the variable, the flag, or `default`.
    pub origin: String,
    /// Whether nothing sets it.
    pub is_default: bool,
}

/// Every setting that has a text, in the order of the table and then of the file. Problems of the file are
/// those that [`super::Config::load`] reports.
pub fn setting_sources(flags: &Flags, env: &Environment) -> Vec<SettingSource> {
    let file = match settings_file(flags, env) {
        Some(path) => read_file(&path, &mut Vec::new()),
        None => Vec::new(),
    };
    let layers = Layers::collect(all_settings(), file, env, &flags.settings);
    let source = |(path, text): (&String, &SettingText)| {
        let kind = layers.setting(path).map_or(SettingKind::Secret, |row| row.kind);
        SettingSource {
            path: path.clone(),
            text: shown(kind, &text.items.join(", ")),
            origin: text.origin.to_string(),
            is_default: text.origin == SettingOrigin::Default,
        }
    };
    layers.entries().map(source).collect()
}

/// The text without what must stay secret: secrets, and the passwords and queries of URLs.
fn shown(kind: SettingKind, text: &str) -> String {
    match kind {
        SettingKind::Secret => "(secret)".to_owned(),
        SettingKind::Url => match Url::parse(text) {
            Ok(mut url) => {
                if url.password().is_some() {
                    let _ = url.set_password(Some("secret"));
                }
                url.set_query(None);
                url.into()
            }
            Err(_) => "(not a URL)".to_owned(),
        },
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_the_origin_of_its_highest_layer_and_no_secret_is_shown() {
        let env: Environment = [
            ("DATABASE_URL", "postgres://me:hidden@db/name?sslpassword=hidden"),
            ("OPENAI_API_KEY", "hidden"),
            ("DSRS_LOG", "debug"),
        ]
        .into_iter()
        .collect();
        let flags = Flags {
            config: Some("/dev/null".into()),
            settings: [("bind".to_owned(), "[::1]:1".to_owned())].into(),
        };
        let found = setting_sources(&flags, &env);
        let of = |path: &str| {
            let source = found.iter().find(|source| source.path == path).unwrap();
            (source.text.clone(), source.origin.clone())
        };
        let expect = |text: &str, origin: &str| (text.to_owned(), origin.to_owned());
        assert_eq!(of("bind"), expect("[::1]:1", "flag --bind"));
        assert_eq!(of("log"), expect("debug", "environment variable DSRS_LOG"));
        assert_eq!(of("data_dir"), expect("./data", "default"));
        let database = expect("postgres://me:secret@db/name", "environment variable DATABASE_URL");
        assert_eq!(of("database.url"), database);
        assert!(!format!("{found:?}").contains("hidden"), "{found:?}");
    }
}
