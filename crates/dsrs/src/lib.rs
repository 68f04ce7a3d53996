#![doc = include_str!("../README.md")]
// It knows no HTTP routes and no SQL. A module may use only the modules that are declared before it.
#![warn(missing_docs)]

// Attributes and derives refer to the crate as `dsrs`, also inside it.
extern crate self as dsrs;

pub use dsrs_macros::{Augmentation, Data, Module, Signature};
pub use futures_util::future::BoxFuture;
// The attributes of `attrs` write rules, whose room is above.
#[doc(hidden)]
pub use document::Rule as __Rule;
#[doc(hidden)]
pub use inventory;

/// The library of shapes, with a derive of `Facet` whose generated code names this crate: a program needs no
/// `facet` of its own. Types of fields derive [`Data`] instead, which has shorter attributes.
pub mod facet {
    pub use ::facet::*;
    // Takes precedence over the derive of the same name.
    pub use dsrs_macros::Facet;
}

mod block_on;

pub mod attrs;
pub mod problem;
pub mod value;

mod score;

mod json_file;

pub mod sandbox;

pub mod time_limit;

pub mod read;

pub mod types;

pub mod expr;

pub mod lm;

pub mod reflect;

pub mod document;

pub mod coerce;

pub mod signature;

pub mod adapter;

pub mod predict;

pub mod module;

pub mod strategy;

pub mod graph;

#[cfg(feature = "optimize")]
pub mod optimize;

pub mod prelude;

pub use block_on::block_on;
pub use json_file::{JsonFileError, load_json, save_json};
pub use module::{Judge, Module, Prediction, ScoreFn};
pub use predict::{Ctx, Predict, PredictError, TypedDemo};
pub use score::Score;
// The traits have the names of their derives: one import includes both.
pub use signature::{Augmentation, Augmented, Data, Signature};
pub use strategy::{
    BestOfN, ChainOfThought, MultiChainComparison, ProgramOfThought, Rationale, ReAct, Reasoning,
    Refine, WithRationale, WithReasoning,
};
