//! Views: the types of answers. A route makes a view of rows and values of the app and serializes
//! it; the OpenAPI document is generated from the same types. A view borrows, copies stored JSON as
//! [`RawJson`] and has an example in the document. It may not use routes or read the database.
//!
//! A view is named after its schema: `DatasetView` is the schema `Dataset`. Types without
//! `Serialize` only describe: request bodies, which `dsrs::read` reads and checks, and the contents
//! of documents that are stored as text.

mod assignable;
mod batch;
mod dataset;
mod evaluation;
mod example;
mod graph;
mod health;
mod model;
mod optimization;
mod optimizer;
mod parse;
mod predictor;
mod provenance;
mod run;
mod signature;
mod state;
mod strategy;
mod time;
mod trace;
mod usage;

use serde_json::Value;

pub use crate::http::protocol::page::{Page, PageParams};
pub use crate::http::protocol::raw_json::{RawJson, RawMembers};

pub use assignable::{AssignableRequest, AssignableView};
pub use batch::{
    BatchBody, BatchCountsView, BatchPage, BatchResultPage, BatchResultView, BatchView,
};
pub use dataset::{
    ChangedDatasetView, DatasetBody, DatasetCheckBody, DatasetExamplePage, DatasetExampleView,
    DatasetPage, DatasetVersionPage, DatasetVersionView, DatasetView, FittingDatasetView,
    FromRunsBody, PickedDatasetView,
};
pub use evaluation::{
    ComparedEvaluationView, ComparedExampleView, EvaluationBody, EvaluationComparisonView,
    EvaluationCountsView, EvaluationEvents, EvaluationPage, EvaluationProgressView,
    EvaluationResultPage, EvaluationResultView, EvaluationView,
};
pub use graph::{
    CarryOverView, DroppedPathView, Edge, GraphDefinition, GraphEdit, GraphEdits, GraphItemView,
    GraphPage, GraphUpdateView, GraphView, LmSettings, Node, ValidGraphView, VersionDiffView,
    VersionItemView, VersionPage,
};
pub use health::{HealthView, ReadyView};
pub use model::{ModelPage, ModelView};
pub use optimization::{
    CandidateScore, OptimizationActivation, OptimizationBest, OptimizationBody, OptimizationBudget,
    OptimizationCandidateItemView, OptimizationCandidatePage, OptimizationCandidateView,
    OptimizationComparison, OptimizationDiff, OptimizationEvents, OptimizationExamples,
    OptimizationGraphDiff, OptimizationLinksView, OptimizationPage, OptimizationResult,
    OptimizationScore, OptimizationStop, OptimizationView,
};
pub use optimizer::{OptimizerPage, OptimizerView};
pub use parse::{ParseRequest, ParseView};
pub use predictor::{
    PredictorPage, PredictorView, RenderRequest, RenderedMessagesView, RenderedView,
};
pub use provenance::{Lineage, Provenance, UsedParameter, ValueMeta};
pub use run::{
    ExecuteBody, GapView, NodeError, ResumeBody, ResumedNodeView, ResumedRunView, RunEvents,
    RunItemView, RunNode, RunPage, RunView, SignalBody,
};
pub use signature::{Field, Signature};
pub use state::{
    ActivatedStateView, ActivationPage, ActivationView, AuthorView, BeforeAfter, Demo, DemoDiff,
    DemoFieldDiff, FromToView, InstructionDiff, Nearest, PredictorDiff, PredictorState,
    PredictorStateView, PutDspyState, PutOwnState, PutState, StateDiffView, StateItemView,
    StateMoveView, StatePage, StatePutView, StateView,
};
pub use strategy::{PredictorPreviewView, PreviewRequest, PreviewView, StrategyPage, StrategyView};
pub use trace::{Check, Message, Span, Trace};
pub use usage::UsageView;

/// Any JSON value.
pub type Json = Value;
