//! Promises about requests to the model: what is stored is never asked for again, and what is asked for again was in
//! flight when something failed.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::graphs::AFTER;
use super::lm::Request;
use super::servers::SERVERS;
use super::size::{AT_ONCE, ITEMS_AT_ONCE};
use super::world::World;

/// Nodes of one run that ask the model at the same time.
const NODES_AT_ONCE: usize = 2;

/// Jobs of many items that a server works on at the same time: all batches, evaluations and the optimization.
const JOBS_OF_ITEMS: usize = 2;

impl World {
    /// A node asks the model once its predecessors have checkpoints, and those never ask again.
    pub(super) fn no_node_asks_again_after_a_successor(&self) {
        let requests = self.lm.requests();
        let mut seen: HashSet<(&str, &str)> = HashSet::new();
        for request in &requests {
            for (later, after) in AFTER {
                let again = after.contains(&request.node) && seen.contains(&(&request.mark, later));
                assert!(
                    !again,
                    "`{}` asks again after `{later}`: {:#?}",
                    request.node,
                    self.timeline(&requests, request)
                );
            }
            seen.insert((&request.mark, request.node));
        }
    }

    /// How many requests the faults may have lost: those in flight at each server.
    pub(super) fn may_be_lost(&self) -> usize {
        let items = JOBS_OF_ITEMS + self.size.batches;
        self.faults.losses() * (AT_ONCE * NODES_AT_ONCE + items * ITEMS_AT_ONCE)
    }

    /// A request that was answered is sent again only if its answer was lost with a fault.
    pub(super) fn repeated_requests_are_those_in_flight_at_a_fault(&self) {
        let mut last: HashMap<(&str, u64), &Request> = HashMap::new();
        let (mut again, mut stored) = (BTreeMap::<&str, usize>::new(), Vec::new());
        let requests = self.lm.requests();
        for request in requests.iter().filter(|request| request.answered) {
            let Some(lost) = last.insert((request.node, request.prompt), request) else { continue };
            *again.entry(request.node).or_default() += 1;
            // An attempt at an optimization ends the parts of its helpers, with their requests in flight.
            let mut servers = match request.node {
                "optimized" => 0..SERVERS,
                _ => lost.server..lost.server + 1,
            };
            if !servers.any(|server| self.faults.may_lose(server, lost.at)) {
                stored.push(self.timeline(&requests, request));
            }
        }
        let (total, most): (usize, _) = (again.values().sum(), self.may_be_lost());
        println!(
            "{} requests, {total} for lost answers (at most {most}): {again:?}",
            requests.len()
        );
        assert!(
            stored.is_empty(),
            "{} requests for answers that were stored: {stored:#?}",
            stored.len()
        );
        assert!(total <= most);
    }

    /// The faults were faults: work of one server was continued by another.
    pub(super) fn work_was_continued_by_other_servers(&self) {
        let mut servers: HashMap<String, HashSet<usize>> = HashMap::new();
        for request in self.lm.requests() {
            if AFTER.iter().any(|(_, after)| after.contains(&request.node))
                || request.node == "join"
            {
                servers.entry(request.mark).or_default().insert(request.server);
            }
        }
        let continued = servers.values().filter(|servers| servers.len() > 1).count();
        println!("{continued} runs were continued by another server");
        assert!(continued > 0);
    }

    /// The requests of the same work and node, with their times.
    fn timeline(&self, requests: &[Request], of: &Request) -> Vec<String> {
        let show = |one: &Request| {
            let answer = if one.answered { "answered" } else { "failed" };
            format!("{:.1} s: server {} {} {answer}", self.seconds(one.at), one.server, one.node)
        };
        let same = |one: &&Request| {
            one.mark == of.mark && (one.prompt == of.prompt || one.node != of.node)
        };
        requests.iter().filter(same).map(show).collect()
    }
}
