//! Predictions: the context of a run, the state of a predictor, the one call path, and predictors
//! over schemas. Knows adapters and LMs; does not know strategies or graphs.

mod author_error;
mod builder;
mod call;
mod call_place;
mod call_record;
mod cell;
mod checked_tool;
mod ctx;
mod cut_answer;
mod decision;
mod demo_pool;
mod demos;
mod document;
mod embedding;
mod error;
mod event;
mod evidence_reader;
mod exchange;
mod function_tool;
mod hints;
mod module_state;
mod parameter;
mod passage;
mod pause;
mod predictor;
mod predictor_core;
mod predictor_tools;
mod recorded;
mod rejection;
mod schema_predictor;
mod serde;
mod signature_checks;
mod state;
mod step_turns;
mod stream_reporter;
mod tally;
mod tool;
mod tool_dispatcher;
mod trace;
mod typed_demo;

pub use author_error::OrFail;
pub use builder::PredictBuilder;
pub use call_place::CallPlace;
pub use call_record::{CallRecord, RecordedCallKey};
pub use cell::{Predict, PredictAccessorFns, PredictCell};
pub(crate) use checked_tool::{CheckedTool, result_text};
pub use ctx::{Ctx, NodeScope, RunScope, Variation};
pub(crate) use decision::{AnswerWords, misfit_rules, read_rules};
pub use decision::{ChoiceOption, Decision, DecisionKind, DecisionRule, DecisionRules, Evidence};
pub use document::{lm_to_payload, read_lm, read_state, state_to_payload};
pub(crate) use embedding::embed;
pub use error::{PredictError, PredictErrorKind, RejectedAnswer};
pub use event::{PredictorCallId, RunEvent, RunListener};
pub use function_tool::{ToolOutput, function_tool};
pub use hints::Hints;
pub use module_state::ModuleState;
pub use parameter::{lift, param_id};
pub use passage::{
    MOST_PASSAGES, Passage, PassageIndexes, PassageSearch, SearchRanking, embed_query,
};
pub use pause::{CallerCall, NodeContinuation, NodePause, admit_answers};
pub use predictor::DynPredictor;
pub use recorded::{RecordedSpan, Recording};
pub use schema_predictor::SchemaPredictor;
pub(crate) use signature_checks::SignatureChecks;
pub use state::{Demo, LmOverrides, NearestDemos, PredictState};
pub(crate) use step_turns::{StepLayout, StepTurns, identify, repeat};
pub use tally::{CallTally, CallTotals, PredictionCheck};
pub use tool::{Tool, ToolError};
pub(crate) use tool_dispatcher::{CallResult, ToolDispatcher, is_tool_name};
pub use trace::{
    CheckOutcome, ConstraintStatus, MOST_SPANS, Span, SpanId, SpanKind, SpanStatus, Trace,
};
pub use typed_demo::TypedDemo;
pub(crate) use typed_demo::fields;
