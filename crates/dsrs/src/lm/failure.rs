//! What a failed answer says: the wait from its headers, the message from the body of the provider, shortened and
//! without the key. Does not know kinds of failures.

use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use hyper::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::lm::failure_kind;

const LONGEST_MESSAGE: usize = 500;
/// A provider that names a longer wait is mistaken.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// Shorter keys ("x", "no") are placeholders and occur in ordinary words.
const SHORTEST_SECRET: usize = 4;

/// Whether the provider refuses the mode of the answer rather than the request: 400 or 422 that names
/// its member.
pub(super) fn refuses_stream(status: u16, body: &[u8], names: &[&str]) -> bool {
    let text = String::from_utf8_lossy(body).to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    matches!(status, 400 | 422) && words.any(|word| names.contains(&word))
}

/// `429 Too Many Requests`, or the bare number.
pub(super) fn status_line(status: u16) -> String {
    StatusCode::from_u16(status).map_or_else(|_| status.to_string(), |code| code.to_string())
}

/// The wait that the provider asks for: `retry-after-ms`, else `Retry-After` in seconds or as a date.
/// A date is relative to the `Date` header, if there is one.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let millis = number("retry-after-ms").map(|millis| millis / 1e3);
    if let Some(seconds) = millis.or_else(|| number(RETRY_AFTER.as_str())) {
        return Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(LONGEST_WAIT));
    }
    let until = httpdate::parse_http_date(text(RETRY_AFTER.as_str())?).ok()?;
    let date = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    let now = date.unwrap_or_else(SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default().min(LONGEST_WAIT))
}

/// The message of the provider, if there is one.
pub(super) fn provider_message<'s>(
    body: &[u8],
    secrets: impl IntoIterator<Item = &'s str>,
) -> Option<String> {
    let words = match serde_json::from_slice::<Value>(body) {
        Ok(answer) => message_in(&answer).unwrap_or_else(|| answer.to_string()),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let secrets = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
    let masked = secrets.fold(words, |words, secret| words.replace(secret, "***"));
    let line = masked.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = line.chars().filter(|c| !c.is_control()).collect();
    (!clean.is_empty()).then(|| shortened(&clean))
}

/// OpenAI writes `{"error": {"message"}}`; compatible servers also write `{"error": text}`,
/// `{"message"}` or `{"detail"}`.
fn message_in(answer: &Value) -> Option<String> {
    let error = failure_kind::error_in(answer);
    let places = [
        error.and_then(|error| error.get("message")),
        error,
        answer.get("message"),
        answer.get("detail"),
    ];
    places.into_iter().flatten().find_map(Value::as_str).map(str::to_owned)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn wait(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let pairs = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), value.parse().expect("a header value"))
        });
        retry_after(&pairs.collect())
    }

    #[test]
    fn a_refused_mode_is_recognized_by_its_member() {
        let refuses = |status, body: &str| {
            refuses_stream(status, body.as_bytes(), &["stream_options", "include_usage"])
        };
        assert!(refuses(400, r#"{"error":{"message":"Unknown parameter: 'stream_options'."}}"#));
        assert!(refuses(422, r#"{"detail":[{"loc":["body","stream_options","include_usage"]}]}"#));
        assert!(!refuses(400, r#"{"error":"streams of words are too long"}"#));
        assert!(!refuses(500, "stream_options"));
    }

    #[test]
    fn a_wait_is_in_seconds_in_milliseconds_or_a_date() {
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after", "0")]), Some(Duration::ZERO));
        assert_eq!(wait(&[("retry-after", "1000000000")]), Some(LONGEST_WAIT));
        let both = [("retry-after", "7"), ("retry-after-ms", "250")];
        assert_eq!(wait(&both), Some(Duration::from_millis(250)));
        let date = [
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
        ];
        assert_eq!(wait(&date), Some(Duration::from_secs(30)));
        let past = [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(wait(&past), Some(Duration::ZERO));
        for odd in ["soon", "-1", "1e300", "nan"] {
            assert_eq!(wait(&[("retry-after", odd)]), None, "{odd}");
        }
    }

    #[test]
    fn the_message_is_found_in_every_known_layout() {
        let message = |body: &str| provider_message(body.as_bytes(), None).unwrap_or_default();
        assert_eq!(message(r#"{"error":{"message":"no such model","code":404}}"#), "no such model");
        assert_eq!(message(r#"{"error":"bad"}"#), "bad");
        assert_eq!(message(r#"{"message":"worse"}"#), "worse");
        assert_eq!(message(r#"{"detail":"worst"}"#), "worst");
        assert_eq!(message("{\"odd\": [1]}"), r#"{"odd":[1]}"#);
        assert_eq!(message("<h1>bad\n   gateway</h1>\u{7}"), "<h1>bad gateway</h1>");
        assert_eq!(message(" \n"), "");
    }

    #[test]
    fn a_long_message_is_cut_and_an_echoed_key_is_masked() {
        let body = format!(r#"{{"error":{{"message":"{}sk-secret"}}}}"#, "é".repeat(496));
        let masked = provider_message(body.as_bytes(), Some("sk-secret")).expect("a message");
        assert_eq!(masked, format!("{}***", "é".repeat(496)));
        let long = provider_message("é".repeat(900).as_bytes(), None).expect("a message");
        assert_eq!(long.chars().count(), 501);
        assert_eq!(provider_message(b"no", Some("no")).as_deref(), Some("no"));
    }
}
