//! The destinations that tools may reach, and the hosts that requests may name, as the operator lists
//! them. Does not know connections: the rooms of tools and of HTTP decide by these lists.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::reader::SettingReader;

/// One entry of `tools.allow` or `http.allowed_hosts`. Host names have the form of the `url` crate: lower case, punycode, no
/// trailing dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Every public host.
    Public,
    Host {
        name: String,
        /// The port, if the entry names one.
        port: Option<u16>,
    },
    /// Every subdomain of a host, without the host itself.
    Subdomains {
        /// The name of the host.
        name: String,
        /// The port, if the entry names one.
        port: Option<u16>,
    },
    /// Addresses, private ones included.
    Network {
        /// The network; a single address is a network of one.
        network: IpNet,
        /// The port, if the entry names one.
        port: Option<u16>,
    },
}

impl Destination {
    /// Reads an entry.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "\"{}\" is not a host (api.example.com), a host and its port (api.example.com:8443), \
                 its subdomains (*.example.com), an address (10.0.0.5, 10.0.0.5:8080, [::1]:8080), \
                 a network (10.0.0.0/8) or * for every public host",
                text.escape_debug()
            )
        };
        if text == "*" {
            return Ok(Self::Public);
        }
        if let Ok(network) = text.parse::<IpNet>() {
            return Ok(Self::Network { network: network.trunc(), port: None });
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network { network: address.into(), port: None });
        }
        let (host, port) = split_port(text).ok_or_else(expected)?;
        let (below, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        match (below, Host::parse(name.strip_suffix('.').unwrap_or(name))) {
            (false, Ok(Host::Domain(name))) if usable(&name) => Ok(Self::Host { name, port }),
            (true, Ok(Host::Domain(name))) if usable(&name) => Ok(Self::Subdomains { name, port }),
            (false, Ok(Host::Ipv4(ip))) => {
                Ok(Self::Network { network: IpAddr::V4(ip).into(), port })
            }
            (false, Ok(Host::Ipv6(ip))) => {
                Ok(Self::Network { network: IpAddr::V6(ip).into(), port })
            }
            _ => Err(expected()),
        }
    }

    /// Whether the entry names this host and port. What [`Self::Public`] stands for is up to the
    /// caller.
    #[must_use]
    pub fn matches(&self, host: &Host<&str>, port: u16) -> bool {
        let (is_named, only) = match (self, host) {
            (Self::Host { name, port }, Host::Domain(found)) => (without_dot(found) == name, port),
            (Self::Subdomains { name, port }, Host::Domain(found)) => (is_below(found, name), port),
            (Self::Network { network, port }, Host::Ipv4(address)) => {
                (network.contains(&IpAddr::V4(*address)), port)
            }
            (Self::Network { network, port }, Host::Ipv6(address)) => {
                let address = IpAddr::V6(*address);
                let plain = address.to_canonical();
                (network.contains(&address) || network.contains(&plain), port)
            }
            _ => return false,
        };
        is_named && only.is_none_or(|only| only == port)
    }
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn is_below(name: &str, above: &str) -> bool {
    let rest = without_dot(name).strip_suffix(above);
    rest.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// Whether a name is a host name and not another pattern.
fn usable(name: &str) -> bool {
    !name.contains('*') && !name.starts_with('.') && !name.is_empty()
}

/// Splits off the port after the last colon, if there is one.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            let port = port.parse().ok().filter(|&port| port > 0)?;
            Some((host, Some(port)))
        }
        _ => Some((text, None)),
    }
}

/// Reads the entries of a setting.
pub(super) fn read_destinations(
    read: &mut SettingReader<'_>,
    path: &str,
    entries: &[String],
) -> Vec<Destination> {
    let mut destinations = Vec::new();
    for entry in entries {
        match (Destination::read(entry), read.given(path)) {
            (Ok(destination), _) => destinations.push(destination),
            (Err(reason), Some(given)) => read.refuse(path, given, &reason),
            (Err(_), None) => {}
        }
    }
    destinations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Destination::read(text) {
            Ok(Destination::Public) => "public".to_owned(),
            Ok(Destination::Host { name, port }) => format!("host {name} {port:?}"),
            Ok(Destination::Subdomains { name, port }) => format!("below {name} {port:?}"),
            Ok(Destination::Network { network, port }) => format!("network {network} {port:?}"),
            Err(_) => "refused".to_owned(),
        }
    }

    #[test]
    fn entries_are_hosts_subdomains_addresses_and_networks() {
        for (text, entry) in [
            ("*", "public"),
            ("API.Example.com.", "host api.example.com None"),
            ("bücher.example:8443", "host xn--bcher-kva.example Some(8443)"),
            ("*.example.org", "below example.org None"),
            ("10.0.0.5:8080", "network 10.0.0.5/32 Some(8080)"),
            ("10.1.2.3/8", "network 10.0.0.0/8 None"),
            ("::1", "network ::1/128 None"),
            ("[::1]:9000", "network ::1/128 Some(9000)"),
            ("0x7f.1", "network 127.0.0.1/32 None"),
        ] {
            assert_eq!(shown(text), entry, "{text}");
        }
    }

    #[test]
    fn any_other_text_is_refused() {
        for text in ["http://a.example", "a.example/path", "*.*", "a.*", "a b", "a:0", "a:http", ""]
        {
            assert_eq!(shown(text), "refused", "{text:?}");
        }
    }
}
