//! Opens the log. Lines are written by a thread of their own: a reader of stderr that is slow or stuck must not
//! delay requests, so lines beyond a bound are counted instead of written.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use dsrs_config::{LogConfig, LogFormat};

/// The most bytes of lines that wait.
const MOST_WAITING: usize = 1 << 20;

/// How long the first of some lines waits for more.
const LINGER: Duration = Duration::from_millis(5);

/// How long the end of the process waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Writes the lines that wait when it is dropped. Hold it as long as the process logs.
pub(super) struct LogGuard(LineQueue);

/// Lines that wait to be written.
#[derive(Clone, Default)]
struct LineQueue(Arc<(Mutex<WaitingLines>, Condvar)>);

#[derive(Default)]
struct WaitingLines {
    text: Vec<u8>,
    dropped: u64,
    is_closed: bool,
    has_ended: bool,
}

/// Logs go to stderr; stdout is for the result of a command.
///
/// # Errors
/// If the filter cannot be read, with the reason, or the system starts no thread.
pub(super) fn open(config: &LogConfig) -> Result<LogGuard, String> {
    let filter = EnvFilter::builder()
        .parse(&config.filter)
        .map_err(|error| format!("log = \"{}\": {error}", config.filter.escape_debug()))?;
    let queue = LineQueue::default();
    let written = queue.clone();
    thread::Builder::new()
        .name("log".into())
        .spawn(move || written.write_to(io::stderr()))
        .map_err(|error| format!("cannot start: {error}"))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(queue.clone())
        // Those would go to stderr too, and panic if stderr is closed.
        .log_internal_errors(false);
    match config.format {
        LogFormat::Pretty => log.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).init(),
    }
    Ok(LogGuard(queue))
}

impl LineQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingLines> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines until the queue is closed.
    fn write_to(&self, mut out: impl Write) {
        let mut text = Vec::new();
        loop {
            let (dropped, is_closed) = self.take(&mut text);
            let _ = out.write_all(&text);
            if dropped > 0 {
                let _ =
                    writeln!(out, "{dropped} lines of the log are missing: stderr was too slow");
            }
            text.clear();
            if is_closed {
                break;
            }
        }
        self.lock().has_ended = true;
        self.0.1.notify_all();
    }

    /// Waits for lines and moves them.
    fn take(&self, text: &mut Vec<u8>) -> (u64, bool) {
        let (changed, idle) =
            (&self.0.1, |state: &mut WaitingLines| state.text.is_empty() && !state.is_closed);
        let waiting = changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let is_open = |state: &mut WaitingLines| !state.is_closed;
        let (mut waiting, _) = changed
            .wait_timeout_while(waiting, LINGER, is_open)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.text, text);
        (std::mem::take(&mut waiting.dropped), waiting.is_closed)
    }
}

impl Write for LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut waiting = self.lock();
        if waiting.text.len() + line.len() > MOST_WAITING {
            waiting.dropped += 1;
            return Ok(line.len());
        }
        let is_first = waiting.text.is_empty();
        waiting.text.extend_from_slice(line);
        drop(waiting);
        if is_first {
            self.0.1.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LineQueue {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let queue = &self.0;
        queue.lock().is_closed = true;
        queue.0.1.notify_all();
        let runs = |state: &mut WaitingLines| !state.has_ended;
        let _ = queue.0.1.wait_timeout_while(queue.lock(), LAST_LINES, runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_in_order_and_those_beyond_the_bound_are_counted() {
        let queue = LineQueue::default();
        let half = vec![b'a'; MOST_WAITING / 2];
        for line in [&half[..], b"b\n", &half, b"c\n"] {
            queue.clone().write_all(line).unwrap();
        }
        drop(LogGuard(queue.clone()));
        let mut out = Vec::new();
        queue.write_to(&mut out);
        let text = String::from_utf8(out).unwrap();
        let (lines, rest) = text.split_at(MOST_WAITING / 2);
        assert!(lines.bytes().all(|byte| byte == b'a'));
        assert!(rest.starts_with("b\nc\n1 lines of the log are missing"), "{rest}");
    }
}
