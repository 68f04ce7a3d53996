//! Refuses requests that the page of another web site may have sent: without API keys a server has no
//! other way to distinguish its user from a page in the user's browser. A page whose name an attacker
//! points at this machine (DNS rebinding) names its own host, and a page of another origin names that
//! origin. Knows no route but the probes.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, header};
use url::{Host, Url};

use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use dsrs_config::{Config, Destination};

/// How a browser relates the page that sends a request to the server.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a browser opens a page, or a page requests something.
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What a browser makes of the answer.
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The most of a header that a refusal shows, in characters.
const SHOWN: usize = 100;

/// Decides which hosts and origins requests may name.
pub(crate) struct SiteGuard {
    bound: IpAddr,
    allowed_hosts: Vec<Destination>,
    allowed_origins: Vec<String>,
}

/// The origins of pages that may send messages to the MCP server, whether it has keys or not.
pub(crate) struct OwnOrigins(Vec<String>);

impl OwnOrigins {
    /// Those of the settings, and the server's own.
    pub(crate) fn new(config: &Config) -> Self {
        Self(config.http.allowed_origins.clone())
    }

    /// Refuses a request that a page of another origin sends.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), ApiProblem> {
        let host = headers.get(header::HOST).and_then(|host| Authority::read(host.to_str().ok()?));
        for value in headers.get_all(header::ORIGIN) {
            let text = String::from_utf8_lossy(value.as_bytes());
            let url = Url::parse(&text).ok().filter(is_origin);
            let is_own = url.as_ref().is_some_and(|url| {
                self.0.contains(&url.origin().ascii_serialization())
                    || host.as_ref().is_some_and(|host| host.is_host_of(url))
            });
            if !is_own {
                let detail = format!(
                    "`/mcp` refuses pages of other web sites, and `{}` is the origin of one; list it in the setting \
                     `http.allowed_origins`",
                    shown(&text)
                );
                return Err(ApiProblem::new(ProblemCode::ForbiddenOrigin, detail));
            }
        }
        Ok(())
    }
}

/// A host and its port, as `Host` names them.
struct Authority {
    host: Host<String>,
    port: Option<u16>,
}

impl SiteGuard {
    /// The guard of a server without keys. With keys there is none: no other page has a key.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        config.api_keys.is_empty().then(|| Self {
            bound: config.bind.ip().to_canonical(),
            allowed_hosts: config.http.allowed_hosts.clone(),
            allowed_origins: config.http.allowed_origins.clone(),
        })
    }

    /// The guard of a listener for monitoring, which never has keys.
    pub(crate) fn of_monitor(bound: IpAddr, config: &Config) -> Self {
        let allowed_hosts = config.http.allowed_hosts.clone();
        Self { bound: bound.to_canonical(), allowed_hosts, allowed_origins: Vec::new() }
    }

    /// Whether a request is answered. The probes are: they show nothing, and an orchestrator names
    /// the address of the container.
    pub(crate) fn admit(&self, request: &Request) -> Result<(), ApiProblem> {
        if is_probe(request) {
            return Ok(());
        }
        let host = self.admit_host(request)?;
        if self.admit_origins(request.headers(), &host)?
            || is_followed_link(request.method(), request.headers())
        {
            return Ok(());
        }
        admit_site(request.headers())
    }

    /// The host that a request names. If its target names one too, both have to be allowed.
    fn admit_host(&self, request: &Request) -> Result<Authority, ApiProblem> {
        let mut headers = request.headers().get_all(header::HOST).iter();
        let header = headers.next().map(|value| value.as_bytes());
        if headers.next().is_some() {
            let detail = "a request names its host once: it has several `Host` headers";
            return Err(ApiProblem::new(ProblemCode::MalformedRequest, detail));
        }
        let target = request.uri().authority().map(|authority| authority.as_str().as_bytes());
        let mut named = None;
        for text in [header, target].into_iter().flatten() {
            let text = String::from_utf8_lossy(text);
            let host = Authority::read(&text).filter(|host| self.answers(host));
            named = Some(host.ok_or_else(|| foreign_host(&text))?);
        }
        named.ok_or_else(|| {
            let detail = "without API keys this server answers only requests that name their host: \
                          send `Host`";
            ApiProblem::new(ProblemCode::ForbiddenHost, detail)
        })
    }

    fn answers(&self, authority: &Authority) -> bool {
        let address = match &authority.host {
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address).to_canonical()),
            Host::Domain(_) => None,
        };
        let is_own = match (&authority.host, address) {
            (_, Some(address)) => self.is_own_address(address),
            (Host::Domain(name), _) => is_loopback_name(name),
            _ => false,
        };
        is_own || self.lists(authority)
    }

    /// A page cannot be named by an address of this machine unless it comes from there. A server that
    /// listens on every address does not know all of them, so that any address may be its own.
    fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback() || address == self.bound || self.bound.is_unspecified()
    }

    fn lists(&self, authority: &Authority) -> bool {
        let host = match &authority.host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        };
        let port = authority.port.unwrap_or(80);
        let matches = |listed: &Destination| {
            matches!(listed, Destination::Public) || listed.matches(&host, port)
        };
        self.allowed_hosts.iter().any(matches)
    }

    /// Whether a request names an origin that the operator lists. An origin that is neither listed nor
    /// the server's own is refused.
    fn admit_origins(&self, headers: &HeaderMap, host: &Authority) -> Result<bool, ApiProblem> {
        let mut is_listed = false;
        for value in headers.get_all(header::ORIGIN) {
            let text = String::from_utf8_lossy(value.as_bytes());
            let url = Url::parse(&text).ok().filter(is_origin);
            let url = url.ok_or_else(|| foreign_origin(&text))?;
            is_listed = self.allowed_origins.contains(&url.origin().ascii_serialization());
            if !is_listed && !host.is_host_of(&url) {
                return Err(foreign_origin(&text));
            }
        }
        Ok(is_listed)
    }
}

impl Authority {
    fn read(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        // The parser of URLs is a hundred times slower than that of addresses.
        let host = match host.parse() {
            Ok(address) => Host::Ipv4(address),
            Err(_) => without_dot(Host::parse(host).ok()?),
        };
        Some(Self { host, port })
    }

    /// Whether an origin has this host and port. The scheme may differ: a proxy may speak TLS.
    fn is_host_of(&self, origin: &Url) -> bool {
        let port = origin.port_or_known_default();
        let host = origin.host().map(|host| without_dot(host.to_owned()));
        host.as_ref() == Some(&self.host)
            && port == self.port.or_else(|| default_port(origin.scheme()))
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    Some(if scheme == "https" { 443 } else { 80 })
}

/// `localhost.` and `localhost` are one host.
fn without_dot(host: Host<String>) -> Host<String> {
    match host {
        Host::Domain(mut name) => {
            name.truncate(name.strip_suffix('.').unwrap_or(&name).len());
            Host::Domain(name)
        }
        address => address,
    }
}

/// Browsers resolve these names to this machine.
fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether a URL has nothing but scheme, host and port.
fn is_origin(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && (url.path(), url.query(), url.fragment()) == ("/", None, None)
        && url.username().is_empty()
        && url.password().is_none()
}

/// Refuses a request that carries the session of a user but may not come from the page: a form or a script of
/// another site, also of another port of this host, which `SameSite` does not distinguish.
pub(crate) fn admit_session(method: &Method, headers: &HeaderMap) -> Result<(), ApiProblem> {
    if is_followed_link(method, headers) {
        return Ok(());
    }
    if let Some(site) = headers.get(FETCH_SITE) {
        let is_own = matches!(site.as_bytes(), b"same-origin" | b"none");
        let shown = shown(&String::from_utf8_lossy(site.as_bytes()));
        return if is_own {
            Ok(())
        } else {
            Err(foreign_session(&format!("`Sec-Fetch-Site: {shown}`")))
        };
    }
    // Browsers name the origin of every request that changes something.
    let Some(origin) = headers.get(header::ORIGIN) else {
        let missing = "a change without `Origin`";
        return if is_read(method) { Ok(()) } else { Err(foreign_session(missing)) };
    };
    let text = String::from_utf8_lossy(origin.as_bytes());
    let host = headers.get(header::HOST).and_then(|host| Authority::read(host.to_str().ok()?));
    let url = Url::parse(&text).ok().filter(is_origin);
    match host.zip(url).is_some_and(|(host, url)| host.is_host_of(&url)) {
        true => Ok(()),
        false => Err(foreign_session(&format!("`Origin: {}`", shown(&text)))),
    }
}

/// Refuses a form that starts a session if it comes from another site, which would sign a user in with a key of its
/// own choice. Clients that are no browsers name no site.
pub fn admit_sign_in(headers: &HeaderMap) -> Result<(), ApiProblem> {
    let is_browser = headers.contains_key(FETCH_SITE) || headers.contains_key(header::ORIGIN);
    if is_browser { admit_session(&Method::POST, headers) } else { Ok(()) }
}

/// Whether a request is a health probe.
pub(crate) fn is_probe(request: &Request) -> bool {
    is_read(request.method()) && matches!(request.uri().path(), "/healthz" | "/readyz")
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether a browser opens a page in a window of its own: the other site does not see it.
fn is_followed_link(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, word: &str| {
        headers.get(name).is_some_and(|value| value.as_bytes() == word.as_bytes())
    };
    is_read(method) && is(&FETCH_MODE, "navigate") && is(&FETCH_DEST, "document")
}

/// Browsers name no origin in some requests, and mark them by this header.
fn admit_site(headers: &HeaderMap) -> Result<(), ApiProblem> {
    let is_own = |site: &[u8]| matches!(site, b"same-origin" | b"none");
    let foreign = headers.get_all(FETCH_SITE).iter().find(|site| !is_own(site.as_bytes()));
    let Some(site) = foreign else { return Ok(()) };
    let site = shown(&String::from_utf8_lossy(site.as_bytes()));
    Err(refused_origin(&format!("`Sec-Fetch-Site: {site}` marks one")))
}

fn foreign_host(text: &str) -> ApiProblem {
    let detail = format!(
        "without API keys this server answers only requests for this machine, and `{}` is another \
         host; list it in the setting `http.allowed_hosts`, or configure an API key",
        shown(text)
    );
    ApiProblem::new(ProblemCode::ForbiddenHost, detail)
}

fn foreign_origin(text: &str) -> ApiProblem {
    refused_origin(&format!("`{}` is the origin of one", shown(text)))
}

fn foreign_session(mark: &str) -> ApiProblem {
    let detail = format!(
        "the session of the page serves only requests of the page itself, and this one has {mark}; send the key as \
         `Authorization: Bearer <key>` instead"
    );
    ApiProblem::new(ProblemCode::ForbiddenOrigin, detail)
}

fn refused_origin(mark: &str) -> ApiProblem {
    let detail = format!(
        "without API keys this server refuses requests of other web sites, and {mark}; list its \
         origin in the setting `http.allowed_origins`, or configure an API key"
    );
    ApiProblem::new(ProblemCode::ForbiddenOrigin, detail)
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}
