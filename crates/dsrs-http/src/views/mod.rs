//! Views: the types of answers. A route makes a view of rows and values of the app and serializes
//! it; the OpenAPI document is generated from the same types. A view borrows, copies stored JSON as
//! [`RawJson`] and has an example in the document. It may not use routes or read the database.
//!
//! A view is named after its schema: `DatasetView` is the schema `Dataset`. Types without
//! `Serialize` only describe: request bodies, which `dsrs::read` reads and checks, and the contents
//! of documents that are stored as text. Their names end in `View` if the engine has a type of the
//! same name: `SpanView` describes a stored `Span`.

mod assignable;
mod audit;
mod batch;
mod chat_completion;
mod closed_sets;
mod dataset;
mod document;
mod evaluation;
mod evaluation_comparison;
mod evaluation_result;
mod example;
mod example_prompt;
mod feedback;
mod graph;
mod graph_contract;
mod graph_definition;
mod graph_edit;
mod graph_profile;
mod health;
mod index;
mod key;
mod mcp;
mod model;
mod online_evaluation;
mod openai_response;
mod optimization;
mod optimization_candidate;
mod optimization_result;
mod optimizer;
mod parse;
mod predictor;
mod predictor_state;
mod provenance;
mod request_schema;
mod run;
mod run_labels;
mod schedule;
mod signature;
mod state;
mod state_diff;
mod state_version;
mod strategy;
mod time;
mod trace;
mod usage;
mod usage_report;
mod variants;
mod webhook;
mod webhook_message;
mod workspace;

use serde_json::Value;

pub use crate::protocol::page::{PageParams, PageView};
pub use crate::protocol::raw_json::{RawJson, RawMembers};

pub use assignable::{AssignableRequest, AssignableView};
pub use audit::{AuditEntryPage, AuditEntryView};
pub use batch::{
    BatchBody, BatchCountsView, BatchPage, BatchResultPage, BatchResultView, BatchView,
};
pub use chat_completion::{
    ChatAnswerView, ChatChoiceView, ChatCompletionBody, ChatCompletionView, ChatMessageBody,
    ChatModelListView, ChatModelView, ChatUsageView, StreamOptions,
};
pub use dataset::{
    ChangedDatasetView, DatasetCheckBody, DatasetExamplePage, DatasetExampleView, DatasetPage,
    DatasetVersionPage, DatasetVersionView, DatasetView, FittingDatasetView, FromRunsBody,
    PickedDatasetView,
};
pub use evaluation::{
    EvaluationBody, EvaluationCountsView, EvaluationEvents, EvaluationPage, EvaluationProgressView,
    EvaluationView,
};
pub use evaluation_comparison::{
    ComparedEvaluationView, ComparedExampleView, EvaluationComparisonView,
};
pub use evaluation_result::{EvaluationResultPage, EvaluationResultView};
pub use feedback::{
    FeedbackBody, FeedbackPage, FeedbackView, GraphScoreView, GraphScoresView, RunFeedbackView,
    RunScoreView,
};
pub use graph::{
    CarryOverView, DroppedPathView, GraphItemView, GraphPage, GraphUpdateView, GraphView,
    ValidGraphView, VersionItemView, VersionPage,
};
pub(crate) use graph_contract::{GraphContract, ServerDocument};
pub use graph_definition::{
    EdgeView, ExposureView, GraphDefinition, LmSettings, NodeView, OnLengthView,
};
pub use graph_edit::{GraphEdit, GraphEdits, VersionDiffView};
pub use graph_profile::{GraphProfileView, NodeProfileView};
pub use health::{HealthView, ReadyView};
pub use index::{
    FoundPassagesView, IndexBody, IndexBuildBody, IndexBuildView, IndexPage, IndexView,
    PassageView, SearchBody,
};
pub use key::{CreatedKeyView, KeyBody, KeyPage, KeyScopeName, KeyView};
pub use mcp::McpMessage;
pub(crate) use mcp::graph_tool;
pub use model::{ModelPage, ModelView};
pub use online_evaluation::{OnlineEvaluationBody, OnlineEvaluationView};
pub use openai_response::{CachedTokensView, ReasoningTokensView, ResponseBody, ResponseView};
pub(crate) use openai_response::{output_text, refusal_part};
pub use optimization::{
    OptimizationBody, OptimizationBudget, OptimizationEvents, OptimizationExamples,
    OptimizationLinksView, OptimizationPage, OptimizationView,
};
pub use optimization_candidate::{
    OptimizationCandidateItemView, OptimizationCandidatePage, OptimizationCandidateView,
};
pub use optimization_result::{
    CandidateFailure, CandidateScore, OptimizationActivation, OptimizationBest,
    OptimizationComparison, OptimizationDiff, OptimizationGraphDiff, OptimizationResult,
    OptimizationScore, OptimizationStop,
};
pub use optimizer::{OptimizerPage, OptimizerView};
pub use parse::{ParseRequest, ParseView};
pub use predictor::{
    PredictorPage, PredictorView, RenderRequest, RenderedMessagesView, RenderedView,
};
pub use predictor_state::{DemoView, Nearest, PredictorState, PredictorStateView};
pub use provenance::{LineageView, ProvenanceView, UsedParameter, ValueMeta};

pub use request_schema::{
    DatasetBody, DatasetReference, GraphBody, GraphVersionBody, Metric, NewDataset, PredictorPatch,
    PredictorStateBody, SignatureNotation, TypeDefinitions, TypeNotation,
};
pub(crate) use run::executed_text;
pub use run::{
    ExecuteBody, GapView, NodeError, ResumeBody, ResumedNodeView, ResumedRunView, RunEvents,
    RunItemView, RunNode, RunPage, RunView, SignalBody,
};
pub use run_labels::RunLabelsView;
pub use schedule::{
    FiringPage, FiringView, ScheduleBody, SchedulePage, SchedulePatch, ScheduleView,
};
pub use signature::{Field, SignatureView};
pub use state::{
    AuthorView, DspyFile, PutDspyState, PutOwnState, PutState, StateFile, StatePutView, StateView,
};
pub use state_diff::{
    BeforeAfter, DemoDiff, DemoFieldDiff, FromToView, InstructionDiff, PredictorDiffView,
    StateDiffView,
};
pub use state_version::{
    ActivatedStateView, ActivationPage, ActivationView, StateItemView, StateMoveView, StatePage,
};
pub use strategy::{PredictorPreviewView, PreviewRequest, PreviewView, StrategyPage, StrategyView};
pub use trace::{Check, MessageView, SpanView, ToolCallFunction, ToolCallView, TraceView};
pub use usage::UsageView;
pub use usage_report::{UsageItemView, UsageReportView, UsageScoreView};
pub use webhook::{
    DeliveryAttemptView, DeliveryPage, DeliveryView, RotateSecretBody, WebhookBody,
    WebhookEventName, WebhookPage, WebhookPatch, WebhookSecretView, WebhookView,
};
pub(crate) use webhook_message::webhook_messages;
pub use webhook_message::{
    EvaluationMessageData, OptimizationMessageData, RunMessageData, ScoreMessageData,
    TestMessageData,
};
pub use workspace::{WorkspaceBody, WorkspacePage, WorkspaceView};

/// Any JSON value.
pub type Json = Value;

/// Completes the schemas of a document: what the readers enforce beyond the types of Rust.
pub(crate) fn complete_schemas(schemas: &mut serde_json::Map<String, serde_json::Value>) {
    webhook_message::complete(schemas);
    request_schema::complete(schemas);
    run_labels::complete(schemas);
    closed_sets::complete(schemas);
    variants::complete(schemas);
    schemas.sort_keys();
}
