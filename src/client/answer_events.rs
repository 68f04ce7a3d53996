//! Server-sent events as they arrive.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use super::ClientError;
use super::call::incomplete;

/// The server sends a comment every 15 s; a stream that is silent for longer is lost.
const SILENCE: Duration = Duration::from_secs(60);

/// One event.
#[derive(Debug)]
pub(crate) struct ServerEvent {
    /// Its id; empty if it has none.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Its document.
    pub(crate) data: Value,
}

/// An answer of events. Dropping it disconnects.
pub(crate) struct AnswerEvents {
    answer: Response,
    url: String,
    buffer: Vec<u8>,
}

impl AnswerEvents {
    pub(super) fn new(answer: Response, url: String) -> Self {
        Self { answer, url, buffer: Vec::new() }
    }

    /// The next event; nothing at the end.
    ///
    /// # Errors
    /// The connection broke, or has been silent for a minute.
    pub(crate) async fn next(&mut self) -> Result<Option<ServerEvent>, ClientError> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                match read_event(&String::from_utf8_lossy(&block)) {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            let read = tokio::time::timeout(SILENCE, self.answer.chunk()).await;
            let read = read.map_err(|_| ClientError::Incomplete {
                url: self.url.clone(),
                reason: format!("nothing arrived for {} s", SILENCE.as_secs()),
            })?;
            match read.map_err(|error| incomplete(&self.url, &error))? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

/// The event of a block of lines; nothing for comments.
fn read_event(block: &str) -> Option<ServerEvent> {
    let line = |name: &str| {
        let mut found = block.lines().filter_map(|line| line.strip_prefix(name));
        found.find_map(|rest| rest.strip_prefix(':')).map(str::trim_start)
    };
    let data = serde_json::from_str(line("data")?).ok()?;
    let text = |name: &str| line(name).unwrap_or_default().to_owned();
    Some(ServerEvent { id: text("id"), name: text("event"), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_an_id_a_name_and_a_document_and_a_comment_is_none() {
        let event = read_event("id: 7\nevent: run.started\ndata: {\"a\":1}\n\n").unwrap();
        assert_eq!((&*event.id, &*event.name, &event.data["a"]), ("7", "run.started", &1.into()));
        assert!(read_event(": still here\n\n").is_none());
    }
}
