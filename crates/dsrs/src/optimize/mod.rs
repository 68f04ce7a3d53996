//! Improving what is tuned: examples, metrics, the engine on which all evaluation stands, and
//! optimizers, one file each. Knows programs and models; knows nothing of where datasets, scores and
//! states are stored.

mod example;
mod metric;
mod score;
mod step;

pub use example::Example;
pub use metric::Metric;
pub use score::{Case, Score};
pub use step::{Step, steps};
