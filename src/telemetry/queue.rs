//! The queue of spans: bounded, so that a slow or dead collector costs memory and time of nobody. Spans are made and
//! sent by a thread of their own, which is woken twice for each batch: for its first span, and when it is full. Beyond the bound they are counted instead.

use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::exporter::exporter;
use crate::config::{Sampler, TelemetryConfig};

/// The least time between two warnings that spans cannot be sent.
const QUIET: Duration = Duration::from_secs(60);

/// Makes spans, on the thread that sends them.
type MakeSpans = Box<dyn FnOnce() -> Vec<SpanData> + Send>;

/// What waits to be sent.
#[derive(Default)]
struct Queue {
    waiting: Mutex<WaitingSpans>,
    /// The first span of a batch has arrived.
    begun: Notify,
    /// There are enough for a batch.
    full: Notify,
}

#[derive(Default)]
struct WaitingSpans {
    /// Each with the number of spans as which it counts.
    made_later: Vec<(usize, MakeSpans)>,
    /// The sum of these numbers.
    count: usize,
}

impl Queue {
    fn add(&self, count: usize, batch: usize, make: MakeSpans) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.made_later.push((count, make));
        let before = waiting.count;
        waiting.count = before.saturating_add(count);
        if before == 0 {
            self.begun.notify_one();
        }
        if before < batch && waiting.count >= batch {
            self.full.notify_one();
        }
    }

    fn take(&self) -> WaitingSpans {
        mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Receives spans of this process for the collector of the settings.
pub struct Telemetry {
    sampler: Sampler,
    contents: bool,
    most_waiting: usize,
    batch: usize,
    queue: Arc<Queue>,
    flushes: mpsc::UnboundedSender<oneshot::Sender<()>>,
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
        let (flushes, flushed) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue::default());
        let counters = Arc::new(Counters::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let exporter = {
            let _within = runtime.enter();
            exporter(config).map_err(|why| format!("spans cannot be sent: {why}"))?
        };
        let mut sending = Sending {
            exporter,
            queue: queue.clone(),
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
            .spawn(move || runtime.block_on(sending.run(flushed)))
            .map_err(|error| format!("the thread for spans cannot be started: {error}"))?;
        Ok(Arc::new(Self {
            sampler: config.sampler,
            contents: config.contents,
            most_waiting: config.queue,
            batch: config.batch,
            queue,
            flushes,
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
        if fits {
            return self.queue.add(count, self.batch, Box::new(make));
        }
        counters.waiting.fetch_sub(count, Ordering::Relaxed);
        counters.dropped.fetch_add(count as u64, Ordering::Relaxed);
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
        if self.flushes.send(sender).is_ok() {
            // Whether all was sent is in the counters.
            let _ = timeout(longest, flushed).await;
        }
    }
}

/// The thread that sends spans.
struct Sending {
    exporter: SpanExporter,
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    batch: usize,
    /// How long spans wait for others.
    delay: Duration,
    patience: Duration,
    /// The address, which may contain a key.
    endpoint: String,
    warned: Option<Instant>,
}

impl Sending {
    /// Sends until the process ends.
    async fn run(&mut self, mut flushes: mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
        loop {
            let filled = async {
                self.queue.begun.notified().await;
                // Without a result: either is a reason to send.
                let _ = timeout(self.delay, self.queue.full.notified()).await;
            };
            let flushed = tokio::select! {
                () = filled => None,
                flushed = flushes.recv() => match flushed {
                    None => return,
                    flushed => flushed,
                },
            };
            self.send_all(self.queue.take()).await;
            if let Some(flushed) = flushed {
                // Nobody may wait any longer.
                let _ = flushed.send(());
            }
        }
    }

    /// Makes spans batch by batch: they are larger than what they are made of.
    async fn send_all(&mut self, WaitingSpans { made_later, .. }: WaitingSpans) {
        let (mut spans, mut counted) = (Vec::new(), 0);
        let mut rest = made_later.into_iter();
        while let Some((count, make)) = rest.next() {
            spans.extend(make());
            counted += count;
            if spans.len() >= self.batch || rest.len() == 0 {
                self.send(mem::take(&mut spans)).await;
                self.counters.waiting.fetch_sub(mem::take(&mut counted), Ordering::Relaxed);
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
