//! Follows a run or a job to its end, over connections that break.

use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

use super::{AnswerEvents, ClientError, ServerConnection, ServerEvent};

/// Connections in a row that may break before the follower gives up.
const ATTEMPTS: u32 = 5;

/// The wait before another connection.
const PAUSE: Duration = Duration::from_secs(1);

/// A reader of the events at a path. It connects again after the last event that it read.
pub(crate) struct Follower<'c> {
    server: &'c ServerConnection,
    segments: Vec<String>,
    last: String,
    stream: Option<AnswerEvents>,
    broken: u32,
}

impl<'c> Follower<'c> {
    /// Follows the events at a path below `/v1`.
    pub(crate) fn new(server: &'c ServerConnection, segments: &[&str]) -> Self {
        let segments = segments.iter().map(|&segment| segment.to_owned()).collect();
        Self { server, segments, last: String::new(), stream: None, broken: 0 }
    }

    /// The next event; nothing if the server has no further ones.
    ///
    /// # Errors
    /// The server refuses, or cannot be reached for a while.
    pub(crate) async fn next(&mut self) -> Result<Option<ServerEvent>, ClientError> {
        loop {
            match self.try_next().await {
                Ok(Some(event)) => {
                    self.broken = 0;
                    self.last.clone_from(&event.id);
                    return Ok(Some(event));
                }
                Ok(None) => return Ok(None),
                Err(error) if error.is_temporary() && self.broken < ATTEMPTS => {
                    self.broken += 1;
                    self.stream = None;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_next(&mut self) -> Result<Option<ServerEvent>, ClientError> {
        if self.stream.is_none() {
            let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
            let mut call = self.server.get(&segments);
            if !self.last.is_empty()
                && let Ok(last) = HeaderValue::from_str(&self.last)
            {
                call = call.header(HeaderName::from_static("last-event-id"), last);
            }
            self.stream = Some(call.events().await?);
        }
        match &mut self.stream {
            Some(stream) => stream.next().await,
            None => Ok(None),
        }
    }
}
