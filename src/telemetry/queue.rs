//! The queue of spans: bounded, so that a slow or dead collector costs memory and time of nobody. Spans are made and
//! sent by a thread of their own. Beyond the bound they are counted instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{timeout, timeout_at};

use super::exporter::exporter;
use crate::config::{Sampler, TelemetryConfig};

/// The least time between two warnings that spans cannot be sent.
const QUIET: Duration = Duration::from_secs(60);

/// Makes spans, on the thread that sends them.
type MakeSpans = Box<dyn FnOnce() -> Vec<SpanData> + Send>;

enum Message {
    /// Spans, and as how many they count.
    Spans(usize, MakeSpans),
    Flush(oneshot::Sender<()>),
}

/// Receives spans of this process for the collector of the settings.
pub struct Telemetry {
    sampler: Sampler,
    contents: bool,
    most_waiting: usize,
    sender: mpsc::UnboundedSender<Message>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    waiting: AtomicUsize,
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// How many spans had which end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// The collector has accepted them.
    pub sent: u64,
    /// Too many were waiting.
    pub dropped: u64,
    /// The collector did not accept them.
    pub failed: u64,
    /// They wait.
    pub waiting: usize,
}

impl Telemetry {
    /// Starts the thread that sends spans.
    ///
    /// # Errors
    /// If the thread or the exporter cannot be made, with the reason.
    pub fn start(config: &TelemetryConfig) -> Result<Arc<Self>, String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let counters = Arc::new(Counters::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let exporter = {
            let _within = runtime.enter();
            exporter(config).map_err(|why| format!("spans cannot be sent: {why}"))?
        };
        let mut sending = Sending {
            exporter,
            counters: counters.clone(),
            batch: config.batch,
            delay: config.delay,
            // A request has this time for itself, and as much for repeats.
            patience: config.timeout * 2,
            endpoint: config.endpoint.to_string(),
            warned: None,
        };
        thread::Builder::new()
            .name("spans".into())
            .spawn(move || runtime.block_on(sending.run(receiver)))
            .map_err(|error| format!("the thread for spans cannot be started: {error}"))?;
        Ok(Arc::new(Self {
            sampler: config.sampler,
            contents: config.contents,
            most_waiting: config.queue,
            sender,
            counters,
        }))
    }

    /// Which traces are collected.
    #[must_use]
    pub const fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Whether spans have inputs, outputs and messages.
    #[must_use]
    pub const fn has_contents(&self) -> bool {
        self.contents
    }

    /// Queues spans, which are made later. Never waits: if too many wait, these are counted and dropped.
    pub fn send(&self, count: usize, make: impl FnOnce() -> Vec<SpanData> + Send + 'static) {
        let counters = &self.counters;
        let waiting = counters.waiting.fetch_add(count, Ordering::Relaxed);
        // A run with more spans than the bound is sent when nothing else waits.
        let fits = waiting == 0 || waiting + count <= self.most_waiting;
        if !fits || self.sender.send(Message::Spans(count, Box::new(make))).is_err() {
            counters.waiting.fetch_sub(count, Ordering::Relaxed);
            counters.dropped.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    /// What has become of the spans.
    #[must_use]
    pub fn counts(&self) -> SpanCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SpanCounts {
            sent: load(&self.counters.sent),
            dropped: load(&self.counters.dropped),
            failed: load(&self.counters.failed),
            waiting: self.counters.waiting.load(Ordering::Relaxed),
        }
    }

    /// Sends what waits, for at most this time.
    pub async fn flush(&self, longest: Duration) {
        let (sender, flushed) = oneshot::channel();
        if self.sender.send(Message::Flush(sender)).is_ok() {
            // Whether all was sent is in the counters.
            let _ = timeout(longest, flushed).await;
        }
    }
}

/// The thread that sends spans.
struct Sending {
    exporter: SpanExporter,
    counters: Arc<Counters>,
    batch: usize,
    delay: Duration,
    patience: Duration,
    /// The address, which may contain a key.
    endpoint: String,
    warned: Option<Instant>,
}

impl Sending {
    async fn run(&mut self, mut receiver: mpsc::UnboundedReceiver<Message>) {
        while let Some(first) = receiver.recv().await {
            let (mut spans, mut counted, mut flushed) = (Vec::new(), 0, Vec::new());
            let ends = tokio::time::Instant::now() + self.delay;
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    Message::Spans(count, make) => {
                        counted += count;
                        spans.extend(make());
                    }
                    Message::Flush(sender) => flushed.push(sender),
                }
                if spans.len() < self.batch && flushed.is_empty() {
                    next = timeout_at(ends, receiver.recv()).await.ok().flatten();
                }
            }
            self.send(spans).await;
            self.counters.waiting.fetch_sub(counted, Ordering::Relaxed);
            for sender in flushed {
                // Nobody may wait any longer.
                let _ = sender.send(());
            }
        }
    }

    async fn send(&mut self, mut spans: Vec<SpanData>) {
        while !spans.is_empty() {
            let rest = spans.split_off(spans.len().min(self.batch));
            let count = spans.len() as u64;
            let sent = timeout(self.patience, self.exporter.export(spans)).await;
            let failed = match sent {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("no answer in time".to_owned()),
            };
            let counter =
                if failed.is_some() { &self.counters.failed } else { &self.counters.sent };
            counter.fetch_add(count, Ordering::Relaxed);
            if let Some(reason) = failed {
                self.warn(&reason);
            }
            spans = rest;
        }
    }

    fn warn(&mut self, reason: &str) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= QUIET) {
            self.warned = Some(Instant::now());
            let reason = reason.replace(&self.endpoint, "its address");
            tracing::warn!(reason, "spans could not be sent to the collector");
        }
    }
}
