//! How HTTP requests are admitted and answered, as configured: hosts and origins besides the server's
//! own, and compression. Does not know requests: the room of HTTP decides by this.

use url::Url;

use super::allow::{Destination, read_destinations};
use super::reader::SettingReader;
use super::settings::HttpSettings;

/// How HTTP requests are admitted and answered.
#[derive(Debug, Clone, Default)]
pub struct HttpConfig {
    /// The hosts that requests may name besides those of this machine.
    pub allowed_hosts: Vec<Destination>,
    /// The origins of other web sites that may call, such as `https://app.example.com`, without the
    /// default port of their scheme.
    pub allowed_origins: Vec<String>,
    /// Whether large answers are compressed.
    pub compress: bool,
}

/// Reads the settings under `http.`.
pub(super) fn read_http(read: &mut SettingReader<'_>) -> Option<HttpConfig> {
    let settings = HttpSettings::read(read, "")?;
    Some(HttpConfig {
        allowed_hosts: read_destinations(read, "http.allowed_hosts", &settings.allowed_hosts),
        allowed_origins: read_origins(read, &settings.allowed_origins),
        compress: settings.compress,
    })
}

fn read_origins(read: &mut SettingReader<'_>, entries: &[String]) -> Vec<String> {
    let path = "http.allowed_origins";
    let mut origins = Vec::new();
    for entry in entries {
        match (read_origin(entry), read.given(path)) {
            (Ok(origin), _) => origins.push(origin),
            (Err(reason), Some(given)) => read.refuse(path, given, &reason),
            (Err(_), None) => {}
        }
    }
    origins
}

/// An origin as browsers write it.
fn read_origin(text: &str) -> Result<String, String> {
    let is_origin = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && (url.path(), url.query(), url.fragment()) == ("/", None, None)
            && url.username().is_empty()
            && url.password().is_none()
            && !text.contains('*')
    };
    let url = Url::parse(text).ok().filter(is_origin);
    url.map(|url| url.origin().ascii_serialization()).ok_or_else(|| {
        format!(
            "\"{}\" is not an origin: scheme, host and port, such as https://app.example.com; each \
             origin is listed itself, and `*` and `null` are not possible",
            text.escape_debug()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_browsers_write_it() {
        for (text, origin) in [
            ("https://app.example.com", "https://app.example.com"),
            ("HTTPS://App.Example.com:443/", "https://app.example.com"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://bücher.example", "http://xn--bcher-kva.example"),
            ("http://[0:0::1]:80", "http://[::1]"),
        ] {
            assert_eq!(read_origin(text).as_deref(), Ok(origin), "{text}");
        }
        for text in [
            "*",
            "null",
            "",
            "app.example.com",
            "https://*.example.com",
            "https://app.example.com/path",
            "https://app.example.com?x",
            "https://user@app.example.com",
            "file:///tmp",
        ] {
            assert!(read_origin(text).is_err(), "{text}");
        }
    }
}
