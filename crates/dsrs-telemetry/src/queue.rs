//! The queue of spans: bounded in number and memory, so that a slow or dead collector delays nothing. Spans are sent by a
//! thread of their own, which is woken twice for each batch: for its first span, and when it is full. Beyond the bounds
//! they are counted instead.

use std::cell::RefCell;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::answer::ExportAnswer;
use super::exporter::Exporter;
use super::request::{self, SpanBatch, SpanSource};
use super::span::EncodedSpans;
use dsrs_config::{Sampler, TelemetryConfig};

/// The least time between two warnings that spans cannot be sent.
const QUIET: Duration = Duration::from_secs(60);

/// How much memory the spans that wait may take; with contents they are as large as the messages to models.
const MOST_BYTES: usize = 64 << 20;

/// How much is copied to where spans wait; more is moved.
const MOST_COPIED: usize = 64 * 1024;

thread_local! {
    /// Where the spans of one run are encoded: its memory is used again.
    static SPANS: RefCell<EncodedSpans> = RefCell::default();
}

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
    /// Each about as much as a request may have.
    batches: Vec<EncodedSpans>,
    /// What the next request will have: memory for many runs at once.
    filling: EncodedSpans,
    count: usize,
}

impl WaitingSpans {
    fn add(&mut self, spans: &mut EncodedSpans, batch: usize) {
        let filling = &self.filling;
        let fits = filling.count + spans.count <= batch
            && filling.bytes.len() + spans.bytes.len() <= request::MOST_BYTES;
        if !fits && filling.count > 0 {
            self.batches.push(self.filling.take());
        }
        self.count = self.count.saturating_add(spans.count);
        match spans.bytes.len() > MOST_COPIED {
            true => self.batches.push(mem::take(spans)),
            false => self.filling.extend(spans),
        }
    }

    fn take(&mut self) -> Vec<EncodedSpans> {
        self.count = 0;
        let mut taken = mem::take(&mut self.batches);
        taken.push(self.filling.take());
        taken
    }
}

impl Queue {
    fn add(&self, spans: &mut EncodedSpans, batch: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.count;
        waiting.add(spans, batch);
        let after = waiting.count;
        drop(waiting);
        if before == 0 {
            self.begun.notify_one();
        }
        if before < batch && after >= batch {
            self.full.notify_one();
        }
    }

    fn take(&self) -> Vec<EncodedSpans> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()
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
    bytes: AtomicUsize,
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
            Exporter::new(config).map_err(|why| format!("spans cannot be sent: {why}"))?
        };
        let mut sending = Sending {
            exporter,
            source: SpanSource::of(config),
            queue: queue.clone(),
            counters: counters.clone(),
            batch: config.batch,
            delay: config.delay,
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

    /// Queues this number of spans, which `encode` adds. Never waits for the collector: if too many wait, these are
    /// counted and dropped.
    pub fn send(&self, count: usize, encode: impl FnOnce(&mut EncodedSpans)) {
        let counters = &self.counters;
        let waiting = counters.waiting.fetch_add(count, Ordering::Relaxed);
        // A run with more spans than the bound is sent when nothing else waits.
        let fits = waiting == 0 || waiting.saturating_add(count) <= self.most_waiting;
        let queued = fits
            && SPANS.with_borrow_mut(|spans| {
                // What a panic may have left.
                spans.clear();
                encode(spans);
                let queued = self.queue(spans);
                spans.clear();
                queued
            });
        if !queued {
            counters.waiting.fetch_sub(count, Ordering::Relaxed);
            counters.dropped.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    /// Whether there was memory for them.
    fn queue(&self, spans: &mut EncodedSpans) -> bool {
        let (bytes, length) = (&self.counters.bytes, spans.bytes.len());
        let fits = bytes.fetch_add(length, Ordering::Relaxed).saturating_add(length) <= MOST_BYTES;
        match fits {
            true => self.queue.add(spans, self.batch),
            false => drop(bytes.fetch_sub(length, Ordering::Relaxed)),
        }
        fits
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

impl Counters {
    /// These no longer wait.
    fn left(&self, count: usize, bytes: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The thread that sends spans.
struct Sending {
    exporter: Exporter,
    source: SpanSource,
    queue: Arc<Queue>,
    counters: Arc<Counters>,
    batch: usize,
    /// How long spans wait for others.
    delay: Duration,
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
            for spans in self.queue.take() {
                self.send_all(&spans).await;
            }
            if let Some(flushed) = flushed {
                // Nobody may wait any longer.
                let _ = flushed.send(());
            }
        }
    }

    async fn send_all(&mut self, spans: &EncodedSpans) {
        for batch in SpanBatch::divide(spans, self.batch) {
            self.send(&batch).await;
            self.counters.left(batch.count, batch.bytes.len());
        }
    }

    async fn send(&mut self, batch: &SpanBatch<'_>) {
        let count = batch.count as u64;
        let exported = self.exporter.export(self.source.request(batch).into());
        // The client of gRPC panics if an answer has an invalid header.
        let sent = AssertUnwindSafe(exported).catch_unwind().await;
        let sent = sent.unwrap_or_else(|_| Err("its answer is invalid".to_owned()));
        let (failed, reason) = match sent.map(ExportAnswer::partial) {
            Ok(None) => (0, None),
            Ok(Some(partial)) => {
                let rejected = u64::try_from(partial.rejected).unwrap_or_default().min(count);
                (rejected, Some(partial.message))
            }
            Err(reason) => (count, Some(reason)),
        };
        self.counters.failed.fetch_add(failed, Ordering::Relaxed);
        self.counters.sent.fetch_add(count - failed, Ordering::Relaxed);
        if let Some(reason) = reason {
            self.warn(&reason, failed);
        }
    }

    fn warn(&mut self, reason: &str, spans: u64) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= QUIET) {
            self.warned = Some(Instant::now());
            let reason = reason.replace(&self.endpoint, "its address");
            match spans {
                0 => tracing::warn!(reason, "the collector accepted spans with a warning"),
                _ => tracing::warn!(reason, spans, "the collector did not accept spans"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::SpanPlace;
    use dsrs_config::{OtlpProtocol, SamplerRoot};

    /// A collector that nobody asks in the time of a test.
    fn queue_of(most_spans: usize) -> Arc<Telemetry> {
        Telemetry::start(&TelemetryConfig {
            endpoint: "http://127.0.0.1:9/v1/traces".parse().unwrap(),
            protocol: OtlpProtocol::Http,
            compressed: false,
            headers: Vec::new(),
            timeout: Duration::from_secs(1),
            resource: BTreeMap::new(),
            sampler: Sampler { root: SamplerRoot::Always, follows_parent: true },
            contents: true,
            queue: most_spans,
            // Never reached: a full batch would be sent at once.
            batch: most_spans + 1,
            delay: Duration::from_secs(600),
        })
        .unwrap()
    }

    fn send(telemetry: &Telemetry, length: usize) {
        let place = SpanPlace {
            trace_id: [1; 16],
            span_id: [1; 8],
            state: None,
            parent: None,
            has_remote_parent: false,
            start: UNIX_EPOCH,
            end: UNIX_EPOCH,
        };
        let name = "n".repeat(length);
        telemetry.send(1, |spans| spans.add(&place, |out| out.name(&[&name])));
    }

    #[test]
    fn spans_beyond_the_most_that_may_wait_are_counted() {
        let telemetry = queue_of(3);
        (0..5).for_each(|_| send(&telemetry, 10));
        let expected = SpanCounts { dropped: 2, waiting: 3, ..SpanCounts::default() };
        assert_eq!(telemetry.counts(), expected);
    }

    #[test]
    fn spans_that_wait_take_no_more_than_64_megabytes() {
        let telemetry = queue_of(1000);
        (0..9).for_each(|_| send(&telemetry, 10 << 20));
        let expected = SpanCounts { dropped: 3, waiting: 6, ..SpanCounts::default() };
        assert_eq!(telemetry.counts(), expected);
        // A small one has room.
        send(&telemetry, 100);
        assert_eq!(telemetry.counts().waiting, 7);
    }
}
