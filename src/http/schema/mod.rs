//! The shapes of requests and answers as the OpenAPI document tells them. Requests are read by the
//! collecting reader and answers are written as text, so these structs only describe; the test of
//! every example keeps them honest.

mod assignable;
mod batch;
mod dataset;
mod evaluation;
mod graph;
mod health;
mod model;
mod optimization;
mod parse;
mod predictor;
mod problem;
mod provenance;
mod run;
mod signature;
mod state;
mod strategy;
mod trace;

use serde_json::Value;

pub use assignable::{AssignableAnswer, AssignableRequest};
pub use batch::{Batch, BatchBody, BatchCounts, BatchPage, BatchResult, BatchResultPage};
pub use dataset::{
    ChangedDataset, Dataset, DatasetBody, DatasetCheckBody, DatasetExample, DatasetExamplePage,
    DatasetPage, DatasetVersion, DatasetVersionPage, FittingDataset, FromRunsBody, PickedDataset,
};
pub use evaluation::{
    ComparedEvaluation, ComparedExample, Evaluation, EvaluationBody, EvaluationComparison,
    EvaluationCounts, EvaluationEvents, EvaluationPage, EvaluationResult, EvaluationResultPage,
};
pub use graph::{
    CarriedState, DroppedPath, Edge, Graph, GraphDefinition, GraphEdit, GraphEdits, GraphItem,
    GraphPage, LmSettings, Node, PutGraph, ValidGraph, VersionDiff, VersionItem, VersionPage,
};
pub use health::{Health, Ready};
pub use model::{Model, ModelPage};
pub use optimization::{
    CandidateScore, Optimization, OptimizationActivation, OptimizationBest, OptimizationBody,
    OptimizationBudget, OptimizationCandidate, OptimizationCandidateItem,
    OptimizationCandidatePage, OptimizationComparison, OptimizationDiff, OptimizationEvents,
    OptimizationExamples, OptimizationGraphDiff, OptimizationLinks, OptimizationPage,
    OptimizationResult, OptimizationScore, OptimizationStop, Optimizer, OptimizerPage,
};
pub use parse::{Leniency, ParseAnswer, ParseRequest};
pub use predictor::{Predictor, PredictorPage, RenderRequest, Rendered, RenderedMessages};
pub use problem::{Problem, ProblemItem};
pub use provenance::{Lineage, Provenance, UsedParameter, ValueMeta};
pub use run::{
    ExecuteBody, Executed, NodeError, ResumeBody, ResumedNode, ResumedRun, Run, RunEvents, RunItem,
    RunNode, RunPage, SignalBody, Usage,
};
pub use signature::{Field, Signature};
pub use state::{
    ActivatedState, Activation, ActivationPage, Author, BeforeAfter, Demo, DemoDiff, DemoFieldDiff,
    FromTo, InstructionDiff, Nearest, PredictorDiff, PredictorState, PutDspyState, PutOwnState,
    PutState, ShownPredictorState, State, StateDiff, StateItem, StateMove, StatePage, StatePut,
};
pub use strategy::{PreviewAnswer, PreviewRequest, PreviewedPredictor, Strategy, StrategyPage};
pub use trace::{Check, Message, Span, Trace};

/// Any JSON value.
pub type Json = Value;
