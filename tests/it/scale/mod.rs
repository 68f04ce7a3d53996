//! Every kind of work at once on three servers, while servers, nodes of the engine, Postgres and networks fail at
//! random: nothing accepted is lost, nothing ends twice, no completed node calls the LM again, sums equal rows.
//!
//! `DSRS_SCALE=full` makes it larger (`size.rs`), `DSRS_SCALE_SEED` selects another order of faults.

mod attempts;
mod audit;
mod caller;
mod cancellations;
mod checks;
mod clock;
mod engine;
mod faults;
mod graphs;
mod item_checks;
mod items;
mod lm;
mod optimization;
mod pace;
mod postgres;
mod request_checks;
mod restate;
mod runs;
mod servers;
mod signals;
mod size;
mod world;

use engine::EngineKind;
use world::World;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_accepted_is_lost_and_nothing_ends_twice_whatever_fails() {
    survives(EngineKind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_accepted_is_lost_and_nothing_ends_twice_with_restate() {
    survives(EngineKind::Restate).await;
}

async fn survives(kind: EngineKind) {
    let world = World::start(kind).await;
    let injecting = world.inject_faults();
    let done = world.accept_work().await;
    injecting.await.unwrap();
    world.end_unknown_work(&done).await;
    world.ended().await;
    world.check(&done).await;
}
