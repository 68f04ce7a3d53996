//! Where old runs go: the URL of the archive, and what the environment says about object storage.

use url::Url;

use super::environment::Environment;
use super::reader::SettingReader;
use super::settings::ArchiveSettings;

/// The prefixes of environment variables that the library for object storage reads.
const PREFIXES: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// The archive of runs.
#[derive(Clone)]
pub struct ArchiveConfig {
    /// A directory or a bucket.
    pub url: Url,
    /// Credentials and options, by the names of their environment variables.
    pub options: Vec<(String, String)>,
}

/// Credentials and options for object storage.
pub fn storage_options(env: &Environment) -> Vec<(String, String)> {
    let is_option = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let options = env.iter().filter(|(name, _)| is_option(name));
    options.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Reads the section `archive`. The outer `None` is a problem, the inner one no archive.
pub(super) fn read_archive(read: &mut SettingReader<'_>) -> Option<Option<ArchiveConfig>> {
    let url = ArchiveSettings::read(read, "")?.url;
    let options = storage_options(read.env);
    Some(url.map(|url| ArchiveConfig { url, options }))
}
