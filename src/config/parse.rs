//! Text of one setting to its value. A refusal says what was expected; where the text came from is
//! the caller's to say.

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

/// What was expected instead.
pub(super) type Expected = String;

pub(super) fn text(text: &str) -> Result<String, Expected> {
    match text.trim() {
        "" => Err("expected some text".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, Expected> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

pub(super) fn switch(text: &str) -> Result<bool, Expected> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

pub(super) fn positive(text: &str) -> Result<u32, Expected> {
    let refusal = || format!("expected a whole number from 1 to {}", u32::MAX);
    text.parse().ok().filter(|&n| n > 0).ok_or_else(refusal)
}

pub(super) fn seed(text: &str) -> Result<i64, Expected> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

pub(super) fn temperature(text: &str) -> Result<f64, Expected> {
    number(text, "expected a number from 0 to 2", |n| (0.0..=2.0).contains(&n))
}

pub(super) fn top_p(text: &str) -> Result<f64, Expected> {
    number(text, "expected a number above 0 and up to 1", |n| n > 0.0 && n <= 1.0)
}

pub(super) fn price(text: &str) -> Result<f64, Expected> {
    number(text, "expected a price, 0 or more", |n| n >= 0.0)
}

fn number(text: &str, expected: &str, fits: fn(f64) -> bool) -> Result<f64, Expected> {
    let found: Option<f64> = text.parse().ok();
    found.filter(|n| n.is_finite() && fits(*n)).ok_or_else(|| expected.to_owned())
}

pub(super) fn millis(text: &str) -> Result<Duration, Expected> {
    let refusal = |_| "expected a whole number of milliseconds, 1 or more".to_owned();
    positive(text).map(|n| Duration::from_millis(n.into())).map_err(refusal)
}

pub(super) fn duration(text: &str) -> Result<Duration, Expected> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => f64::NAN,
    };
    digits
        .parse::<f64>()
        .ok()
        .and_then(|n| Duration::try_from_secs_f64(n * seconds).ok())
        .filter(|found| *found <= LONGEST)
        .ok_or_else(|| "expected a duration up to 365d, such as 500ms, 30s, 5m or 24h".to_owned())
}

/// Longer than this is a mistake, and arithmetic on deadlines stays far from overflow.
const LONGEST: Duration = Duration::from_secs(365 * 86400);

pub(super) fn bytes(text: &str) -> Result<usize, Expected> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let scale = match unit.trim() {
        "" | "B" => Some(1),
        "KiB" | "K" | "k" => Some(1 << 10),
        "MiB" | "M" => Some(1 << 20),
        "GiB" | "G" => Some(1 << 30),
        _ => None,
    };
    let size = digits.parse::<usize>().ok().zip(scale).and_then(|(n, scale)| n.checked_mul(scale));
    size.filter(|&n| n > 0)
        .ok_or_else(|| "expected a size in bytes, such as 4194304 or 4MiB".to_owned())
}

pub(super) fn http_url(text: &str) -> Result<Url, Expected> {
    let fits = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let found = Url::parse(text).ok().filter(fits);
    found.ok_or_else(|| "expected a URL that begins with http:// or https://".to_owned())
}

pub(super) fn database_url(text: &str) -> Result<Url, Expected> {
    let fits = |url: &Url| matches!(url.scheme(), "postgres" | "postgresql");
    let found = Url::parse(text).ok().filter(fits);
    found.ok_or_else(|| "expected a URL such as postgres://user:password@host:5432/name".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_units_and_bare_numbers_are_seconds() {
        for (text, millis) in [("30", 30_000), ("1.5s", 1500), ("500ms", 500), ("24h", 86_400_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "3 weeks", "1e9", "400d", "1.2.3s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_take_binary_units() {
        assert_eq!(bytes("4194304"), Ok(4 << 20));
        assert_eq!(bytes("4MiB"), Ok(4 << 20));
        for text in ["", "0", "-4", "4 bananas", "99999999999GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_stay_within_what_an_endpoint_takes() {
        assert_eq!(temperature("0"), Ok(0.0));
        assert!(temperature("2.1").is_err() && temperature("NaN").is_err());
        assert!(top_p("0").is_err() && top_p("1").is_ok());
        assert!(positive("0").is_err() && positive("-1").is_err() && positive("16").is_ok());
    }
}
