//! The engine of background work: which one, and how Restate is reached. Knows nothing of its protocol.

use std::net::SocketAddr;

use url::Url;

use super::engine_kind::{EngineKey, EngineKind};
use super::reader::SettingReader;
use super::settings::{EngineSettings, RestateSettings, WorkerConfig};

/// The engine of background work.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Which one accepts work.
    pub kind: EngineKind,
    /// Restate, if it is configured. With [`EngineKind::Postgres`], what it still has is moved to the database.
    pub restate: Option<RestateConfig>,
}

/// How Restate is reached, and how it reaches this server.
#[derive(Clone, Debug)]
pub struct RestateConfig {
    /// The nodes that accept work; never empty.
    pub ingress: Vec<Url>,
    /// The admin API.
    pub admin: Option<Url>,
    /// The address on which it reaches this worker.
    pub bind: SocketAddr,
    /// The URL under which it finds the workers.
    pub url: Option<Url>,
    /// The start of the names of the services.
    pub prefix: String,
    /// The key that signs its requests.
    pub identity_key: Option<EngineKey>,
}

impl EngineConfig {
    /// The address on which anyone could start work at the operator's expense: others reach it, and requests
    /// are not signed.
    #[must_use]
    pub fn open_address(&self, worker: &WorkerConfig) -> Option<SocketAddr> {
        let restate = self.restate.as_ref().filter(|_| worker.enabled)?;
        let is_public = !restate.bind.ip().to_canonical().is_loopback();
        (is_public && restate.identity_key.is_none()).then_some(restate.bind)
    }
}

/// Reads `engine` and the section `restate`.
pub(super) fn read_engine(read: &mut SettingReader<'_>) -> Option<EngineConfig> {
    let kind = EngineSettings::read(read, "")?.engine;
    let settings = RestateSettings::read(read, "")?;
    let ingress = read_urls(read, &settings.ingress);
    if kind == EngineKind::Restate && settings.ingress.is_empty() {
        let missing = "restate.ingress is missing, which engine = \"restate\" needs; \
                       an example is http://127.0.0.1:8080";
        read.problems.push(missing.to_owned());
    }
    let RestateSettings { admin, bind, url, prefix, identity_key, .. } = settings;
    let restate = RestateConfig { ingress, admin, bind, url, prefix, identity_key };
    Some(EngineConfig { kind, restate: Some(restate).filter(|found| !found.ingress.is_empty()) })
}

fn read_urls(read: &mut SettingReader<'_>, texts: &[String]) -> Vec<Url> {
    let mut urls = Vec::new();
    for text in texts {
        let fits = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        match Url::parse(text).ok().filter(fits) {
            Some(url) => urls.push(url),
            None => read.problems.push(format!(
                "restate.ingress: `{text}` is no URL that begins with http:// or https://"
            )),
        }
    }
    urls
}
