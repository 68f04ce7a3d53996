//! The session of a browser: a cookie that holds the key. Scripts cannot read it, and other sites cannot use it
//! (`same_site::admit_session`). Knows no route.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The name of the cookie.
const COOKIE: &str = "dsrs_key";

/// How long a browser stores the key, in seconds: a week.
const LIFETIME: u32 = 7 * 24 * 60 * 60;

#[must_use]
pub fn session_key(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, encoded) = pairs.find(|(name, _)| name.trim() == COOKIE)?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(encoded.trim()).ok()?).ok()
}

/// The cookie of a new session. A browser that reached the server by TLS sends it over TLS only.
#[must_use]
pub fn started_session(key: &str, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN).map(|value| value.as_bytes());
    let secure = origin.is_some_and(|origin| origin.starts_with(b"https://"));
    let value = URL_SAFE_NO_PAD.encode(key);
    cookie(&value, LIFETIME, secure)
}

/// The cookie that ends a session.
#[must_use]
pub fn ended_session() -> Option<HeaderValue> {
    cookie("", 0, false)
}

fn cookie(value: &str, seconds: u32, secure: bool) -> Option<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let text =
        format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_holds_any_key_and_ends() {
        let key = "käy; with = signs";
        let cookie = started_session(key, &HeaderMap::new()).unwrap();
        let text = cookie.to_str().unwrap();
        assert!(text.ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict"), "{text}");
        let pair = text.split(';').next().unwrap();
        let sent = |text: &str| {
            HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(text).unwrap())])
        };
        assert_eq!(session_key(&sent(&format!("other=1; {pair}"))).as_deref(), Some(key));
        assert_eq!(session_key(&sent("dsrs_key=%%%")), None);
        assert_eq!(session_key(&sent("dsrs_keys=abc")), None);
        assert!(
            ended_session().unwrap().to_str().unwrap().starts_with("dsrs_key=; Path=/; Max-Age=0")
        );
    }

    #[test]
    fn a_session_over_tls_stays_on_tls() {
        let headers = HeaderMap::from_iter([(
            header::ORIGIN,
            HeaderValue::from_static("https://dsrs.example"),
        )]);
        assert!(started_session("k", &headers).unwrap().to_str().unwrap().ends_with("; Secure"));
    }
}
