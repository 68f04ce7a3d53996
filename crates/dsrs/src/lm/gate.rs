//! How many requests may be on their way at a time, and whose turn is next: those that have to wait
//! stand in line by run, and the runs take turns, so that a run with a thousand requests keeps
//! another waiting for no longer than one with a single request does. Knows nothing of what is
//! requested.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A limit that runs share. Cheap to clone: the clones are one gate.
#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    limit: u32,
    line: Mutex<Line>,
}

/// Who waits. While anybody does, nothing is free.
#[derive(Default)]
struct Line {
    free: u32,
    /// The runs of which somebody waits, the next one first.
    turns: VecDeque<LaneId>,
    waiting: HashMap<LaneId, VecDeque<oneshot::Sender<Permit>>>,
}

impl Line {
    fn join(&mut self, lane: LaneId) -> oneshot::Receiver<Permit> {
        let (place, called) = oneshot::channel();
        let own = self.waiting.entry(lane).or_default();
        if own.is_empty() {
            self.turns.push_back(lane);
        }
        own.push_back(place);
        called
    }

    /// The next one in line who has not left it; its run goes to the end.
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

/// The right to be on the way through a gate; dropped, it goes to the next in line.
#[derive(Debug)]
pub struct Permit(Gate);

impl Gate {
    /// A gate that lets so many through at a time, at least one.
    #[must_use]
    pub fn of(limit: u32) -> Self {
        let limit = limit.max(1);
        Self(Arc::new(Shared { limit, line: Mutex::new(Line { free: limit, ..Line::default() }) }))
    }

    /// How many it lets through at a time.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.0.limit
    }

    /// Waits for the lane's turn. Dropping the future leaves the line.
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
        let mut line = self.line();
        if line.free == 0 {
            return Err(line.join(lane));
        }
        line.free -= 1;
        Ok(Permit(self.clone()))
    }

    /// Whom a permit goes to that was given back. It stays free when nobody waits.
    fn next(&self) -> Option<oneshot::Sender<Permit>> {
        let mut line = self.line();
        let next = line.next();
        if next.is_none() {
            line.free += 1;
        }
        next
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("limit", &self.0.limit).finish_non_exhaustive()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(next) = self.0.next() {
            // Whoever leaves at this very moment drops the permit, which hands it on again.
            drop(next.send(Self(self.0.clone())));
        }
    }
}

/// What the requests of one run stand in line as, and how many of them may be on their way.
#[derive(Debug, Default)]
pub struct Lane {
    own: Option<Gate>,
}

/// Tells runs apart that wait at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LaneId(usize);

impl Lane {
    /// A run whose requests are limited themselves, or only together with those of others.
    #[must_use]
    pub fn limited(limit: Option<u32>) -> Self {
        Self { own: limit.map(Gate::of) }
    }

    /// Its place in memory, which nothing else takes while it has requests in line.
    fn id(&self) -> LaneId {
        LaneId(std::ptr::from_ref(self).addr())
    }
}

/// The gates before a request: its run's, its model's, the server's. They are passed in this order, so
/// that what others share is not kept from them by a run that waits for itself.
#[derive(Clone, Copy, Debug)]
pub struct Gates<'a> {
    /// The run.
    pub lane: &'a Lane,
    /// The limit of its model.
    pub model: Option<&'a Gate>,
    /// The limit of all models together.
    pub all: Option<&'a Gate>,
}

/// The permits of a request on its way.
#[derive(Debug, Default)]
pub struct GatePermits {
    _own: Option<Permit>,
    _model: Option<Permit>,
    _all: Option<Permit>,
}

impl Gates<'_> {
    /// Whether there is no limit at all.
    #[must_use]
    pub fn are_open(&self) -> bool {
        self.lane.own.is_none() && self.model.is_none() && self.all.is_none()
    }

    /// Waits until the request may be sent; it may be on its way for as long as what comes back is
    /// kept. Dropping the future gives up every place and permit.
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

    /// Passes one gate and takes a second; tells when it was done.
    async fn second(lane: &Lane, gate: &Gate) -> u64 {
        let start = Instant::now();
        let gates = Gates { lane, model: Some(gate), all: None };
        let passed = gates.pass().await;
        sleep(Duration::from_secs(1)).await;
        drop(passed);
        start.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_with_one_request_does_not_wait_for_the_thousand_of_another() {
        let (gate, busy, modest) = (Gate::of(1), Lane::default(), Lane::default());
        let all = join_all((0..1_000).map(|_| second(&busy, &gate)));
        let (all, one) = tokio::join!(all, second(&modest, &gate));
        assert_eq!(one, 3, "after the request on its way and the next of the other run");
        assert_eq!(all.last(), Some(&1_001));
    }

    #[tokio::test(start_paused = true)]
    async fn runs_take_turns_and_each_keeps_its_own_order() {
        let (gate, lanes) = (Gate::of(2), [Lane::default(), Lane::default(), Lane::default()]);
        let of = |lane: usize, count: usize| {
            join_all((0..count).map(|_| second(&lanes[lane], &gate)).collect::<Vec<_>>())
        };
        let (first, other, third) = tokio::join!(of(0, 6), of(1, 3), of(2, 1));
        assert_eq!((first, other, third), (vec![1, 1, 2, 3, 4, 5], vec![2, 4, 5], vec![3]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_has_a_limit_of_its_own_and_keeps_no_other_waiting_with_it() {
        let (gate, narrow, wide) = (Gate::of(3), Lane::limited(Some(1)), Lane::default());
        let narrow = join_all((0..3).map(|_| second(&narrow, &gate)));
        let wide = join_all((0..4).map(|_| second(&wide, &gate)));
        let (narrow, wide) = tokio::join!(narrow, wide);
        assert_eq!((narrow, wide), (vec![1, 2, 3], vec![1, 1, 2, 2]));
    }

    #[tokio::test]
    async fn who_leaves_the_line_gives_the_place_back_and_so_does_who_leaves_when_called() {
        let (gate, lane) = (Gate::of(1), Lane::default());
        let held = gate.pass(lane.id()).await;
        let mut places: Vec<_> = (0..3).map(|_| Box::pin(gate.pass(lane.id()))).collect();
        assert!(places.iter_mut().all(|place| place.now_or_never().is_none()));
        drop(places.remove(0));
        drop(held);
        // The second was called and never looked.
        drop(places.remove(0));
        assert!(places.remove(0).now_or_never().is_some());
    }

    #[test]
    fn where_there_is_no_limit_nobody_waits() {
        let lane = Lane::limited(None);
        let gates = Gates { lane: &lane, model: None, all: None };
        assert!(gates.are_open() && gates.pass().now_or_never().is_some());
    }

    /// What happens to the requests of a few runs.
    #[derive(Clone, Debug)]
    enum Step {
        Ask(usize),
        Look(usize),
        Leave(usize),
        End(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = (0..4_usize, 0..64_usize).prop_map(|(step, which)| match step {
            0 => Step::Ask(which),
            1 => Step::Look(which),
            2 => Step::Leave(which),
            _ => Step::End(which),
        });
        prop::collection::vec(step, 1..200)
    }

    /// Takes out one of a list, whichever the number says.
    fn take<T>(list: &mut Vec<T>, which: usize) -> Option<T> {
        (!list.is_empty()).then(|| list.remove(which % list.len()))
    }

    proptest! {
        #[test]
        fn no_more_pass_than_may_and_nobody_waits_for_a_free_place(
            steps in steps(), limit in 1..4_u32
        ) {
            let (gate, lanes) = (Gate::of(limit), [const { Lane { own: None } }; 4]);
            let mut waiting: Vec<BoxFuture<'_, Permit>> = Vec::new();
            let mut held: Vec<Permit> = Vec::new();
            for step in steps {
                match step {
                    Step::Ask(lane) => {
                        let mut place = gate.pass(lanes[lane % 4].id()).boxed();
                        match Pin::new(&mut place).now_or_never() {
                            Some(permit) => held.push(permit),
                            None => waiting.push(place),
                        }
                    }
                    Step::Look(which) => if let Some(mut place) = take(&mut waiting, which) {
                        match Pin::new(&mut place).now_or_never() {
                            Some(permit) => held.push(permit),
                            None => waiting.push(place),
                        }
                    },
                    Step::Leave(which) => drop(take(&mut waiting, which)),
                    Step::End(which) => drop(take(&mut held, which)),
                }
                prop_assert!(held.len() <= limit as usize);
            }
            // Whoever still waits and looks often enough is let through, by and by.
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
            let line = gate.line();
            prop_assert!(line.free == limit && line.waiting.is_empty() && line.turns.is_empty());
        }

        #[test]
        fn whoever_leaves_between_two_gates_gives_back_what_was_passed_already(
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
                    Step::Ask(lane) => Some((lane % 4, gates[lane % 4].pass().boxed())),
                    Step::Look(which) => take(&mut waiting, which),
                    Step::Leave(which) => take(&mut waiting, which).and(None),
                    Step::End(which) => take(&mut held, which).and(None),
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
                prop_assert_eq!(gate.line().free, gate.limit());
            }
        }
    }
}
