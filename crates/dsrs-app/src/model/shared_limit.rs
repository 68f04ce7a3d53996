//! Holds `models.NAME.max_concurrent` over all servers of a database: announces the demand of this server, and lets
//! each gate admit the share of this server. May not know SQL, nor how shares are computed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{Gate, Models};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval};
use uuid::Uuid;

use crate::model::limit_share::{LimitShare, ModelLoad};
use dsrs_store::Db;
use dsrs_store::model_demand::AnnouncedLoads;

/// How often the demand is measured.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A server that starts waits for the answers of others for this long.
const FIRST_ANSWERS: Duration = Duration::from_millis(500);

/// How often a server announces that it exists, among others and alone.
const HEARTBEAT: Duration = Duration::from_secs(1);
const HEARTBEAT_ALONE: Duration = Duration::from_secs(10);

/// A server that is silent for this long has ended.
const SILENCE: Duration = Duration::from_secs(4);

/// A change of demand by less than this part of the limit is not announced.
const NEGLIGIBLE: u32 = 8;

/// A demand that has gone is announced less and less, by this part in each interval.
const DECAY: u32 = 5;

/// Shares the limits with other servers until it is dropped. Returns at once if no model has a limit.
pub(crate) async fn share_always(db: Db, models: Arc<Models>) {
    let mut shared = SharedLimits::new(&models);
    if shared.models.is_empty() {
        return;
    }
    let mut loads = db.notifications().loads();
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            received = loads.recv() => match received {
                Ok(announced) => shared.receive(&announced, Instant::now()),
                Err(RecvError::Lagged(_)) => shared.asks = true,
                Err(RecvError::Closed) => return,
            },
            _ = ticks.tick() => {
                if let Some(announced) = shared.announcement(Instant::now()) {
                    db.notifications().announce_loads(announced);
                }
            }
        }
    }
}

/// The models with a limit, and the other servers.
struct SharedLimits {
    server: Uuid,
    models: Vec<SharedModel>,
    /// When the last announcement of each other server arrived.
    others: HashMap<Uuid, Instant>,
    /// When an announcement of this server first arrived, and last.
    arrived: Option<(Instant, Instant)>,
    announced: Option<Instant>,
    /// Whether the next announcement asks others for theirs.
    asks: bool,
    /// Whether another server waits for an announcement.
    is_asked: bool,
}

struct SharedModel {
    /// Without line breaks.
    alias: String,
    gate: Gate,
    share: LimitShare,
    demand: u32,
}

impl SharedLimits {
    fn new(models: &Models) -> Self {
        let server = Uuid::now_v7();
        let answering = models.iter().map(|model| (&model.alias, &model.gate));
        let embedding = models.embedding_models().map(|model| (&model.alias, &model.gate));
        let limited = answering.chain(embedding).filter_map(|(alias, gate)| {
            let gate = gate.clone()?;
            let share = LimitShare::new(server, gate.limit());
            gate.set_current_limit(share.current());
            Some(SharedModel { alias: alias.escape_default().to_string(), gate, share, demand: 0 })
        });
        let models = limited.collect();
        let (others, arrived, announced) = (HashMap::new(), None, None);
        Self { server, models, others, arrived, announced, asks: true, is_asked: false }
    }

    fn receive(&mut self, loads: &AnnouncedLoads, now: Instant) {
        if loads.server == self.server {
            let first = self.arrived.map_or(now, |(first, _)| first);
            self.arrived = Some((first, now));
        } else {
            let is_new = self.others.insert(loads.server, now).is_none();
            self.is_asked |= is_new || loads.asks;
        }
        for (alias, demand, cap) in &loads.models {
            let model = self.models.iter_mut().find(|model| model.alias == *alias);
            if let Some(model) = model {
                model.share.receive(loads.server, ModelLoad { demand: *demand, cap: *cap });
                model.gate.set_current_limit(model.share.current());
            }
        }
    }

    /// Computes the shares. Returns what others must know.
    fn announcement(&mut self, now: Instant) -> Option<AnnouncedLoads> {
        self.forget_silent(now);
        // Until then others may have caps that this server has not received.
        let raises =
            self.arrived.is_some_and(|(first, _)| now.duration_since(first) >= FIRST_ANSWERS);
        let planned: Vec<ModelLoad> =
            self.models.iter_mut().map(|model| model.plan(raises)).collect();
        let since = self.announced.map(|announced| now.duration_since(announced));
        let is_alone = self.others.is_empty();
        let is_due = since.is_none_or(|since| {
            since >= if is_alone { HEARTBEAT_ALONE } else { HEARTBEAT } || self.is_asked
        });
        let models = || self.models.iter().zip(&planned);
        if !is_due && !models().any(|(model, load)| model.is_news(*load, is_alone)) {
            return None;
        }
        self.announced = Some(now);
        self.is_asked = false;
        let asks = std::mem::take(&mut self.asks) || self.arrived.is_none();
        let models = self.models.iter_mut().zip(planned).map(|(model, load)| {
            model.share.announce(load);
            (model.alias.clone(), load.demand, load.cap)
        });
        Some(AnnouncedLoads { server: self.server, asks, models: models.collect() })
    }

    /// Forgets servers that have ended. A server that does not receive its own announcements receives
    /// none, and forgets no server.
    fn forget_silent(&mut self, now: Instant) {
        let receives =
            self.arrived.is_some_and(|(_, last)| now.duration_since(last) < 2 * HEARTBEAT);
        if !receives {
            return;
        }
        let is_silent = |last: &mut Instant| now.duration_since(*last) >= SILENCE;
        for (server, _) in self.others.extract_if(|_, last| is_silent(last)) {
            for model in &mut self.models {
                model.share.forget(server);
            }
        }
    }
}

impl SharedModel {
    fn plan(&mut self, raises: bool) -> ModelLoad {
        let load = self.gate.load();
        let waiting = u32::try_from(load.waiting).unwrap_or(u32::MAX);
        let asked = load.in_flight.saturating_add(waiting);
        self.demand = asked.max(self.demand - self.demand.div_ceil(DECAY));
        let planned = self.share.plan(self.demand, load.in_flight, raises);
        self.gate.set_current_limit(self.share.current());
        planned
    }

    fn is_news(&self, load: ModelLoad, is_alone: bool) -> bool {
        let announced = self.share.announced();
        if announced.cap > self.share.current() && load.cap >= announced.cap {
            // A raise that was announced has yet to arrive.
            return false;
        }
        let demand = load.demand.abs_diff(announced.demand);
        let is_other_demand = demand > self.gate.limit() / NEGLIGIBLE
            || (load.demand == 0) != (announced.demand == 0);
        load.cap != announced.cap || (!is_alone && is_other_demand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use dsrs::lm::{Model, ScriptedLm};

    fn limits(limit: u32) -> SharedLimits {
        let model = Model::of("big", Arc::new(ScriptedLm::always("yes")));
        let model = Model { gate: Some(Gate::of(limit)), ..model };
        SharedLimits::new(&Models::new([model], None))
    }

    /// Passes time, and announcements to all servers in one order.
    fn pass(servers: &mut [SharedLimits], now: &mut Instant, time: Duration) -> usize {
        let (end, mut count) = (*now + time, 0);
        while *now < end {
            *now += POLL_INTERVAL;
            let announced: Vec<_> =
                servers.iter_mut().filter_map(|server| server.announcement(*now)).collect();
            count += announced.len();
            for loads in &announced {
                servers.iter_mut().for_each(|server| server.receive(loads, *now));
            }
        }
        count
    }

    fn caps(servers: &[SharedLimits]) -> Vec<u32> {
        servers.iter().map(|server| server.models[0].gate.current_limit()).collect()
    }

    #[test]
    fn a_server_alone_has_the_whole_limit_after_a_moment_and_is_quiet() {
        let (mut servers, mut now) = ([limits(40)], Instant::now());
        pass(&mut servers, &mut now, Duration::from_millis(300));
        assert_eq!(caps(&servers), [1]);
        pass(&mut servers, &mut now, Duration::from_millis(500));
        assert_eq!(caps(&servers), [40]);
        let announced = pass(&mut servers, &mut now, Duration::from_secs(60));
        assert!(announced <= 7, "{announced}");
    }

    #[test]
    fn servers_that_come_and_go_share_the_limit() {
        let mut now = Instant::now();
        let mut servers = vec![limits(40)];
        pass(&mut servers, &mut now, Duration::from_secs(2));
        servers.push(limits(40));
        servers.push(limits(40));
        pass(&mut servers, &mut now, Duration::from_secs(2));
        let shared = caps(&servers);
        assert_eq!(shared.iter().sum::<u32>(), 40, "{shared:?}");
        assert!(shared.iter().all(|cap| (13..=14).contains(cap)), "{shared:?}");
        servers.remove(0);
        pass(&mut servers, &mut now, SILENCE - Duration::from_secs(1));
        assert!(caps(&servers).iter().sum::<u32>() < 40, "it may be slow");
        pass(&mut servers, &mut now, Duration::from_secs(3));
        assert_eq!(caps(&servers), [20, 20]);
    }

    #[test]
    fn a_server_that_receives_nothing_stays_with_its_share() {
        let mut now = Instant::now();
        let mut servers = vec![limits(40), limits(40)];
        pass(&mut servers, &mut now, Duration::from_secs(2));
        let mut separate = servers.remove(0);
        for _ in 0..100 {
            now += POLL_INTERVAL;
            separate.announcement(now);
        }
        assert_eq!(caps(&[separate]), [20]);
    }
}
