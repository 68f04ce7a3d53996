//! What most programs use, in one import. Knows nothing; everything in it has another path.
//!
//! ```
//! use dsrs::prelude::*;
//!
//! #[derive(Clone, Debug, Data)]
//! enum Mood {
//!     Calm,
//!     Angry,
//! }
//!
//! /// How does the customer feel?
//! #[derive(Signature)]
//! struct Triage {
//!     #[input]
//!     mail: String,
//!     #[output]
//!     mood: Mood,
//! }
//!
//! let lm = ScriptedLm::answering(["[[ ## mood ## ]]\nCalm"]);
//! let ctx = Ctx::within(Models::only(Arc::new(lm)).into(), Duration::from_secs(60));
//! let asked = TriageInput { mail: "Thank you!".into() };
//! let found = block_on(Predict::<Triage>::new().call(&ctx, asked))?;
//! assert!(matches!(found.mood, Mood::Calm));
//! # Ok::<(), PredictError>(())
//! ```

pub use std::sync::Arc;
pub use std::time::Duration;

#[cfg(feature = "http")]
pub use crate::lm::OpenAi;
pub use crate::lm::{Budget, Lm, Model, Models, ScriptedLm};
pub use crate::module::{ModuleState, named_predictors, named_predictors_mut};
#[cfg(feature = "optimize")]
pub use crate::optimize::{
    BootstrapFewShot, BootstrapRandomSearch, Copro, Gepa, KnnFewShot, LabeledFewShot, MiproV2,
    Optimizer, Simba, TypedExample, TypedExamples, compile, compile_judged, evaluate,
    evaluate_judged,
};
pub use crate::predict::OrFail;
pub use crate::{
    Augmentation, Augmented, BestOfN, ChainOfThought, Ctx, Data, Judge, Module,
    MultiChainComparison, Predict, PredictError, Prediction, ProgramOfThought, ReAct, Refine,
    Score, Signature, TypedDemo, WithRationale, WithReasoning, block_on, load_json,
    register_module, save_json,
};
