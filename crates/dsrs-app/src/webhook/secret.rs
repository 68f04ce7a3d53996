//! The secret of a webhook, and the signature of a message, by the specification Standard Webhooks: the receiver
//! computes the same from the headers and the body. Knows no events.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::AppError;

/// What every secret begins with.
const MARK: &str = "whsec_";

/// The random bytes of a secret.
const RANDOM_BYTES: usize = 32;

pub(super) fn new_secret() -> Result<String, AppError> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| AppError::Internal(format!("no random bytes: {error}")))?;
    Ok(format!("{MARK}{}", STANDARD.encode(bytes)))
}

pub(super) struct SignedMessage<'a> {
    /// `webhook-id`.
    pub(super) id: &'a str,
    /// `webhook-timestamp`: seconds since 1970.
    pub(super) timestamp: i64,
    pub(super) body: &'a str,
}

impl SignedMessage<'_> {
    /// `webhook-signature`: one signature for each secret.
    pub(super) fn signature<'s>(&self, secrets: impl Iterator<Item = &'s str>) -> String {
        let content = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        let signatures = secrets.filter_map(|secret| {
            let key = STANDARD.decode(secret.strip_prefix(MARK)?).ok()?;
            let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
            let tag = hmac::sign(&key, content.as_bytes());
            Some(format!("v1,{}", STANDARD.encode(tag)))
        });
        signatures.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        let message = SignedMessage {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: 1_614_265_330,
            body: r#"{"test": 2432232314}"#,
        };
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(message.signature([secret].into_iter()), expected);
        let both = message.signature([secret, secret].into_iter());
        assert_eq!(both, format!("{expected} {expected}"));
    }

    #[test]
    fn a_secret_is_random_and_signs() {
        let (one, other) = (new_secret().unwrap(), new_secret().unwrap());
        assert!(one != other && one.starts_with("whsec_"), "{one}");
        let message = SignedMessage { id: "a", timestamp: 1, body: "{}" };
        let sign = |secret: &str| message.signature([secret].into_iter());
        assert!(sign(&one).starts_with("v1,") && sign(&one) != sign(&other));
    }
}
