//! From a graph document to a checked graph: read, resolve, infer, check. Knows documents and the
//! strategy registry; knows nothing of runs.

mod document;
mod infer;
mod own_signature;
mod resolve;
mod type_size;

pub use document::{MAX_EDGES, MAX_NODES};
