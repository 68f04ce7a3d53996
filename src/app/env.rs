//! What building a graph may refer to: strictly when it is written, leniently when it is loaded. A
//! stored graph always loads; what is gone by then only fails its execution.

use dsrs::lm::Models;
use dsrs::strategy::BuildEnv;

/// For definitions and states that are being written: names must be known now.
pub struct WriteEnv<'a>(pub &'a Models);

impl BuildEnv for WriteEnv<'_> {
    fn knows_model(&self, alias: &str) -> bool {
        self.0.knows(alias)
    }
}

/// For definitions and states that were accepted before.
pub struct StoredEnv;

impl BuildEnv for StoredEnv {
    fn knows_model(&self, _alias: &str) -> bool {
        true
    }
}
