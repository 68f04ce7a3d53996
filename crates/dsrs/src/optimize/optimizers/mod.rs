//! The optimizers, one file each. Each knows the workbench and nothing of the others; those that bootstrap demos have the
//! settings of `bootstrap_few_shot`.

mod bootstrap;
mod bootstrap_few_shot;
mod bootstrap_random_search;
mod copro;
mod describe;
mod gepa;
mod knn_few_shot;
mod labeled_few_shot;
mod mipro_v2;
mod proposal;
mod simba;
mod strategy_search;
mod threshold_calibration;

pub use bootstrap_few_shot::BootstrapFewShot;
pub use bootstrap_random_search::BootstrapRandomSearch;
pub use copro::Copro;
pub use gepa::{CandidateSelection, ComponentSelector, Gepa};
pub use knn_few_shot::KnnFewShot;
pub use labeled_few_shot::LabeledFewShot;
pub use mipro_v2::{MiproEffort, MiproV2};
pub use simba::Simba;
pub use threshold_calibration::ThresholdCalibration;
