//! Promises about requests to the model: what is stored is never asked for again, and what is asked for again is asked
//! by another attempt.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::attempts::Attempts;
use super::graphs::{AFTER, NODES_OF_ITEMS};
use super::lm::Request;
use super::world::World;

impl World {
    /// A node calls the LM once its predecessors have checkpoints, and an attempt that begins then never asks for
    /// those. An earlier attempt may: one that was cut off and has lost its work without knowing it.
    pub(super) fn no_node_asks_again_after_a_successor(&self, attempts: &Attempts) {
        let requests = self.lm.requests();
        let mut first: HashMap<(&str, &str), &Request> = HashMap::new();
        for request in &requests {
            let successors = AFTER.iter().filter(|(_, after)| after.contains(&request.node));
            for (later, _) in successors {
                let Some(successor) = first.get(&(&*request.mark, *later)) else { continue };
                // The attempt that asked for the successor is another one.
                let needed = 1 + usize::from(successor.server == request.server);
                let until = self.time(successor.at);
                assert!(
                    attempts.begun_by(&request.mark, request.server, until) >= needed,
                    "`{}` asks again after `{later}`: {:#?}",
                    request.node,
                    self.timeline(&requests, request)
                );
            }
            first.entry((&request.mark, request.node)).or_insert(request);
        }
    }

    /// An attempt at a run asks once for what is answered. So does an attempt at a job of many items, until it is lost.
    pub(super) fn only_another_attempt_asks_again(&self, attempts: &Attempts) {
        let mut asked: HashMap<(&str, u64, Option<usize>), usize> = HashMap::new();
        let (mut again, mut unexplained) = (BTreeMap::<&str, usize>::new(), Vec::new());
        let mut seen = HashSet::new();
        let requests = self.lm.requests();
        for request in requests.iter().filter(|request| request.answered) {
            let (node, mark, at) = (request.node, &request.mark, self.time(request.at));
            let is_item = NODES_OF_ITEMS.contains(&node);
            let server = Some(request.server).filter(|_| !is_item);
            let times = asked.entry((node, request.prompt, server)).or_default();
            *times += 1;
            let most = match is_item {
                true => attempts.askable(node, mark, at),
                false => attempts.begun_by(mark, request.server, at),
            };
            let is_new = seen.insert((node, request.prompt));
            *again.entry(node).or_default() += usize::from(!is_new);
            if *times > most {
                unexplained.push((*times, most, self.timeline(&requests, request)));
            }
        }
        println!("{} requests, of them by further attempts: {again:?}", requests.len());
        assert!(unexplained.is_empty(), "attempts ask again for answers: {unexplained:#?}");
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
