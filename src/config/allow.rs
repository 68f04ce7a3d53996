//! What the requests of tools may go to, as the owner lists it. Knows nothing of connections: who
//! decides by this list is the room of tools.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::reader::Reader;

/// One entry of `tools.allow`. Names are as the `url` crate writes hosts: lower case, punycode, no
/// dot at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// Every public host.
    Public,
    /// One host.
    Host {
        /// Its name.
        name: String,
        /// The one port, if only one is meant.
        port: Option<u16>,
    },
    /// Every host whose name ends in this one, which is not among them itself.
    Below {
        /// The name that theirs end in.
        name: String,
        /// The one port, if only one is meant.
        port: Option<u16>,
    },
    /// Addresses, private ones included.
    Network {
        /// The network; of one address, where one was written.
        network: IpNet,
        /// The one port, if only one is meant.
        port: Option<u16>,
    },
}

impl Allowed {
    /// Reads an entry.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "\"{}\" is not a host (api.example.com), a host and its port (api.example.com:8443), \
                 all below one (*.example.com), an address (10.0.0.5, 10.0.0.5:8080, [::1]:8080), \
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
            (true, Ok(Host::Domain(name))) if usable(&name) => Ok(Self::Below { name, port }),
            (false, Ok(Host::Ipv4(ip))) => {
                Ok(Self::Network { network: IpAddr::V4(ip).into(), port })
            }
            (false, Ok(Host::Ipv6(ip))) => {
                Ok(Self::Network { network: IpAddr::V6(ip).into(), port })
            }
            _ => Err(expected()),
        }
    }
}

/// Whether a name is one, and no pattern of another kind.
fn usable(name: &str) -> bool {
    !name.contains('*') && !name.starts_with('.') && !name.is_empty()
}

/// The port behind the last colon, where there is one.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            let port = port.parse().ok().filter(|&port| port > 0)?;
            Some((host, Some(port)))
        }
        _ => Some((text, None)),
    }
}

/// Reads the list at a path.
pub(super) fn read_allowed(read: &mut Reader<'_>, path: &str) -> Vec<Allowed> {
    let Some(given) = read.given(path) else { return Vec::new() };
    let mut allowed = Vec::new();
    for entry in given.list() {
        match Allowed::read(entry) {
            Ok(entry) => allowed.push(entry),
            Err(reason) => read.refuse(path, given, &reason),
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Allowed::read(text) {
            Ok(Allowed::Public) => "public".to_owned(),
            Ok(Allowed::Host { name, port }) => format!("host {name} {port:?}"),
            Ok(Allowed::Below { name, port }) => format!("below {name} {port:?}"),
            Ok(Allowed::Network { network, port }) => format!("network {network} {port:?}"),
            Err(_) => "refused".to_owned(),
        }
    }

    #[test]
    fn entries_are_hosts_names_below_them_addresses_and_networks() {
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
    fn what_is_none_of_them_is_refused() {
        for text in ["http://a.example", "a.example/path", "*.*", "a.*", "a b", "a:0", "a:http", ""]
        {
            assert_eq!(shown(text), "refused", "{text:?}");
        }
    }
}
