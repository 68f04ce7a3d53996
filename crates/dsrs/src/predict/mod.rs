//! Predicting: the context of a run, the state of a predictor, the one call path, and predictors
//! over schemas. Knows adapters and LMs; knows nothing of strategies or graphs.

mod call;
mod cell;
mod ctx;
mod demos;
mod document;
mod embedding;
mod error;
mod event;
mod exchange;
mod function_tool;
mod hearing;
mod hints;
mod nearest;
mod own_tools;
mod parameter;
mod predictor;
mod recorded;
mod schema_predictor;
mod state;
mod tally;
mod tool;
mod toolbox;
mod trace;
pub mod typed;

pub use cell::{Predict, PredictAccessorFns, PredictCell};
pub use ctx::{Ctx, NodeScope, RunScope, Variation};
pub use document::{lm_to_payload, read_lm, read_state, state_to_payload};
pub(crate) use embedding::embed;
pub use error::{Misread, PredictError, PredictErrorKind};
pub use event::{RunEvent, RunListener, Speaker};
pub use function_tool::{ToolOutput, function_tool};
pub use hints::Hints;
pub use parameter::{lift, param_id};
pub use predictor::DynPredictor;
pub use recorded::{RecordedSpan, Recording};
pub use schema_predictor::SchemaPredictor;
pub use state::{Demo, LmOverrides, Nearest, PredictState};
pub use tally::{Tallied, Tally};
pub use tool::{Tool, ToolError};
pub(crate) use toolbox::{Toolbox, is_tool_name};
pub use trace::{CheckOutcome, Span, SpanId, SpanKind, SpanStatus, Trace};
