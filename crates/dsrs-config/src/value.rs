//! Text of one setting to its checked value. A refusal says what was expected; the caller says where
//! the text came from.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use dsrs::lm::{ExtraBody, ExtraHeaders, ReasoningEffort};
use dsrs::value::Payload;
use secrecy::SecretString;
use url::Url;

use super::Record;
use super::endpoint::{CacheMarks, Constrain, Provider, TokenLimitField};
use super::engine_kind::{EngineKey, EngineKind};
use super::log::LogFormat;
use super::setting::SettingKind as Kind;

/// What was expected instead.
pub(super) type Expected = String;

/// The type of a setting: the form of its text, and how it is parsed.
pub(super) struct ValueType<T> {
    pub(super) kind: Kind,
    pub(super) parse: fn(&str) -> Result<T, Expected>,
}

const fn value<T>(kind: Kind, parse: fn(&str) -> Result<T, Expected>) -> ValueType<T> {
    ValueType { kind, parse }
}

pub(super) const TEXT: ValueType<String> = value(Kind::Text, text);
pub(super) const SECRET: ValueType<SecretString> = value(Kind::Secret, secret);
pub(super) const SECRET_LIST: ValueType<String> = value(Kind::Secret, text);
pub(super) const LIST: ValueType<String> = value(Kind::List, text);
pub(super) const PATH: ValueType<PathBuf> = value(Kind::Path, path);
pub(super) const ADDRESS: ValueType<SocketAddr> = value(Kind::Address, address);
pub(super) const HTTP_URL: ValueType<Url> = value(Kind::Url, http_url);
pub(super) const ARCHIVE_URL: ValueType<Url> = value(Kind::Url, archive_url);
pub(super) const DATABASE_URL: ValueType<SecretString> = value(Kind::Url, database_url);
pub(super) const SWITCH: ValueType<bool> = value(Kind::Switch, switch);
pub(super) const POSITIVE: ValueType<u32> = value(Kind::Count, positive);
pub(super) const NODES: ValueType<u32> = value(Kind::Count, nodes);
pub(super) const EDGES: ValueType<u32> = value(Kind::Count, edges);
pub(super) const TYPES: ValueType<u32> = value(Kind::Count, types);
pub(super) const ENUM_VALUES: ValueType<u32> = value(Kind::Count, enum_values);
pub(super) const OUTPUT_KIB: ValueType<usize> = value(Kind::Count, output_kib);
pub(super) const SEED: ValueType<i64> = value(Kind::Count, seed);
pub(super) const TEMPERATURE: ValueType<f64> = value(Kind::Number, temperature);
pub(super) const TOP_P: ValueType<f64> = value(Kind::Number, top_p);
pub(super) const PRICE: ValueType<f64> = value(Kind::Number, price);
pub(super) const BYTES: ValueType<usize> = value(Kind::Bytes, bytes);
pub(super) const DURATION: ValueType<Duration> = value(Kind::Duration, duration);
pub(super) const LEASE: ValueType<Duration> = value(Kind::Duration, lease);
pub(super) const STALENESS: ValueType<Duration> = value(Kind::Duration, staleness);
pub(super) const MILLIS: ValueType<Duration> = value(Kind::Millis, millis);
pub(super) const RECORD: ValueType<Record> = value(Kind::OneOf(&["ack", "async", "off"]), record);
pub(super) const LOG_FORMAT: ValueType<LogFormat> =
    value(Kind::OneOf(LogFormat::WORDS), log_format);
pub(super) const PROVIDER: ValueType<Provider> = value(Kind::OneOf(Provider::WORDS), provider);
pub(super) const CONSTRAIN: ValueType<Constrain> =
    value(Kind::OneOf(&["auto", "none", "gbnf", "json_schema"]), constrain);
pub(super) const TOKEN_LIMIT_FIELD: ValueType<TokenLimitField> =
    value(Kind::OneOf(TokenLimitField::WORDS), token_limit_field);
pub(super) const ENGINE: ValueType<EngineKind> = value(Kind::OneOf(EngineKind::WORDS), engine);
pub(super) const ENGINE_KEY: ValueType<EngineKey> = value(Kind::Text, identity_key);
pub(super) const SERVICE_PREFIX: ValueType<String> = value(Kind::Text, service_prefix);
pub(super) const CACHE_MARKS: ValueType<CacheMarks> =
    value(Kind::OneOf(CacheMarks::WORDS), cache_marks);
pub(super) const REASONING_EFFORT: ValueType<ReasoningEffort> = value(Kind::Text, reasoning_effort);
pub(super) const EXTRA_BODY: ValueType<ExtraBody> = value(Kind::Secret, extra_body);
pub(super) const EXTRA_HEADERS: ValueType<ExtraHeaders> = value(Kind::Secret, extra_headers);

/// A duration in the notation of the settings, such as `90d`.
pub fn read_duration(text: &str) -> Option<Duration> {
    duration(text).ok()
}

fn text(text: &str) -> Result<String, Expected> {
    match text.trim() {
        "" => Err("expected some text".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn path(text: &str) -> Result<PathBuf, Expected> {
    self::text(text).map(PathBuf::from)
}

fn secret(text: &str) -> Result<SecretString, Expected> {
    self::text(text).map(|text| SecretString::from(text.trim()))
}

fn address(text: &str) -> Result<SocketAddr, Expected> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

fn switch(text: &str) -> Result<bool, Expected> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn positive(text: &str) -> Result<u32, Expected> {
    let refusal = || format!("expected a whole number from 1 to {}", u32::MAX);
    text.parse().ok().filter(|&n| n > 0).ok_or_else(refusal)
}

fn nodes(text: &str) -> Result<u32, Expected> {
    up_to(text, dsrs::graph::MAX_NODES)
}

fn edges(text: &str) -> Result<u32, Expected> {
    up_to(text, dsrs::graph::MAX_EDGES)
}

fn types(text: &str) -> Result<u32, Expected> {
    up_to(text, dsrs::types::DEFINITION_LIMIT)
}

fn enum_values(text: &str) -> Result<u32, Expected> {
    up_to(text, 100_000)
}

/// A count that may lower a bound of the engine and not raise it.
fn up_to(text: &str, most: usize) -> Result<u32, Expected> {
    let refusal =
        || format!("expected a whole number from 1 to {most}, which bounds the time of a check");
    let fits = |count: &u32| *count > 0 && *count as usize <= most;
    text.parse().ok().filter(fits).ok_or_else(refusal)
}

fn seed(text: &str) -> Result<i64, Expected> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

fn temperature(text: &str) -> Result<f64, Expected> {
    number(text, "expected a number from 0 to 2", |n| (0.0..=2.0).contains(&n))
}

fn top_p(text: &str) -> Result<f64, Expected> {
    number(text, "expected a number above 0 and up to 1", |n| n > 0.0 && n <= 1.0)
}

fn price(text: &str) -> Result<f64, Expected> {
    number(text, "expected a price, 0 or more", |n| n >= 0.0)
}

fn number(text: &str, expected: &str, fits: fn(f64) -> bool) -> Result<f64, Expected> {
    let found: Option<f64> = text.parse().ok();
    found.filter(|n| n.is_finite() && fits(*n)).ok_or_else(|| expected.to_owned())
}

fn millis(text: &str) -> Result<Duration, Expected> {
    let refusal = |_| "expected a whole number of milliseconds, 1 or more".to_owned();
    positive(text).map(|n| Duration::from_millis(n.into())).map_err(refusal)
}

fn duration(text: &str) -> Result<Duration, Expected> {
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

fn bytes(text: &str) -> Result<usize, Expected> {
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

fn http_url(text: &str) -> Result<Url, Expected> {
    let fits = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let found = Url::parse(text).ok().filter(fits);
    found.ok_or_else(|| "expected a URL that begins with http:// or https://".to_owned())
}

fn archive_url(text: &str) -> Result<Url, Expected> {
    let fits = |url: &Url| {
        let is_bucket =
            matches!(url.scheme(), "s3" | "s3a" | "gs" | "az" | "adl" | "azure" | "abfs" | "abfss");
        (is_bucket && url.has_host()) || (url.scheme() == "file" && !url.has_host())
    };
    let found = Url::parse(text).ok().filter(fits);
    found.ok_or_else(|| {
        "expected a URL such as s3://bucket/path or file:///directory/path".to_owned()
    })
}

fn database_url(text: &str) -> Result<SecretString, Expected> {
    let fits = |url: &Url| matches!(url.scheme(), "postgres" | "postgresql");
    let found = Url::parse(text).ok().filter(fits);
    found
        .map(|url| SecretString::from(String::from(url)))
        .ok_or_else(|| "expected a URL such as postgres://user:password@host:5432/name".to_owned())
}

/// A lease is renewed several times before it expires, so it has to outlast a busy moment of the
/// database.
fn lease(text: &str) -> Result<Duration, Expected> {
    let found = duration(text)?;
    let long_enough = found >= Duration::from_secs(1);
    long_enough.then_some(found).ok_or_else(|| "expected a second or more".to_owned())
}

/// Several heartbeats fit into it, and an hour without one is a mistake.
fn staleness(text: &str) -> Result<Duration, Expected> {
    let fits = Duration::from_millis(500)..=Duration::from_secs(3600);
    let found = duration(text)?;
    let expected = "expected a duration from 500ms to 1h";
    fits.contains(&found).then_some(found).ok_or_else(|| expected.to_owned())
}

/// Output is held in memory and sent to a model: a GiB of it is a mistake.
fn output_kib(text: &str) -> Result<usize, Expected> {
    let kib = positive(text).ok().filter(|kib| *kib <= 1 << 20);
    kib.and_then(|kib| usize::try_from(kib).ok())
        .ok_or_else(|| "expected a whole number from 1 to 1048576".to_owned())
}

fn log_format(word: &str) -> Result<LogFormat, Expected> {
    LogFormat::find(word).ok_or_else(|| format!("expected {}", LogFormat::WORDS.join(" or ")))
}

fn engine(word: &str) -> Result<EngineKind, Expected> {
    EngineKind::find(word).ok_or_else(|| format!("expected {}", EngineKind::WORDS.join(" or ")))
}

/// Restate accepts more; this much needs no escaping anywhere.
fn service_prefix(text: &str) -> Result<String, Expected> {
    let fits = text.len() <= 40
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let refusal = "expected a letter, then letters, digits, `-` and `_`, up to 40";
    fits.then(|| text.to_owned()).ok_or_else(|| refusal.to_owned())
}

fn identity_key(text: &str) -> Result<EngineKey, Expected> {
    let refusal = "expected a key such as publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9";
    EngineKey::parse(text.trim()).ok_or_else(|| refusal.to_owned())
}

fn record(word: &str) -> Result<Record, Expected> {
    match word {
        "ack" => Ok(Record::Ack),
        "async" => Ok(Record::Async),
        "off" => Ok(Record::Off),
        _ => Err("expected ack, async or off".to_owned()),
    }
}

/// A protocol that needs the feature `genai` is refused by a server built without it.
fn provider(word: &str) -> Result<Provider, Expected> {
    let known = Provider::ALL.into_iter().find(|provider| provider.as_str() == word);
    match known {
        Some(Provider::OpenAi) => Ok(Provider::OpenAi),
        Some(_) if !cfg!(feature = "genai") => Err(format!(
            "this server was built without providers that are not OpenAI-compatible; build it with \
             `cargo build --release --features genai`, or set \"openai\" and the base_url of an \
             OpenAI-compatible endpoint of {word}"
        )),
        Some(provider) => Ok(provider),
        None => {
            let others = Provider::WORDS.iter().skip(1).map(|word| format!("\"{word}\""));
            let others = others.collect::<Vec<_>>().join(", ");
            Err(format!("expected \"openai\", for every OpenAI-compatible endpoint, or {others}"))
        }
    }
}

fn constrain(word: &str) -> Result<Constrain, Expected> {
    Constrain::ALL
        .into_iter()
        .find(|constrain| constrain.as_str() == word)
        .ok_or_else(|| "expected \"auto\", \"none\", \"gbnf\" or \"json_schema\"".to_owned())
}

fn token_limit_field(word: &str) -> Result<TokenLimitField, Expected> {
    match word {
        "auto" => Ok(TokenLimitField::Auto),
        "max_completion_tokens" => Ok(TokenLimitField::MaxCompletionTokens),
        _ => Err("expected \"auto\" or \"max_completion_tokens\"".to_owned()),
    }
}

fn cache_marks(word: &str) -> Result<CacheMarks, Expected> {
    match word {
        "auto" => Ok(CacheMarks::Auto),
        "on" | "true" => Ok(CacheMarks::On),
        "off" | "false" => Ok(CacheMarks::Off),
        _ => Err("expected \"auto\", \"on\" or \"off\"".to_owned()),
    }
}

/// A word, or a number of tokens.
fn reasoning_effort(text: &str) -> Result<ReasoningEffort, Expected> {
    let tokens = || positive(text).ok().map(ReasoningEffort::Tokens);
    ReasoningEffort::from_word(text).or_else(tokens).ok_or_else(|| {
        format!("expected {}, or a number of tokens", ReasoningEffort::WORDS.join(", "))
    })
}

fn extra_body(text: &str) -> Result<ExtraBody, Expected> {
    let refusal = || "expected a JSON object, such as {\"top_k\": 20}".to_owned();
    let read = Payload::from_json(text).map_err(|_| refusal())?;
    ExtraBody::of(read.as_map().ok_or_else(refusal)?)
}

fn extra_headers(text: &str) -> Result<ExtraHeaders, Expected> {
    let refusal = || "expected a JSON object of texts, such as {\"X-Title\": \"demo\"}".to_owned();
    let headers: BTreeMap<String, String> = serde_json::from_str(text).map_err(|_| refusal())?;
    ExtraHeaders::of(headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_or_counts_seconds() {
        for (text, millis) in [("30", 30_000), ("1.5s", 1500), ("500ms", 500), ("24h", 86_400_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "3 weeks", "1e9", "400d", "1.2.3s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_has_a_binary_unit_or_counts_bytes() {
        assert_eq!(bytes("4194304"), Ok(4 << 20));
        assert_eq!(bytes("4MiB"), Ok(4 << 20));
        for text in ["", "0", "-4", "4 bananas", "99999999999GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_outside_the_range_of_an_endpoint_are_refused() {
        assert_eq!(temperature("0"), Ok(0.0));
        assert!(temperature("2.1").is_err() && temperature("NaN").is_err());
        assert!(top_p("0").is_err() && top_p("1").is_ok());
        assert!(positive("0").is_err() && positive("-1").is_err() && positive("16").is_ok());
    }
}
