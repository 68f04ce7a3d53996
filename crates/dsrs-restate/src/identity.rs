//! Whether a request comes from the engine: it signs each request with the key of its cluster, as a JWT whose
//! audience is the path. The public key is a setting. Algorithm and format: Restate's request identity, version
//! `v1` (Ed25519). May not know the handlers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::HeaderMap;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;

use dsrs_config::EngineKey;

/// The headers of a signed request.
const SCHEME: &str = "x-restate-signature-scheme";
const TOKEN: &str = "x-restate-jwt-v1";

/// Longer tokens are refused unread.
const MAX_TOKEN_BYTES: usize = 4096;

#[derive(Deserialize)]
struct TokenHeader<'t> {
    alg: &'t str,
}

#[derive(Deserialize)]
struct Claims<'t> {
    aud: &'t str,
    exp: u64,
    nbf: u64,
}

/// Checks a request by its headers and path. The error is the reason of the refusal.
pub(super) fn verify(key: &EngineKey, headers: &HeaderMap, path: &str) -> Result<(), &'static str> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    verify_at(key, headers, path, now)
}

fn verify_at(
    key: &EngineKey,
    headers: &HeaderMap,
    path: &str,
    now: u64,
) -> Result<(), &'static str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if text(SCHEME) != Some("v1") {
        return Err("the request is not signed");
    }
    let token = text(TOKEN).filter(|token| token.len() <= MAX_TOKEN_BYTES);
    let token = token.ok_or("the request has no signature that can be read")?;
    let (signed, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
    let (header, claims) = signed.split_once('.').ok_or(MALFORMED)?;
    let signature = decode(signature)?;
    let public = UnparsedPublicKey::new(&ED25519, key.bytes());
    public.verify(signed.as_bytes(), &signature).map_err(|_| "the signature is of another key")?;
    let (header, claims) = (decode(header)?, decode(claims)?);
    let header: TokenHeader<'_> = serde_json::from_slice(&header).map_err(|_| MALFORMED)?;
    let claims: Claims<'_> = serde_json::from_slice(&claims).map_err(|_| MALFORMED)?;
    if header.alg != "EdDSA" {
        return Err("the signature has another algorithm than EdDSA");
    }
    if claims.aud != audience(path) {
        return Err("the signature is for another path");
    }
    if now < claims.nbf || now >= claims.exp {
        return Err("the signature has expired, or the clocks differ");
    }
    Ok(())
}

const MALFORMED: &str = "the signature is malformed";

fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| MALFORMED)
}

/// The part of a path that is signed: that behind a prefix of a proxy.
fn audience(path: &str) -> &str {
    let start = path.rfind("/invoke/").or_else(|| path.rfind("/discover"));
    start.map_or(path, |start| &path[start..])
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    const PATH: &str = "/invoke/DsrsRun/work";

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn key(pair: &Ed25519KeyPair) -> EngineKey {
        let public = bs58::encode(pair.public_key().as_ref()).into_string();
        EngineKey::parse(&format!("publickeyv1_{public}")).unwrap()
    }

    fn signed(pair: &Ed25519KeyPair, header: &str, claims: &str) -> HeaderMap {
        let signed =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(signed.as_bytes()));
        let token = HeaderValue::try_from(format!("{signed}.{signature}")).unwrap();
        HeaderMap::from_iter([
            (HeaderName::from_static(SCHEME), HeaderValue::from_static("v1")),
            (HeaderName::from_static(TOKEN), token),
        ])
    }

    const CLAIMS: &str = r#"{"aud":"/invoke/DsrsRun/work","exp":160,"iat":100,"nbf":40}"#;
    const HEADER: &str = r#"{"typ":"JWT","alg":"EdDSA"}"#;

    #[test]
    fn a_request_that_the_cluster_signed_is_accepted_behind_a_proxy_too() {
        let pair = pair(1);
        let headers = signed(&pair, HEADER, CLAIMS);
        assert_eq!(verify_at(&key(&pair), &headers, PATH, 100), Ok(()));
        assert_eq!(verify_at(&key(&pair), &headers, "/engine/invoke/DsrsRun/work", 100), Ok(()));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let ours = pair(1);
        let refused = |headers: &HeaderMap, path: &str, now: u64| {
            verify_at(&key(&ours), headers, path, now).unwrap_err()
        };
        let good = signed(&ours, HEADER, CLAIMS);
        let mut cut = good.clone();
        cut.insert(TOKEN, HeaderValue::from_static("a.b"));
        let none = signed(&ours, r#"{"alg":"none"}"#, CLAIMS);
        let reasons = [
            refused(&HeaderMap::new(), PATH, 100),
            refused(&cut, PATH, 100),
            refused(&signed(&pair(2), HEADER, CLAIMS), PATH, 100),
            refused(&none, PATH, 100),
            refused(&signed(&ours, HEADER, "{}"), PATH, 100),
            refused(&good, "/invoke/DsrsJob/work", 100),
            refused(&good, PATH, 160),
            refused(&good, PATH, 39),
        ];
        assert_eq!(
            reasons,
            [
                "the request is not signed",
                MALFORMED,
                "the signature is of another key",
                "the signature has another algorithm than EdDSA",
                MALFORMED,
                "the signature is for another path",
                "the signature has expired, or the clocks differ",
                "the signature has expired, or the clocks differ",
            ]
        );
    }
}
