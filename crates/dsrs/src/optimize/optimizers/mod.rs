//! The optimizers, one file each. Each knows the workbench and nothing of the others.

pub(in crate::optimize) mod config;
mod labeled_few_shot;
