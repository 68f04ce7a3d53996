//! Limits of requests in flight, with a fair queue: waiting requests queue by run, and the runs take
//! turns, so that a run with a thousand requests delays another run no longer than a run with one
//! request does. Does not know the requests.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A limit of requests in flight. Clones share it.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    limit: u32,
    queue: Mutex<GateQueue>,
}

/// The requests in flight and the waiting ones. While there are waiting ones, the current limit is reached.
#[derive(Default)]
struct GateQueue {
    in_flight: u32,
    /// At most the limit of the gate. Fewer if others use the rest of it.
    current_limit: u32,
    /// The runs with waiting requests, the next one first.
    turns: VecDeque<LaneId>,
    waiting: HashMap<LaneId, VecDeque<oneshot::Sender<Permit>>>,
}

impl GateQueue {
    fn join(&mut self, lane: LaneId) -> oneshot::Receiver<Permit> {
        let (place, called) = oneshot::channel();
        let own = self.waiting.entry(lane).or_default();
        if own.is_empty() {
            self.turns.push_back(lane);
        }
        own.push_back(place);
        called
    }

    /// The next request for a permit that is free below the current limit.
    fn admit(&mut self) -> Option<oneshot::Sender<Permit>> {
        if self.in_flight >= self.current_limit {
            return None;
        }
        let next = self.next()?;
        self.in_flight += 1;
        Some(next)
    }

    /// The next request that still waits; its run moves to the end.
    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        while let Some(lane) = self.turns.pop_front() {
            let Some(own) = self.waiting.get_mut(&lane) else { continue };
            let place = std::iter::from_fn(|| own.pop_front()).find(|place| !place.is_closed());
            if own.is_empty() {
                self.waiting.remove(&lane);
            } else {
                self.turns.push_back(lane);
            }
            if place.is_some() {
                return place;
            }
        }
        None
    }
}

/// What a gate has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateLoad {
    /// The requests in flight.
    pub in_flight: u32,
    /// The requests that wait for a permit.
    pub waiting: usize,
}

/// The right to one request in flight. Dropping it passes it to the next request in the queue.
#[derive(Debug)]
pub struct Permit(Gate);

impl Gate {
    /// A gate for this many concurrent requests, at least one.
    #[must_use]
    pub fn of(limit: u32) -> Self {
        let limit = limit.max(1);
        Self(Arc::new(Shared {
            limit,
            queue: Mutex::new(GateQueue { current_limit: limit, ..GateQueue::default() }),
        }))
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.0.limit
    }

    /// The requests in flight and the waiting ones.
    #[must_use]
    pub fn load(&self) -> GateLoad {
        let queue = self.queue();
        let waiting = queue.waiting.values().flatten().filter(|place| !place.is_closed());
        GateLoad { in_flight: queue.in_flight, waiting: waiting.count() }
    }

    /// How many requests may be in flight now.
    #[must_use]
    pub fn current_limit(&self) -> u32 {
        self.queue().current_limit
    }

    /// Lets only so many requests be in flight from now on, between one and the limit. Requests that are in
    /// flight already continue.
    pub fn set_current_limit(&self, limit: u32) {
        self.queue().current_limit = limit.clamp(1, self.0.limit);
        while let Some(next) = self.admit() {
            drop(next.send(Permit(self.clone())));
        }
    }

    fn admit(&self) -> Option<oneshot::Sender<Permit>> {
        self.queue().admit()
    }

    /// Waits for a permit. Dropping the future leaves the queue.
    async fn pass(&self, lane: LaneId) -> Permit {
        loop {
            let called = match self.enter(lane) {
                Ok(permit) => return permit,
                Err(called) => called,
            };
            if let Ok(permit) = called.await {
                return permit;
            }
        }
    }

    fn enter(&self, lane: LaneId) -> Result<Permit, oneshot::Receiver<Permit>> {
        let mut queue = self.queue();
        if queue.in_flight >= queue.current_limit {
            return Err(queue.join(lane));
        }
        queue.in_flight += 1;
        Ok(Permit(self.clone()))
    }

    /// Takes a permit back; returns the next request for it.
    fn take_back(&self) -> Option<oneshot::Sender<Permit>> {
        let mut queue = self.queue();
        queue.in_flight -= 1;
        queue.admit()
    }

    fn queue(&self) -> MutexGuard<'_, GateQueue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("limit", &self.0.limit).finish_non_exhaustive()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(next) = self.0.take_back() {
            // A request that leaves at this moment drops the permit, which passes it on again.
            drop(next.send(Self(self.0.clone())));
        }
    }
}

/// The place of one run in the queues, and the limit of its own requests.
#[derive(Debug, Default)]
pub struct Lane {
    own: Option<Gate>,
}

/// Identifies a run among those that wait at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LaneId(usize);

impl Lane {
    /// A run with or without a limit of its own.
    #[must_use]
    pub fn limited(limit: Option<u32>) -> Self {
        Self { own: limit.map(Gate::of) }
    }

    /// Its address, which is unique while it has requests in a queue.
    fn id(&self) -> LaneId {
        LaneId(std::ptr::from_ref(self).addr())
    }
}

/// The limits of a request: those of its run, of its model and of the server. They are acquired in this
/// order, so that a run that waits for itself holds no shared permits.
#[derive(Clone, Copy, Debug)]
pub struct Gates<'a> {
    /// The run of the request.
    pub lane: &'a Lane,
    /// The limit of its model.
    pub model: Option<&'a Gate>,
    /// The limit of all models together.
    pub all: Option<&'a Gate>,
}

/// The permits of a request in flight.
#[derive(Debug, Default)]
pub struct GatePermits {
    _own: Option<Permit>,
    _model: Option<Permit>,
    _all: Option<Permit>,
}

impl Gates<'_> {
    /// Whether there is no limit.
    #[must_use]
    pub fn are_open(&self) -> bool {
        self.lane.own.is_none() && self.model.is_none() && self.all.is_none()
    }

    /// Waits for all permits. They are held until the returned value is dropped. Dropping the future
    /// leaves the queues and returns the permits.
    pub async fn pass(&self) -> GatePermits {
        let lane = self.lane.id();
        GatePermits {
            _own: through(self.lane.own.as_ref(), lane).await,
            _model: through(self.model, lane).await,
            _all: through(self.all, lane).await,
        }
    }
}

async fn through(gate: Option<&Gate>, lane: LaneId) -> Option<Permit> {
    match gate {
        Some(gate) => Some(gate.pass(lane).await),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::time::Duration;

    use futures_util::future::{BoxFuture, FutureExt, join_all};
    use proptest::prelude::*;
    use tokio::time::{Instant, sleep};

    use super::*;

    /// Holds a permit for a second; returns when it ended.
    async fn second(lane: &Lane, gate: &Gate) -> u64 {
        let start = Instant::now();
        let gates = Gates { lane, model: Some(gate), all: None };
        let passed = gates.pass().await;
        sleep(Duration::from_secs(1)).await;
        drop(passed);
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_does_not_wait_for_a_thousand_of_another_run() {
        let (gate, busy, modest) = (Gate::of(1), Lane::default(), Lane::default());
        let all = join_all((0..1_000).map(|_| second(&busy, &gate)));
        let (all, one) = tokio::join!(all, second(&modest, &gate));
        assert_eq!(one, 3, "after the request in flight and the next one of the other run");
        assert_eq!(all.last(), Some(&1_001));
    }

    #[tokio::test(start_paused = true)]
    async fn runs_take_turns_and_each_is_in_order() {
        let (gate, lanes) = (Gate::of(2), [Lane::default(), Lane::default(), Lane::default()]);
        let of = |lane: usize, count: usize| {
            join_all((0..count).map(|_| second(&lanes[lane], &gate)).collect::<Vec<_>>())
        };
        let (first, other, third) = tokio::join!(of(0, 6), of(1, 3), of(2, 1));
        assert_eq!((first, other, third), (vec![1, 1, 2, 3, 4, 5], vec![2, 4, 5], vec![3]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_of_a_run_does_not_delay_other_runs() {
        let (gate, narrow, wide) = (Gate::of(3), Lane::limited(Some(1)), Lane::default());
        let narrow = join_all((0..3).map(|_| second(&narrow, &gate)));
        let wide = join_all((0..4).map(|_| second(&wide, &gate)));
        let (narrow, wide) = tokio::join!(narrow, wide);
        assert_eq!((narrow, wide), (vec![1, 2, 3], vec![1, 1, 2, 2]));
    }

    #[tokio::test]
    async fn a_dropped_request_passes_its_permit_on() {
        let (gate, lane) = (Gate::of(1), Lane::default());
        let held = gate.pass(lane.id()).await;
        let mut places: Vec<_> = (0..3).map(|_| Box::pin(gate.pass(lane.id()))).collect();
        assert!(places.iter_mut().all(|place| place.now_or_never().is_none()));
        drop(places.remove(0));
        drop(held);
        // The second one has received the permit and was never polled.
        drop(places.remove(0));
        assert!(places.remove(0).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_lower_limit_ends_nothing_and_a_higher_one_admits_those_that_wait() {
        let (gate, lane) = (Gate::of(4), Lane::default());
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(gate.pass(lane.id()).await);
        }
        gate.set_current_limit(1);
        assert_eq!((gate.current_limit(), gate.limit()), (1, 4));
        let mut places: Vec<_> = (0..4).map(|_| Box::pin(gate.pass(lane.id()))).collect();
        assert!(places.iter_mut().all(|place| place.now_or_never().is_none()));
        assert_eq!(gate.load(), GateLoad { in_flight: 3, waiting: 4 });
        held.truncate(1);
        assert_eq!(
            gate.load(),
            GateLoad { in_flight: 1, waiting: 4 },
            "two permits are not passed on"
        );
        gate.set_current_limit(3);
        let passed: Vec<_> = places.iter_mut().filter_map(FutureExt::now_or_never).collect();
        assert_eq!((passed.len(), gate.load().waiting), (2, 2));
        for (asked, current) in [(0, 1), (9, 4)] {
            gate.set_current_limit(asked);
            assert_eq!(gate.current_limit(), current);
        }
    }

    #[test]
    fn without_a_limit_no_request_waits() {
        let lane = Lane::limited(None);
        let gates = Gates { lane: &lane, model: None, all: None };
        assert!(gates.are_open() && gates.pass().now_or_never().is_some());
    }

    /// An action on the requests of a few runs.
    #[derive(Clone, Debug)]
    enum GateAction {
        Ask(usize),
        Look(usize),
        Leave(usize),
        End(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<GateAction>> {
        let step = (0..4_usize, 0..64_usize).prop_map(|(step, which)| match step {
            0 => GateAction::Ask(which),
            1 => GateAction::Look(which),
            2 => GateAction::Leave(which),
            _ => GateAction::End(which),
        });
        prop::collection::vec(step, 1..200)
    }

    /// Removes the element that the number selects.
    fn take<T>(list: &mut Vec<T>, which: usize) -> Option<T> {
        (!list.is_empty()).then(|| list.remove(which % list.len()))
    }

    proptest! {
        #[test]
        fn the_limit_holds_and_no_request_waits_for_a_free_permit(
            steps in steps(), limit in 1..4_u32
        ) {
            let (gate, lanes) = (Gate::of(limit), [const { Lane { own: None } }; 4]);
            let mut waiting: Vec<BoxFuture<'_, Permit>> = Vec::new();
            let mut held: Vec<Permit> = Vec::new();
            for step in steps {
                match step {
                    GateAction::Ask(lane) => {
                        let mut place = gate.pass(lanes[lane % 4].id()).boxed();
                        match Pin::new(&mut place).now_or_never() {
                            Some(permit) => held.push(permit),
                            None => waiting.push(place),
                        }
                    }
                    GateAction::Look(which) => if let Some(mut place) = take(&mut waiting, which) {
                        match Pin::new(&mut place).now_or_never() {
                            Some(permit) => held.push(permit),
                            None => waiting.push(place),
                        }
                    },
                    GateAction::Leave(which) => drop(take(&mut waiting, which)),
                    GateAction::End(which) => drop(take(&mut held, which)),
                }
                prop_assert!(held.len() <= limit as usize);
            }
            // Every request that still waits gets a permit eventually.
            while !waiting.is_empty() {
                let before = waiting.len();
                let looked = std::mem::take(&mut waiting);
                for mut place in looked {
                    match Pin::new(&mut place).now_or_never() {
                        Some(permit) => held.push(permit),
                        None => waiting.push(place),
                    }
                }
                prop_assert!(held.len() <= limit as usize);
                prop_assert!(waiting.len() < before || held.len() == limit as usize);
                held.clear();
            }
            drop(held);
            let queue = gate.queue();
            prop_assert!(queue.in_flight == 0 && queue.waiting.is_empty() && queue.turns.is_empty());
        }

        #[test]
        fn a_request_dropped_between_gates_returns_its_permits(
            steps in steps(), limits in (1..3_u32, 1..4_u32, 1..4_u32)
        ) {
            let (own, model, all) = (limits.0, Gate::of(limits.1), Gate::of(limits.2));
            let lanes = [(); 4].map(|()| Lane::limited(Some(own)));
            let through =
                |lane: usize| Gates { lane: &lanes[lane], model: Some(&model), all: Some(&all) };
            let gates: Vec<Gates<'_>> = (0..4).map(through).collect();
            let mut waiting: Vec<(usize, BoxFuture<'_, GatePermits>)> = Vec::new();
            let mut held: Vec<(usize, GatePermits)> = Vec::new();
            for step in steps {
                let looked = match step {
                    GateAction::Ask(lane) => Some((lane % 4, gates[lane % 4].pass().boxed())),
                    GateAction::Look(which) => take(&mut waiting, which),
                    GateAction::Leave(which) => take(&mut waiting, which).and(None),
                    GateAction::End(which) => take(&mut held, which).and(None),
                };
                if let Some((lane, mut place)) = looked {
                    match Pin::new(&mut place).now_or_never() {
                        Some(passed) => held.push((lane, passed)),
                        None => waiting.push((lane, place)),
                    }
                }
                let limit = model.limit().min(all.limit()) as usize;
                prop_assert!(held.len() <= limit);
                for lane in 0..4 {
                    let own_held = held.iter().filter(|(of, _)| *of == lane).count();
                    prop_assert!(own_held <= own as usize);
                }
            }
            drop((waiting, held));
            let owns = lanes.iter().filter_map(|lane| lane.own.as_ref());
            for gate in owns.chain([&model, &all]) {
                prop_assert_eq!(gate.load(), GateLoad::default());
            }
        }
    }
}
