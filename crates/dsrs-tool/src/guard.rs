//! Decides what outgoing requests may reach, in two steps: whether the operator lists the host of a
//! URL, and, before each connection, whether the address is public or listed itself. A name that
//! resolves to a private address is refused, no matter who owns it. Knows no sockets.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use url::{Host, Url};

use dsrs_config::Destination;

/// Decides by the list of the operator.
#[derive(Debug)]
pub(super) struct Guard {
    /// The setting with the list, for refusals.
    setting: &'static str,
    allowed: Vec<Destination>,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Guard {
    pub(super) fn new(setting: &'static str, allowed: Vec<Destination>) -> Self {
        Self { setting, allowed }
    }

    /// Whether a URL is allowed: its scheme, its credentials and its host.
    pub(super) fn admit(&self, url: &Url) -> Result<(), Refused> {
        let scheme = url.scheme();
        if !matches!(scheme, "http" | "https") {
            return Err(Refused(format!("`{scheme}` is refused: only http and https are allowed")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused(
                "a URL with a user or password in it is refused; use a header with a secret".into(),
            ));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        match url.host() {
            Some(host) if self.lists(&host, port) => Ok(()),
            Some(host) => Err(self.unlisted(&host, port)),
            None => Err(Refused("a URL without a host is refused".into())),
        }
    }

    fn lists(&self, host: &Host<&str>, port: u16) -> bool {
        match host {
            Host::Ipv4(address) => self.reaches(IpAddr::V4(*address), port),
            Host::Ipv6(address) => self.reaches(IpAddr::V6(*address), port),
            Host::Domain(_) => self.allowed.iter().any(|allowed| {
                matches!(allowed, Destination::Public) || allowed.matches(host, port)
            }),
        }
    }

    /// Whether a URL may contain this address: it is public and public ones are listed, or it is listed.
    fn reaches(&self, address: IpAddr, port: u16) -> bool {
        let public = self.allowed.contains(&Destination::Public) && is_public(address);
        public || self.lists_address(address, port)
    }

    /// Whether a connection may go to an address of an allowed host.
    pub(super) fn connect(&self, host: &str, address: IpAddr, port: u16) -> Result<(), Refused> {
        if is_public(address) || self.lists_address(address, port) {
            return Ok(());
        }
        Err(Refused(format!(
            "`{host}` is at {address}, which is not a public address; the server's `{}` \
             would have to list it",
            self.setting
        )))
    }

    fn unlisted(&self, host: &Host<&str>, port: u16) -> Refused {
        Refused(format!("`{host}` (port {port}) is not in the server's `{}`", self.setting))
    }

    fn lists_address(&self, address: IpAddr, port: u16) -> bool {
        let host = match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        };
        self.allowed.iter().any(|allowed| allowed.matches(&host, port))
    }
}

/// Whether an address belongs to the public internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !NOT_PUBLIC_4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => match translated(address) {
            Some(inner) => is_public(IpAddr::V4(inner)),
            None => {
                PUBLIC_6.contains(&address)
                    && !NOT_PUBLIC_6.iter().any(|network| network.contains(&address))
            }
        },
    }
}

/// The IPv4 address inside one that a NAT64 translates.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    NAT64.contains(&address).then(|| Ipv4Addr::new(a, b, c, d))
}

const NOT_PUBLIC_4: [Ipv4Net; 15] = [
    // this host and network
    v4([0, 0, 0, 0], 8),
    // private
    v4([10, 0, 0, 0], 8),
    v4([172, 16, 0, 0], 12),
    v4([192, 168, 0, 0], 16),
    // carrier-grade NAT
    v4([100, 64, 0, 0], 10),
    // loopback
    v4([127, 0, 0, 0], 8),
    // link-local, including the metadata services of clouds
    v4([169, 254, 0, 0], 16),
    // protocol assignments, documentation, relays, benchmarks
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([198, 18, 0, 0], 15),
    // multicast
    v4([224, 0, 0, 0], 4),
    // reserved, and broadcast
    v4([240, 0, 0, 0], 4),
];

/// Global unicast addresses; loopback, private and link-local ones are outside this range.
const PUBLIC_6: Ipv6Net = v6([0x2000, 0], 3);

const NOT_PUBLIC_6: [Ipv6Net; 4] = [
    // protocol assignments, with Teredo, which wraps IPv4
    v6([0x2001, 0], 23),
    // documentation
    v6([0x2001, 0xdb8], 32),
    v6([0x3fff, 0], 20),
    // 6to4, which wraps IPv4
    v6([0x2002, 0], 16),
];

const NAT64: Ipv6Net = v6([0x64, 0xff9b], 96);

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6([a, b]: [u16; 2], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(entries: &[&str]) -> Guard {
        Guard::new(
            "tools.allow",
            entries.iter().map(|entry| Destination::read(entry).unwrap()).collect(),
        )
    }

    fn admits(guard: &Guard, url: &str) -> bool {
        guard.admit(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn only_listed_hosts_are_allowed() {
        assert!(!admits(&guard(&[]), "https://example.com/"));
        let guard = guard(&["api.example.com", "*.example.org", "one.example:8443"]);
        for url in [
            "https://api.example.com/x",
            "https://API.EXAMPLE.COM./x",
            "http://a.b.example.org/",
            "https://one.example:8443/",
        ] {
            assert!(admits(&guard, url), "{url}");
        }
        for url in [
            "https://example.com/",
            "https://xapi.example.com/",
            "https://api.example.com.evil.example/",
            "https://example.org/",
            "https://evilexample.org/",
            "https://one.example/",
            "ftp://api.example.com/",
            "https://user@api.example.com/",
            "https://:word@api.example.com/",
            "https://8.8.8.8/",
        ] {
            assert!(!admits(&guard, url), "{url}");
        }
    }

    #[test]
    fn a_star_does_not_allow_private_addresses() {
        let guard = guard(&["*"]);
        assert!(admits(&guard, "https://example.com/") && admits(&guard, "https://1.1.1.1/"));
        assert!(admits(&guard, "https://[2606:4700::1]/"));
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://0x7f000001/",
            "http://0/",
            "http://10.1.2.3/",
            "http://172.31.0.1/",
            "http://192.168.1.1/",
            "http://100.64.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://192.0.2.1/",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[::]/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::127.0.0.1]/",
            "http://[fe80::1]/",
            "http://[fc00::1]/",
            "http://[fd12:3456::1]/",
            "http://[ff02::1]/",
            "http://[64:ff9b::127.0.0.1]/",
            "http://[64:ff9b:1::1]/",
            "http://[2002:7f00:1::]/",
            "http://[2001:0:7f00:1::]/",
            "http://[2001:db8::1]/",
            "http://①②⑦.⓪.⓪.①/",
        ] {
            assert!(!admits(&guard, url), "{url}");
        }
    }

    #[test]
    fn a_listed_address_is_allowed_in_every_spelling_and_through_listed_names() {
        let guard = guard(&["127.0.0.1:9000", "wiki.example", "10.0.0.0/8"]);
        for url in
            ["http://127.0.0.1:9000/", "http://127.1:9000/", "http://[::ffff:127.0.0.1]:9000/"]
        {
            assert!(admits(&guard, url), "{url}");
        }
        assert!(!admits(&guard, "http://127.0.0.1:9001/"));
        assert!(!admits(&guard, "http://localhost:9000/"));
        let at =
            |address: &str, port| guard.connect("wiki.example", address.parse().unwrap(), port);
        assert!(at("10.2.3.4", 80).is_ok() && at("127.0.0.1", 9000).is_ok());
        assert!(at("127.0.0.1", 80).is_err() && at("192.168.0.1", 80).is_err());
        assert_eq!(
            at("::1", 80).unwrap_err().to_string(),
            "`wiki.example` is at ::1, which is not a public address; the server's `tools.allow` \
             would have to list it"
        );
    }
}
