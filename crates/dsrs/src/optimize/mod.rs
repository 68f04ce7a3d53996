//! Improving programs: examples, metrics, the evaluator, and optimizers, one file each. Knows programs
//! and models; knows nothing of where datasets, scores and states are stored.

mod board;
mod candidate;
mod case;
mod demo;
mod drive;
mod early_stop;
mod evaluation;
mod evaluator;
mod example;
mod example_sets;
mod interval;
mod metric;
mod optimizer;
mod optimizers;
mod predictor_call;
mod progress;
mod raw_example;
mod reserve;
mod rollout;
mod rollout_failure;
mod rollout_observer;
mod rollout_offers;
mod rollout_store;
mod split;
mod typed;
mod workbench;

pub use board::{CostWeight, Trial, TrialId, TrialScore};
pub use candidate::{Candidate, CandidateHash, LocalProgramBuilder, ProgramBuilder};
pub use case::Case;
pub use demo::{demo_of_call, instruction_of, labeled_demo, tunable};
pub use drive::{HeldOutPair, OptimizationReport, optimize};
pub use early_stop::EarlyStop;
pub use evaluation::Evaluation;
pub use evaluator::{Evaluator, ExampleRun};
pub use example::Example;
pub use example_sets::ExampleSets;
pub use interval::{Comparison, Interval, mean_interval, paired_bootstrap};
use metric::CaseScorer;
pub use metric::Metric;
pub use optimizer::{
    CandidateSearch, OptimizerFactory, OptimizerRegistration, StateOptimizer, create_optimizer,
    optimizers,
};
pub use optimizers::{
    BootstrapFewShot, BootstrapRandomSearch, CandidateSelection, ComponentSelector, Copro, Gepa,
    KnnFewShot, LabeledFewShot, MiproEffort, MiproV2, Simba, ThresholdCalibration,
};
pub use predictor_call::{PredictorCall, predictor_calls};
pub use progress::{NoopListener, ProgressEvent, ProgressListener};
pub use raw_example::{RawExample, unmatched_expectations};
pub use rollout::Rollout;
pub use rollout_failure::{FailureCause, RolloutFailure};
pub use rollout_observer::RolloutObserver;
pub use rollout_offers::{OfferOutcome, OfferedRollout, RolloutOffers};
pub use rollout_store::{RolloutKey, RolloutStore};
pub use split::{Split, SplitError};
pub use typed::{
    CompileError, CompileReport, Evaluate, EvaluatedExample, ModuleEvaluation, Optimizer,
    TypedExample, TypedExamples, compile, compile_judged, evaluate, evaluate_judged,
};
pub use workbench::{AskError, MAX_UNMEASURED, Task, Workbench};

pub use crate::score::Score;
