//! Events of runs in this process, in memory: a bounded part of the past of each run. A follower
//! that reconnects continues where it stopped, and a slow one costs the run neither time nor memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::event::{EventKind, NumberedEvent, StreamItem};

/// How many bytes of events are stored per run.
const PAST_BYTES: usize = 96 << 10;

/// How many of the newest events are stored whatever their size, so that a large event does not
/// evict all events before it while followers keep up.
const MIN_EVENTS: usize = 8;

/// The memory of an event besides its text: the struct and its reference counts, its slots in the
/// queue, which may be half empty, and the overhead of allocation.
const EVENT_BYTES: usize = size_of::<NumberedEvent>() + 64;

/// How long the events of an ended run are stored for followers that reconnect.
const RETENTION: Duration = Duration::from_secs(60);

/// How many bytes of events of ended runs are stored in total.
const RETENTION_BYTES: usize = 32 << 20;

impl NumberedEvent {
    fn bytes(&self) -> usize {
        self.data.len() + EVENT_BYTES
    }
}

/// The events of one run.
#[derive(Debug)]
pub(crate) struct EventBuffer {
    run: Uuid,
    workspace: Uuid,
    past: Mutex<StoredEvents>,
    /// The id of the newest event, and whether the stream is closed.
    newest: watch::Sender<(u64, bool)>,
}

#[derive(Debug, Default)]
struct StoredEvents {
    events: VecDeque<Arc<NumberedEvent>>,
    newest: u64,
    bytes: usize,
}

impl EventBuffer {
    fn new(workspace: Uuid, run: Uuid) -> Arc<Self> {
        let newest = watch::Sender::new((0, false));
        Arc::new(Self { run, workspace, past: Mutex::default(), newest })
    }

    /// Adds an event.
    pub(crate) fn push(&self, kind: EventKind, data: String) {
        self.add(kind, data, false);
    }

    fn add(&self, kind: EventKind, data: String, is_last: bool) {
        let mut past = lock(&self.past);
        past.newest += 1;
        let id = past.newest;
        // A boxed text has no spare capacity.
        let event = Arc::new(NumberedEvent { id, kind, data: data.into_boxed_str() });
        past.bytes += event.bytes();
        past.events.push_back(event);
        // Some events stay whatever their size: a large one must not remove all before it.
        while past.bytes > PAST_BYTES && past.events.len() > MIN_EVENTS {
            let oldest = past.events.pop_front();
            past.bytes -= oldest.map_or(0, |event| event.bytes());
        }
        drop(past);
        self.newest.send_replace((id, is_last));
    }

    fn close(&self) {
        self.newest.send_modify(|(_, is_closed)| *is_closed = true);
    }

    /// Whether a follower that has read this event has read the last one.
    pub(crate) fn is_complete_at(&self, seen: u64) -> bool {
        let (newest, is_closed) = *self.newest.borrow();
        is_closed && seen >= newest
    }

    /// The id of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        lock(&self.past).newest
    }

    /// Follows the run from the event after `seen`; 0 is the start.
    pub(crate) fn follow(self: &Arc<Self>, seen: u64) -> BufferFollower {
        BufferFollower { newest: self.newest.subscribe(), buffer: self.clone(), seen }
    }

    fn after<R>(&self, seen: u64) -> Option<StreamItem<R>> {
        let past = lock(&self.past);
        let oldest = past.events.front()?.id;
        if seen + 1 < oldest {
            return Some(StreamItem::Gap(seen + 1, oldest - 1));
        }
        let index = usize::try_from(seen + 1 - oldest).ok()?;
        past.events.get(index).cloned().map(StreamItem::Event)
    }

    fn bytes(&self) -> usize {
        lock(&self.past).bytes
    }
}

/// Follows one run at its own pace.
pub struct BufferFollower {
    buffer: Arc<EventBuffer>,
    newest: watch::Receiver<(u64, bool)>,
    seen: u64,
}

impl BufferFollower {
    /// The next item, or `None` after the last event.
    pub(crate) async fn next<R>(&mut self) -> Option<StreamItem<R>> {
        loop {
            // Marked as seen before the events are read: one that is added meanwhile wakes `changed` below.
            let (newest, is_closed) = *self.newest.borrow_and_update();
            if newest > self.seen
                && let Some(item) = self.buffer.after(self.seen)
            {
                self.seen = match &item {
                    StreamItem::Event(event) => event.id,
                    StreamItem::Gap(_, last) | StreamItem::Ended(last, _) => *last,
                };
                return Some(item);
            }
            if is_closed || self.newest.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// The buffers of all runs that can be followed in this process.
#[derive(Clone, Default)]
pub(crate) struct EventBuffers(Arc<Mutex<BufferTable>>);

#[derive(Default)]
struct BufferTable {
    buffers: HashMap<Uuid, Arc<EventBuffer>>,
    /// Ended runs in the order of their end, with the size of their buffers.
    ended: VecDeque<(Instant, Uuid, usize)>,
    ended_bytes: usize,
}

impl EventBuffers {
    /// Opens the buffer of a run that starts.
    pub(crate) fn open(&self, workspace: Uuid, run: Uuid) -> OpenEventBuffer {
        let buffer = EventBuffer::new(workspace, run);
        lock(&self.0).buffers.insert(run, buffer.clone());
        OpenEventBuffer { buffer, buffers: self.clone() }
    }

    /// The buffer of a run that is running, or ended a short time ago.
    pub(crate) fn get(&self, workspace: Uuid, run: Uuid) -> Option<Arc<EventBuffer>> {
        let table = lock(&self.0);
        table.buffers.get(&run).filter(|buffer| buffer.workspace == workspace).cloned()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).buffers.len()
    }

    fn remove(&self, run: Uuid) {
        lock(&self.0).buffers.remove(&run);
    }

    fn retain_ended(&self, buffer: &EventBuffer) {
        let mut table = lock(&self.0);
        // A run that waits was removed: its followers read the log.
        if !table.buffers.contains_key(&buffer.run) {
            return;
        }
        let (now, bytes) = (Instant::now(), buffer.bytes());
        table.ended.push_back((now, buffer.run, bytes));
        table.ended_bytes += bytes;
        while let Some((ended, run, bytes)) = table.ended.front().copied() {
            if now - ended < RETENTION && table.ended_bytes <= RETENTION_BYTES {
                break;
            }
            table.ended.pop_front();
            table.ended_bytes -= bytes;
            table.buffers.remove(&run);
        }
    }
}

/// The writing end of a buffer. Dropping it closes the stream.
pub struct OpenEventBuffer {
    buffer: Arc<EventBuffer>,
    buffers: EventBuffers,
}

impl OpenEventBuffer {
    /// The buffer, to write to and to follow.
    pub(crate) const fn buffer(&self) -> &Arc<EventBuffer> {
        &self.buffer
    }

    /// Adds the last event. A run that waits may continue on another server, so its buffer is
    /// removed and followers read the log instead.
    pub fn end(self, kind: EventKind, data: String) {
        if kind == EventKind::RunWaiting {
            self.buffers.remove(self.buffer.run);
        }
        self.buffer.add(kind, data, true);
    }
}

impl Drop for OpenEventBuffer {
    fn drop(&mut self) {
        self.buffer.close();
        self.buffers.retain_ended(&self.buffer);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (EventBuffers, OpenEventBuffer, Uuid) {
        let (buffers, run) = (EventBuffers::default(), Uuid::now_v7());
        let open = buffers.open(Uuid::nil(), run);
        (buffers, open, run)
    }

    async fn rest(mut follower: BufferFollower) -> String {
        let mut items = Vec::new();
        while let Some(next) = follower.next::<()>().await {
            items.push(match next {
                StreamItem::Event(event) => format!("{} {}", event.id, event.data),
                StreamItem::Gap(from, to) => format!("gap {from} to {to}"),
                StreamItem::Ended(id, _) => format!("ended {id}"),
            });
        }
        items.join(", ")
    }

    #[tokio::test]
    async fn a_follower_receives_every_event_after_the_last_one_it_read() {
        let (_, open, _) = opened();
        let early = open.buffer().follow(0);
        open.buffer().push(EventKind::RunStarted, "a".into());
        open.buffer().push(EventKind::NodeStarted, "b".into());
        let reconnected = open.buffer().follow(1);
        let ahead = open.buffer().follow(9);
        open.end(EventKind::RunCompleted, "c".into());
        assert_eq!(rest(early).await, "1 a, 2 b, 3 c");
        assert_eq!(rest(reconnected).await, "2 b, 3 c");
        assert_eq!(rest(ahead).await, "");
    }

    #[tokio::test]
    async fn a_slow_follower_receives_a_gap_and_the_last_event() {
        let (_, open, _) = opened();
        let slow = open.buffer().follow(0);
        let text = "x".repeat(1000);
        for _ in 0..1000 {
            open.buffer().push(EventKind::NodeDelta, text.clone());
        }
        assert!(open.buffer().bytes() <= PAST_BYTES);
        open.end(EventKind::RunCompleted, "y".repeat(2 * PAST_BYTES));
        let items = rest(slow).await;
        let left = 1001 - MIN_EVENTS;
        let start = format!("gap 1 to {left}, {} xxx", left + 1);
        assert!(items.starts_with(&start), "{}", &items[..60]);
        assert!(items.ends_with("yyy"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_can_be_followed_for_a_minute_after_its_end() {
        let (buffers, open, run) = opened();
        open.end(EventKind::RunCompleted, "a".into());
        assert!(buffers.get(Uuid::max(), run).is_none(), "another workspace");
        let found = buffers.get(Uuid::nil(), run).unwrap();
        assert_eq!(rest(found.follow(0)).await, "1 a");
        tokio::time::advance(RETENTION).await;
        drop(buffers.open(Uuid::nil(), Uuid::now_v7()));
        assert!(buffers.get(Uuid::nil(), run).is_none());
    }

    #[tokio::test]
    async fn a_dropped_writer_closes_the_stream() {
        let (_, open, _) = opened();
        open.buffer().push(EventKind::RunStarted, "a".into());
        let follower = open.buffer().follow(0);
        let buffer = open.buffer().clone();
        assert!(!buffer.is_complete_at(1));
        drop(open);
        assert!(buffer.is_complete_at(1));
        assert_eq!(rest(follower).await, "1 a");
    }

    #[tokio::test]
    async fn a_large_event_does_not_evict_all_events_before_it() {
        let (_, open, _) = opened();
        let follower = open.buffer().follow(0);
        open.buffer().push(EventKind::RunStarted, "a".into());
        open.buffer().push(EventKind::NodeDelta, "x".repeat(PAST_BYTES));
        open.buffer().push(EventKind::NodeCompleted, "y".repeat(PAST_BYTES));
        open.end(EventKind::RunCompleted, "z".repeat(PAST_BYTES));
        let items = rest(follower).await;
        assert!(items.starts_with("1 a, 2 xxx"), "{}", &items[..20]);
    }

    #[test]
    fn an_event_uses_no_more_memory_than_is_counted() {
        let (_, open, _) = opened();
        let mut data = String::with_capacity(1 << 20);
        data.push('x');
        open.buffer().push(EventKind::NodeDelta, data);
        assert_eq!(open.buffer().bytes(), 1 + EVENT_BYTES);
    }
}
