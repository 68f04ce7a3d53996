//! How servers share the limit of concurrent requests to a model. Each server promises a cap to the others, and
//! raises its own only by what their caps leave free. Announcements arrive everywhere in one order, so a raise counts
//! once its own announcement has arrived: the first one wins, and the caps in use do not exceed the limit together,
//! except by the one request that every server may always send. May not know how announcements travel.

use std::collections::BTreeMap;

use uuid::Uuid;

/// What a server announces of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelLoad {
    /// The requests in flight, and those that wait.
    pub(crate) demand: u32,
    /// It has at most this many requests in flight until it announces more.
    pub(crate) cap: u32,
}

/// The part of a limit that a server may use.
#[derive(Clone, Debug)]
pub(crate) struct LimitShare {
    server: Uuid,
    limit: u32,
    /// As it was announced last.
    announced: ModelLoad,
    /// The cap in use.
    current: u32,
    others: BTreeMap<Uuid, ModelLoad>,
}

impl LimitShare {
    /// The share of a server that knows no others yet.
    pub(crate) fn new(server: Uuid, limit: u32) -> Self {
        let announced = ModelLoad { demand: 0, cap: 1 };
        Self { server, limit, announced, current: 1, others: BTreeMap::new() }
    }

    /// The most requests that may be in flight now.
    pub(crate) fn current(&self) -> u32 {
        self.current
    }

    /// As it was announced last.
    pub(crate) fn announced(&self) -> ModelLoad {
        self.announced
    }

    /// What to announce next. A lower cap is in use at once; a higher one when it was announced, and
    /// [`LimitShare::receive`] has the announcement. Unless `raises`, the cap does not rise.
    pub(crate) fn plan(&mut self, demand: u32, in_flight: u32, raises: bool) -> ModelLoad {
        let share = self.fair_share(demand);
        // Never 0: every server may always send one request.
        self.current = self.current.min(share).max(1);
        let promised = self.others.values().map(|load| load.cap).fold(0, u32::saturating_add);
        let free = self.limit.saturating_sub(promised);
        let raised = if raises { share.min(free) } else { 0 };
        // Requests in flight count until they have ended.
        ModelLoad { demand, cap: self.current.max(raised).max(in_flight) }
    }

    /// Remembers an announcement that is sent now.
    pub(crate) fn announce(&mut self, load: ModelLoad) {
        self.announced = load;
    }

    /// Takes an announcement, of this server or another one.
    pub(crate) fn receive(&mut self, server: Uuid, load: ModelLoad) {
        if server != self.server {
            self.others.insert(server, load);
            return;
        }
        let promised =
            self.others.values().map(|load| load.cap).fold(load.cap, u32::saturating_add);
        // An announcement that was overtaken by a later one does not count.
        if load == self.announced && promised <= self.limit {
            self.current = self.current.max(load.cap.min(self.fair_share(load.demand)));
        }
    }

    /// Removes a server that has ended.
    pub(crate) fn forget(&mut self, server: Uuid) {
        self.others.remove(&server);
    }

    fn fair_share(&self, demand: u32) -> u32 {
        let others = self.others.iter().map(|(id, load)| (*id, load.demand));
        let demands = others.chain([(self.server, demand)]).collect();
        fair_shares(self.limit, demands).get(&self.server).copied().unwrap_or(1)
    }
}

/// The fair share of each server: as much as it demands if all demands fit; otherwise no server gets more than one
/// whose demand is not met. What is left is divided evenly. At least one each.
fn fair_shares(limit: u32, demands: Vec<(Uuid, u32)>) -> BTreeMap<Uuid, u32> {
    let mut ascending = demands;
    ascending.sort_by_key(|(id, demand)| (*demand, *id));
    let mut servers = u32::try_from(ascending.len()).unwrap_or(u32::MAX).max(1);
    let (count, mut left) = (servers, limit);
    let mut shares = BTreeMap::new();
    for (id, demand) in &ascending {
        // One is set aside for an idle server, too.
        let share = (*demand).max(1).min(left / servers);
        left -= share;
        servers = (servers - 1).max(1);
        shares.insert(*id, share);
    }
    let (each, mut rest) = (left / count, left % count);
    for (id, _) in ascending.iter().rev() {
        let share = shares.entry(*id).or_default();
        *share = (*share + each + u32::from(rest > 0)).max(1);
        rest = rest.saturating_sub(1);
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server(number: usize) -> Uuid {
        Uuid::from_u128(number as u128 + 1)
    }

    fn shares(limit: u32, demands: &[u32]) -> Vec<u32> {
        let of = demands.iter().enumerate().map(|(number, demand)| (server(number), *demand));
        fair_shares(limit, of.collect()).into_values().collect()
    }

    #[test]
    fn shares_follow_the_demands() {
        assert_eq!(shares(10, &[0]), [10], "a server alone has the whole limit");
        assert_eq!(shares(10, &[30]), [10]);
        assert_eq!(shares(10, &[30, 30]), [5, 5]);
        assert_eq!(shares(10, &[30, 2]), [8, 2]);
        assert_eq!(shares(10, &[30, 0]), [9, 1], "one is set aside for an idle server");
        assert_eq!(shares(12, &[0, 0, 0]), [4, 4, 4], "nobody knows which one is next");
        assert_eq!(shares(10, &[2, 2]), [5, 5]);
        assert_eq!(shares(2, &[5, 5, 5]), [1, 1, 1], "each may always send one");
        assert_eq!(shares(11, &[9, 9]).iter().sum::<u32>(), 11);
    }

    /// Announces, and receives the announcement at once.
    fn settle(share: &mut LimitShare, demand: u32, in_flight: u32) -> (u32, u32) {
        let load = share.plan(demand, in_flight, true);
        share.announce(load);
        share.receive(server(0), load);
        (share.current(), load.cap)
    }

    #[test]
    fn a_server_alone_uses_the_whole_limit() {
        let mut share = LimitShare::new(server(0), 10);
        assert_eq!(share.current(), 1, "it does not know yet that it is alone");
        assert_eq!(settle(&mut share, 0, 0), (10, 10));
    }

    #[test]
    fn a_cap_rises_only_into_what_others_have_left() {
        let mut share = LimitShare::new(server(0), 10);
        for (cap_of_other, current) in [(10, 1), (7, 3), (5, 5), (4, 5)] {
            share.receive(server(1), ModelLoad { demand: 20, cap: cap_of_other });
            assert_eq!(settle(&mut share, 9, 1).0, current, "the other has {cap_of_other}");
        }
        share.forget(server(1));
        assert_eq!(settle(&mut share, 9, 1), (10, 10));
    }

    #[test]
    fn requests_in_flight_count_until_they_have_ended() {
        let mut share = LimitShare::new(server(0), 10);
        settle(&mut share, 20, 0);
        share.receive(server(1), ModelLoad { demand: 20, cap: 1 });
        for (in_flight, cap) in [(10, 10), (7, 7), (5, 5), (2, 5)] {
            assert_eq!(settle(&mut share, 20, in_flight), (5, cap), "{in_flight} in flight");
        }
    }

    #[test]
    fn of_two_servers_that_raise_at_the_same_time_the_first_wins() {
        let mut shares = [LimitShare::new(server(0), 10), LimitShare::new(server(1), 10)];
        // Neither knows of the demand of the other.
        let loads = [0, 1].map(|server| {
            let load = shares[server].plan(10, 0, true);
            shares[server].announce(load);
            load
        });
        for share in &mut shares {
            share.receive(server(0), loads[0]);
            share.receive(server(1), loads[1]);
        }
        assert_eq!([shares[0].current(), shares[1].current()], [10, 1]);
    }

    #[derive(Clone, Debug)]
    enum Event {
        /// A server looks at its demand and announces.
        Plan(usize, u32),
        /// A server receives so many announcements.
        Receive(usize, usize),
        /// As many requests as may be are in flight; some have ended.
        End(usize, u32),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            (0..4_usize, 0..80_u32).prop_map(|(server, demand)| Event::Plan(server, demand)),
            (0..4_usize, 1..6_usize).prop_map(|(server, count)| Event::Receive(server, count)),
            (0..4_usize, 0..40_u32).prop_map(|(server, ended)| Event::End(server, ended)),
        ];
        prop::collection::vec(event, 1..300)
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_limit_and_none_starves(
            limit in 1..200_u32, demands in prop::collection::vec(0..300_u32, 1..12)
        ) {
            let shares = shares(limit, &demands);
            let count = u32::try_from(demands.len()).unwrap();
            prop_assert_eq!(shares.iter().sum::<u32>(), limit.max(count));
            for (share, demand) in shares.iter().zip(&demands) {
                prop_assert!(*share >= (*demand).min(limit / count).max(1), "less than an even part");
            }
        }

        /// However late announcements arrive: what all servers have in flight together is within the limit, and one
        /// for each of the others.
        #[test]
        fn requests_in_flight_stay_within_the_limit(limit in 4..60_u32, events in events()) {
            let mut log: Vec<(Uuid, ModelLoad)> = Vec::new();
            let mut shares: Vec<_> =
                (0..4).map(|number| LimitShare::new(server(number), limit)).collect();
            let (mut read, mut in_flight, mut demands) = ([0_usize; 4], [0_u32; 4], [0_u32; 4]);
            for event in events {
                match event {
                    Event::Plan(number, demand) => {
                        demands[number] = demand.max(in_flight[number]);
                        let load = shares[number].plan(demands[number], in_flight[number], true);
                        shares[number].announce(load);
                        log.push((server(number), load));
                    }
                    Event::Receive(number, count) => {
                        for (from, load) in log.iter().skip(read[number]).take(count) {
                            shares[number].receive(*from, *load);
                            read[number] += 1;
                        }
                    }
                    Event::End(number, ended) => in_flight[number] = in_flight[number].saturating_sub(ended),
                }
                for number in 0..4 {
                    in_flight[number] = in_flight[number].max(shares[number].current().min(demands[number]));
                }
                let sum: u32 = in_flight.iter().sum();
                prop_assert!(sum <= limit + 3, "{sum} of {limit}: {in_flight:?}");
            }
        }
    }
}
