//! How much work there is, and how often things fail.

use std::time::Duration;

/// The size of a test.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub diamonds: usize,
    pub batches: usize,
    /// Items of each batch.
    pub items: usize,
    /// Examples of each evaluation.
    pub examples: usize,
    /// Examples of the optimization.
    pub trainset: usize,
    /// Runs that wait for a value.
    pub waiting: usize,
    /// Runs with an `Idempotency-Key`.
    pub keyed: usize,
    /// Runs that are cancelled.
    pub cancelled: usize,
    /// How often each server is killed.
    pub kills: usize,
    /// How often each node of the engine is killed, if it has nodes.
    pub node_kills: usize,
    /// How often a server loses its engine.
    pub cuts: usize,
    /// How long Postgres is stopped.
    pub outage: Duration,
}

/// A lease of the servers. If a busy machine delays its renewal, an attempt is lost, and another one follows.
pub const LEASE: Duration = Duration::from_secs(8);

/// The jobs that a server works on at a time.
pub const AT_ONCE: usize = 16;

/// The items of a batch, examples of an evaluation or rollouts of an optimization that a server works on at a time.
pub const ITEMS_AT_ONCE: usize = 8;

const SMALL: Size = Size {
    diamonds: 120,
    batches: 3,
    items: 120,
    examples: 60,
    trainset: 100,
    waiting: 8,
    keyed: 6,
    cancelled: 6,
    kills: 2,
    node_kills: 1,
    cuts: 2,
    outage: Duration::from_secs(3),
};

const FULL: Size = Size {
    diamonds: 500,
    batches: 5,
    items: 2000,
    examples: 500,
    trainset: 200,
    waiting: 20,
    keyed: 20,
    cancelled: 20,
    kills: 5,
    node_kills: 2,
    cuts: 4,
    outage: Duration::from_secs(10),
};

/// The size that `DSRS_SCALE` asks for.
pub fn size() -> Size {
    match std::env::var("DSRS_SCALE").as_deref() {
        Ok("full") => FULL,
        Ok("small") | Err(_) => SMALL,
        Ok(other) => panic!("DSRS_SCALE is {other}, neither full nor small"),
    }
}
