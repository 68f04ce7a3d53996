//! The verbs of the service, noun first: ids, wall clocks, transactions and caches. Uses `store`
//! and the engine; knows nothing of HTTP.

pub mod metrics;
