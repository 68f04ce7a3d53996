//! Pictures by the content that they show: a memo of a pure function. Bounded by how much they draw.

use std::sync::{Arc, LazyLock};

use dsrs::graph::Program;
use moka::sync::Cache;

use super::Drawing;
use super::opened::Opened;

/// How many boxes and edges all cached pictures have together.
const CAPACITY: u64 = 100_000;

static DRAWINGS: LazyLock<Cache<String, Arc<Drawing>>> = LazyLock::new(|| {
    let weight =
        |_: &String, drawing: &Arc<Drawing>| u32::try_from(drawing.weight()).unwrap_or(u32::MAX);
    Cache::builder().weigher(weight).max_capacity(CAPACITY).build()
});

/// The picture of a program; it is laid out once for each version, however many ask.
pub(crate) fn drawing(program: &Program, opened: &Opened) -> Arc<Drawing> {
    DRAWINGS.get_with(opened.key(program.content_hash()), || Arc::new(Drawing::of(program, opened)))
}
