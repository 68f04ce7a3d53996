//! Improving what is tuned: examples, metrics, the engine on which all evaluation stands, and
//! optimizers, one file each. Knows programs and models; knows nothing of where datasets, scores and
//! states are stored.

mod board;
mod candidate;
mod demo;
mod drive;
mod evaluation;
mod evaluator;
mod example;
mod fitting;
mod interval;
mod metric;
mod optimizer;
mod optimizers;
mod progress;
mod reserve;
mod rollout;
mod score;
mod split;
mod step;
mod stop;
mod store;
mod workbench;

pub use board::{CostWeight, Scored, Trial, TrialId};
pub use candidate::{Bench, Candidate, CandidateHash, Workshop};
pub use demo::{instruction_of, labeled_demo, step_demo, tunable};
pub use drive::{Pair, Report, optimize};
pub use evaluation::Evaluation;
pub use evaluator::{Evaluator, Ran};
pub use example::Example;
pub use fitting::{WrittenExample, beside};
pub use interval::{Comparison, Interval, mean_interval, paired_bootstrap};
pub use metric::Metric;
pub use optimizer::{
    Optimizer, OptimizerFactory, OptimizerRegistration, create_optimizer, optimizers,
};
pub use progress::{Deaf, Listener, Progress};
pub use rollout::{Failed, Rollout};
pub use score::{Case, Score};
pub use split::{Split, SplitError};
pub use step::{Step, steps};
pub use stop::Stop;
pub use store::{RolloutKey, RolloutStore};
pub use workbench::{AskError, Task, Workbench};
