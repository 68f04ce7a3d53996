//! What fails, in a random order. A fault ends when its consequences can be seen, not after some time.

use std::thread::sleep;
use std::time::Duration;

use tokio::runtime::Handle;

use super::servers::SERVERS;
use super::size::Size;
use super::world::World;
use super::{audit, restate};
use dsrs_test::{After, Dice, found_blocking};

/// Between two faults the model is asked this often, and up to twice as often. A part of the runs is accepted before
/// each fault, which alone ask more often.
const REQUESTS: usize = 10;

/// And so many milliseconds pass, up to twice as many: faults interrupt whatever servers do.
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

/// Injects the faults one after the other. Blocks.
pub fn inject(plan: &[Fault], world: &World, dice: &mut Dice) {
    let mut asked = 0;
    for fault in plan.iter().copied() {
        let wanted = asked + REQUESTS + dice.roll(REQUESTS);
        found_blocking("requests to the model", || (world.lm.count() >= wanted).then_some(()));
        sleep(Duration::from_millis((PAUSE + dice.roll(PAUSE)) as u64));
        world.log(&format!("{fault:?}, after {} requests", world.lm.count()));
        inject_one(fault, world, dice);
        asked = world.lm.count();
        world.lm.end_silence();
        world.pace.advance();
    }
    world.lm.end_all_silence();
}

fn inject_one(fault: Fault, world: &World, dice: &mut Dice) {
    match fault {
        Fault::KillServer(server) => {
            world.servers.kill(server);
            world.servers.restart(server);
        }
        Fault::KillNode(node) => {
            world.engine.kill_nodes(&[node]);
            world.engine.until_others_answer(node);
            world.engine.restart_nodes(&[node]);
        }
        Fault::KillAllNodes => {
            let all: Vec<usize> = (0..restate::NODES).collect();
            world.engine.kill_nodes(&all);
            world.engine.restart_nodes(&all);
        }
        Fault::StopPostgres => {
            let server = dice.roll(SERVERS);
            world.postgres.stop_for(world.size.outage, || world.servers.kill(server));
            world.servers.restart(server);
        }
        Fault::Cut(server, after) => {
            world.engine.cut(server);
            let another = (server + 1 + dice.roll(SERVERS - 1)) % SERVERS;
            world.servers.kill(another);
            world.servers.restart(another);
            until_others_have_the_work_of(server, world);
            world.engine.heal(server, after);
        }
    }
}

/// Waits until no work is left of a server that is cut off: its leases have expired, or the engine has noticed.
fn until_others_have_the_work_of(server: usize, world: &World) {
    let held = audit::held_by(server);
    found_blocking("others to continue the work of a server", || {
        let held = Handle::current().block_on(world.postgres.count(&held));
        (held == 0).then_some(())
    });
}
