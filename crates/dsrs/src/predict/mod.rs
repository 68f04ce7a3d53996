//! Predicting: the context of a run, the state of a predictor, the one call path, and predictors
//! over schemas. Knows adapters and LMs; knows nothing of strategies or graphs.

mod ctx;
mod error;
mod predictor;
mod state;
mod trace;

pub use ctx::{Ctx, NodeScope, RunScope};
pub use error::{PredictError, PredictErrorKind};
pub use predictor::DynPredictor;
pub use state::{Demo, LmOverrides, PredictState};
pub use trace::{CheckOutcome, Span, SpanId, SpanKind, SpanStatus, Trace};
