//! What fails, in a random order, and when it did.

use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::servers::{SERVERS, Servers};
use super::size::{CUT, Size};
use super::world::World;
use crate::support::{After, Dice};

/// How long the consequences of an outage may take: servers connect again, and caches are confirmed.
const RECOVERY: Duration = Duration::from_secs(6);

/// How long a request and the storage of its answer take on a busy machine.
const STORED_WITHIN: Duration = Duration::from_secs(5);

/// Between two faults there are this many milliseconds, and up to twice as many.
const PAUSE: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    KillServer(usize),
    KillNode(usize),
    KillAllNodes,
    StopPostgres,
    /// Nothing passes between a server and the engine.
    Cut(usize, After),
}

/// A fault that was injected, and when.
#[derive(Clone, Copy, Debug)]
struct Injected {
    fault: Fault,
    from: Instant,
    /// Nothing while it lasts.
    to: Option<Instant>,
}

/// What has failed so far.
#[derive(Default)]
pub struct Faults {
    injected: Mutex<Vec<Injected>>,
}

/// All faults of a test in a random order.
pub fn plan(size: &Size, nodes: usize, dice: &mut Dice) -> Vec<Fault> {
    let mut plan: Vec<Fault> = (0..SERVERS * size.kills)
        .map(|number| Fault::KillServer(number % SERVERS))
        .chain((0..nodes * size.node_kills).map(|number| Fault::KillNode(number % nodes)))
        .chain((nodes > 0).then_some(Fault::KillAllNodes))
        .chain([Fault::StopPostgres])
        .chain((0..size.cuts).map(|number| {
            let after = [After::Late, After::Broken][number % 2];
            Fault::Cut(dice.roll(SERVERS), after)
        }))
        .collect();
    dice.shuffle(&mut plan);
    plan
}

impl Injected {
    /// Whether it concerns a server. What fails besides servers concerns all of them.
    fn is_of(&self, server: usize) -> bool {
        !matches!(self.fault,
            Fault::KillServer(other) | Fault::Cut(other, _) if other != server)
    }

    /// When its consequences were over.
    fn recovered(&self) -> Option<Instant> {
        match self.fault {
            Fault::KillServer(_) => self.to,
            _ => self.to.map(|to| to + RECOVERY),
        }
    }
}

impl Faults {
    /// Injects the faults one after the other. Blocks.
    pub fn inject(&self, plan: &[Fault], world: &World, dice: &mut Dice) {
        for fault in plan.iter().copied() {
            sleep(Duration::from_millis((PAUSE + dice.roll(PAUSE)) as u64));
            world.log(&format!("{fault:?}, after {} requests", world.lm.count()));
            let number = self.begin(fault);
            match fault {
                Fault::KillServer(server) => {
                    world.servers.kill(server);
                    world.servers.restart(server);
                }
                Fault::KillNode(node) => {
                    world.engine.kill_nodes(&[node]);
                    sleep(Duration::from_secs(2));
                    world.engine.restart_nodes(&[node]);
                }
                Fault::KillAllNodes => {
                    let all: Vec<usize> = (0..world.engine.nodes()).collect();
                    world.engine.kill_nodes(&all);
                    world.engine.restart_nodes(&all);
                }
                Fault::StopPostgres => {
                    let server = dice.roll(SERVERS);
                    let kill = || self.kill(&world.servers, server);
                    world.postgres.stop_for(world.size.outage, kill);
                    world.servers.restart(server);
                }
                Fault::Cut(server, after) => {
                    world.engine.cut(server);
                    sleep(CUT / 2);
                    let another = (server + 1 + dice.roll(SERVERS - 1)) % SERVERS;
                    self.kill(&world.servers, another);
                    world.servers.restart(another);
                    sleep(CUT / 2);
                    world.engine.heal(server, after);
                }
            }
            self.injected.lock().unwrap()[number].to = Some(Instant::now());
            world.pace.advance();
        }
    }

    /// Kills a server while something else fails.
    fn kill(&self, servers: &Servers, server: usize) {
        let number = self.begin(Fault::KillServer(server));
        servers.kill(server);
        self.injected.lock().unwrap()[number].to = Some(Instant::now());
    }

    fn begin(&self, fault: Fault) -> usize {
        let mut injected = self.injected.lock().unwrap();
        injected.push(Injected { fault, from: Instant::now(), to: None });
        injected.len() - 1
    }

    /// Whether a fault since then concerned this server: it was killed, or its database or engine failed.
    pub fn concerned(&self, server: usize, since: Instant) -> bool {
        self.any(|one| one.is_of(server) && one.recovered().is_none_or(|end| end >= since))
    }

    /// Whether the answer to a request of this server may be lost: a fault concerned it before the answer was stored.
    pub fn may_lose(&self, server: usize, asked: Instant) -> bool {
        let stored = asked + STORED_WITHIN;
        self.any(|one| {
            let over = one.recovered().is_some_and(|end| end < asked);
            one.is_of(server) && one.from <= stored && !over
        })
    }

    fn any(&self, holds: impl FnMut(&Injected) -> bool) -> bool {
        self.injected.lock().unwrap().iter().any(holds)
    }

    /// How many faults lost the requests that a server or a node had in flight.
    pub fn losses(&self) -> usize {
        self.injected.lock().unwrap().len()
    }
}
