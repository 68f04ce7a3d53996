//! Where messages of webhooks go, and how long they are tried, as configured. Does not know messages.

use std::time::Duration;

use super::allow::{Destination, read_destinations};
use super::reader::SettingReader;
use super::settings::WebhookSection;

/// How messages of webhooks are sent.
#[derive(Debug, Clone)]
pub struct WebhookConfig {
    /// The destinations that they may have.
    pub allow: Vec<Destination>,
    /// The time in which a receiver must answer.
    pub timeout: Duration,
    /// The wait before the second attempt.
    pub first_retry: Duration,
    /// The number of attempts at a message.
    pub attempts: u32,
    /// A webhook that fails for so long is disabled.
    pub disable_after: Duration,
    /// The age at which messages are removed.
    pub retention: Duration,
}

/// Reads the settings under `webhooks.`.
pub(super) fn read_webhooks(read: &mut SettingReader<'_>) -> Option<WebhookConfig> {
    let settings = WebhookSection::read(read, "")?;
    Some(WebhookConfig {
        allow: read_destinations(read, "webhooks.allow", &settings.allow),
        timeout: settings.timeout,
        first_retry: settings.first_retry,
        attempts: settings.attempts,
        disable_after: settings.disable_after,
        retention: settings.retention,
    })
}
