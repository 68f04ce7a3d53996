//! What is told of a run while it goes on, kept for those who follow it: a bounded piece of the
//! past, so that a reader may come back, and a slow one costs the run neither time nor memory.
//! Knows events by their names and texts, and no transport.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::store::run::RunStatus;

/// How much of a run's past is kept, in bytes that its events take.
const PAST_BYTES: usize = 128 << 10;

/// How many of the newest events are kept, whatever their size: a reader who keeps up need not fear
/// that a large one takes the place of all before it.
const KEPT_AT_LEAST: usize = 8;

/// What an event takes beside its text: itself and its counts, its places in the queue, which may
/// be half empty, and what allocating costs.
const EVENT_BYTES: usize = size_of::<NumberedEvent>() + 64;

/// How long the events of a run that has ended are kept for those who come back.
const AFTERLIFE: Duration = Duration::from_secs(60);

/// Of all runs that have ended together, in bytes.
const AFTERLIFE_BYTES: usize = 32 << 20;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    RunStarted,
    NodeStarted,
    NodeDelta,
    NodeRetry,
    NodeCompleted,
    NodeFailed,
    RunWaiting,
    RunCompleted,
    RunFailed,
    RunCancelled,
    OptimizationStarted,
    OptimizationPhase,
    OptimizationCandidate,
    OptimizationScored,
    OptimizationProgress,
    OptimizationCompleted,
    OptimizationFailed,
    OptimizationCancelled,
}

impl EventKind {
    const ALL: [Self; 18] = [
        Self::RunStarted,
        Self::NodeStarted,
        Self::NodeDelta,
        Self::NodeRetry,
        Self::NodeCompleted,
        Self::NodeFailed,
        Self::RunWaiting,
        Self::RunCompleted,
        Self::RunFailed,
        Self::RunCancelled,
        Self::OptimizationStarted,
        Self::OptimizationPhase,
        Self::OptimizationCandidate,
        Self::OptimizationScored,
        Self::OptimizationProgress,
        Self::OptimizationCompleted,
        Self::OptimizationFailed,
        Self::OptimizationCancelled,
    ];

    /// The kind of that name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The last event of a run that has ended so.
    pub(crate) const fn of_end(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::RunCompleted,
            RunStatus::Cancelled => Self::RunCancelled,
            RunStatus::Waiting => Self::RunWaiting,
            _ => Self::RunFailed,
        }
    }

    /// The last event of an optimization that has ended so.
    pub(crate) const fn of_optimization(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::OptimizationCompleted,
            RunStatus::Cancelled => Self::OptimizationCancelled,
            _ => Self::OptimizationFailed,
        }
    }

    /// Its name for clients.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::RunStarted => "run.started",
            Self::NodeStarted => "node.started",
            Self::NodeDelta => "node.delta",
            Self::NodeRetry => "node.retry",
            Self::NodeCompleted => "node.completed",
            Self::NodeFailed => "node.failed",
            Self::RunWaiting => "run.waiting",
            Self::RunCompleted => "run.completed",
            Self::RunFailed => "run.failed",
            Self::RunCancelled => "run.cancelled",
            Self::OptimizationStarted => "optimization.started",
            Self::OptimizationPhase => "optimization.phase",
            Self::OptimizationCandidate => "optimization.candidate",
            Self::OptimizationScored => "optimization.scored",
            Self::OptimizationProgress => "optimization.progress",
            Self::OptimizationCompleted => "optimization.completed",
            Self::OptimizationFailed => "optimization.failed",
            Self::OptimizationCancelled => "optimization.cancelled",
        }
    }
}

/// One event of a run.
#[derive(Debug)]
pub(crate) struct NumberedEvent {
    /// Counts from 1 within the run.
    pub(crate) id: u64,
    /// What it is about.
    pub(crate) kind: EventKind,
    /// What it says, as JSON text.
    pub(crate) data: Box<str>,
}

impl NumberedEvent {
    fn bytes(&self) -> usize {
        self.data.len() + EVENT_BYTES
    }
}

/// What a follower is told next.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// An event.
    Event(Arc<NumberedEvent>),
    /// Events that are gone, by the first and the last of them.
    Gap(u64, u64),
}

/// The events of one run.
#[derive(Debug)]
pub(crate) struct EventBuffer {
    run: Uuid,
    workspace: Uuid,
    past: Mutex<Past>,
    /// The id of the newest event, and whether it is the last.
    news: watch::Sender<(u64, bool)>,
}

#[derive(Debug, Default)]
struct Past {
    events: VecDeque<Arc<NumberedEvent>>,
    newest: u64,
    bytes: usize,
}

impl EventBuffer {
    fn new(workspace: Uuid, run: Uuid) -> Arc<Self> {
        let news = watch::Sender::new((0, false));
        Arc::new(Self { run, workspace, past: Mutex::default(), news })
    }

    /// Adds an event.
    pub(crate) fn tell(&self, kind: EventKind, data: String) {
        self.add(kind, data, false);
    }

    fn add(&self, kind: EventKind, data: String, is_last: bool) {
        let mut past = lock(&self.past);
        past.newest += 1;
        let id = past.newest;
        // Texts are written with room to grow, which would stay with them.
        let event = Arc::new(NumberedEvent { id, kind, data: data.into_boxed_str() });
        past.bytes += event.bytes();
        past.events.push_back(event);
        while past.bytes > PAST_BYTES && past.events.len() > KEPT_AT_LEAST {
            let oldest = past.events.pop_front();
            past.bytes -= oldest.map_or(0, |event| event.bytes());
        }
        drop(past);
        self.news.send_replace((id, is_last));
    }

    /// Whether the run has ended, and its last event is not behind this one.
    pub(crate) fn has_told_all(&self, seen: u64) -> bool {
        let (newest, is_over) = *self.news.borrow();
        is_over && seen >= newest
    }

    /// The id of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        lock(&self.past).newest
    }

    /// Follows the run from behind an event; 0 is the beginning.
    pub(crate) fn follow(self: &Arc<Self>, seen: u64) -> BufferFollower {
        BufferFollower { news: self.news.subscribe(), buffer: self.clone(), seen }
    }

    fn after(&self, seen: u64) -> Option<StreamItem> {
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

/// One who follows a run, at a pace of its own.
pub(crate) struct BufferFollower {
    buffer: Arc<EventBuffer>,
    news: watch::Receiver<(u64, bool)>,
    seen: u64,
}

impl BufferFollower {
    /// What comes next; `None` when the run has ended and all was told.
    pub(crate) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            let (newest, is_over) = *self.news.borrow_and_update();
            if newest > self.seen
                && let Some(told) = self.buffer.after(self.seen)
            {
                self.seen = match &told {
                    StreamItem::Event(event) => event.id,
                    StreamItem::Gap(_, last) => *last,
                };
                return Some(told);
            }
            if is_over || self.news.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// The event_buffers of all runs that somebody may follow here.
#[derive(Clone, Default)]
pub(crate) struct EventBuffers(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    event_buffers: HashMap<Uuid, Arc<EventBuffer>>,
    /// Runs that have ended, the first to end first, with the size of their event_buffers.
    ended: VecDeque<(Instant, Uuid, usize)>,
    ended_bytes: usize,
}

impl EventBuffers {
    /// The buffer of a run that begins; `broken` makes its last event if it breaks off.
    pub(crate) fn open(&self, workspace: Uuid, run: Uuid, broken: LastWords) -> OpenEventBuffer {
        let buffer = EventBuffer::new(workspace, run);
        lock(&self.0).event_buffers.insert(run, buffer.clone());
        OpenEventBuffer { buffer, event_buffers: self.clone(), broken: Some(broken) }
    }

    /// The buffer of a run under way, or of one that ended a short while ago.
    pub(crate) fn get(&self, workspace: Uuid, run: Uuid) -> Option<Arc<EventBuffer>> {
        let known = lock(&self.0);
        known.event_buffers.get(&run).filter(|buffer| buffer.workspace == workspace).cloned()
    }

    /// Forgets a run that goes on elsewhere.
    fn forget(&self, run: Uuid) {
        lock(&self.0).event_buffers.remove(&run);
    }

    fn ended(&self, buffer: &EventBuffer) {
        let mut known = lock(&self.0);
        if !known.event_buffers.contains_key(&buffer.run) {
            return;
        }
        let (now, bytes) = (Instant::now(), buffer.bytes());
        known.ended.push_back((now, buffer.run, bytes));
        known.ended_bytes += bytes;
        while let Some((ended, run, bytes)) = known.ended.front().copied() {
            if now - ended < AFTERLIFE && known.ended_bytes <= AFTERLIFE_BYTES {
                break;
            }
            known.ended.pop_front();
            known.ended_bytes -= bytes;
            known.event_buffers.remove(&run);
        }
    }
}

/// Makes the last event of a run that breaks off.
pub(crate) type LastWords = Box<dyn FnOnce() -> (EventKind, String) + Send + Sync>;

/// The buffer of a run under way; whoever holds it tells.
pub(crate) struct OpenEventBuffer {
    buffer: Arc<EventBuffer>,
    event_buffers: EventBuffers,
    broken: Option<LastWords>,
}

impl OpenEventBuffer {
    /// Where to tell, and to follow.
    pub(crate) const fn buffer(&self) -> &Arc<EventBuffer> {
        &self.buffer
    }

    /// Tells the last event. A run that waits may go on elsewhere: who follows it after that does
    /// so there.
    pub(crate) fn end(mut self, kind: EventKind, data: String) {
        self.broken = None;
        if kind == EventKind::RunWaiting {
            self.event_buffers.forget(self.buffer.run);
        }
        self.buffer.add(kind, data, true);
    }
}

/// A run that breaks off has an end too: nobody waits for another.
impl Drop for OpenEventBuffer {
    fn drop(&mut self) {
        if let Some(broken) = self.broken.take() {
            let (kind, data) = broken();
            self.buffer.add(kind, data, true);
        }
        self.event_buffers.ended(&self.buffer);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> LastWords {
        Box::new(|| (EventKind::RunFailed, "broken".to_owned()))
    }

    fn opened() -> (EventBuffers, OpenEventBuffer, Uuid) {
        let (event_buffers, run) = (EventBuffers::default(), Uuid::now_v7());
        let open = event_buffers.open(Uuid::nil(), run, broken());
        (event_buffers, open, run)
    }

    async fn rest(mut follower: BufferFollower) -> String {
        let mut told = Vec::new();
        while let Some(next) = follower.next().await {
            told.push(match next {
                StreamItem::Event(event) => format!("{} {}", event.id, event.data),
                StreamItem::Gap(from, to) => format!("gap {from} to {to}"),
            });
        }
        told.join(", ")
    }

    #[tokio::test]
    async fn followers_hear_everything_from_where_they_left_off() {
        let (_, open, _) = opened();
        let early = open.buffer().follow(0);
        open.buffer().tell(EventKind::RunStarted, "a".into());
        open.buffer().tell(EventKind::NodeStarted, "b".into());
        let back = open.buffer().follow(1);
        let ahead = open.buffer().follow(9);
        open.end(EventKind::RunCompleted, "c".into());
        assert_eq!(rest(early).await, "1 a, 2 b, 3 c");
        assert_eq!(rest(back).await, "2 b, 3 c");
        assert_eq!(rest(ahead).await, "");
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_of_the_gap_and_gets_the_last_event() {
        let (_, open, _) = opened();
        let slow = open.buffer().follow(0);
        let text = "x".repeat(1000);
        for _ in 0..1000 {
            open.buffer().tell(EventKind::NodeDelta, text.clone());
        }
        assert!(open.buffer().bytes() <= PAST_BYTES);
        open.end(EventKind::RunCompleted, "y".repeat(2 * PAST_BYTES));
        let told = rest(slow).await;
        let left = 1001 - KEPT_AT_LEAST;
        assert!(told.starts_with(&format!("gap 1 to {left}, {} xxx", left + 1)), "{}", &told[..60]);
        assert!(told.ends_with("yyy"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_ended_can_be_followed_for_a_minute() {
        let (event_buffers, open, run) = opened();
        open.end(EventKind::RunCompleted, "a".into());
        assert!(event_buffers.get(Uuid::max(), run).is_none(), "another workspace's");
        let found = event_buffers.get(Uuid::nil(), run).unwrap();
        assert_eq!(rest(found.follow(0)).await, "1 a");
        tokio::time::advance(AFTERLIFE).await;
        drop(event_buffers.open(Uuid::nil(), Uuid::now_v7(), broken()));
        assert!(event_buffers.get(Uuid::nil(), run).is_none());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_run_that_broke_off() {
        let (_, open, _) = opened();
        open.buffer().tell(EventKind::RunStarted, "a".into());
        let follower = open.buffer().follow(0);
        drop(open);
        assert_eq!(rest(follower).await, "1 a, 2 broken");
    }

    #[tokio::test]
    async fn a_large_event_does_not_take_the_place_of_all_before_it() {
        let (_, open, _) = opened();
        let follower = open.buffer().follow(0);
        open.buffer().tell(EventKind::RunStarted, "a".into());
        open.buffer().tell(EventKind::NodeDelta, "x".repeat(PAST_BYTES));
        open.buffer().tell(EventKind::NodeCompleted, "y".repeat(PAST_BYTES));
        open.end(EventKind::RunCompleted, "z".repeat(PAST_BYTES));
        let told = rest(follower).await;
        assert!(told.starts_with("1 a, 2 xxx"), "{}", &told[..20]);
    }

    #[test]
    fn an_event_takes_no_more_than_is_counted() {
        let (_, open, _) = opened();
        let mut data = String::with_capacity(1 << 20);
        data.push('x');
        open.buffer().tell(EventKind::NodeDelta, data);
        assert_eq!(open.buffer().bytes(), 1 + EVENT_BYTES);
    }
}
