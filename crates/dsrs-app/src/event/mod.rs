//! Events of runs and optimizations: their kinds, a buffer in memory for runs of this process, and
//! a log in the database for background work. Uses only clocks and the store; may not know what
//! emits an event or how a client receives it.

pub(crate) mod buffer;
pub(crate) mod log_reader;
pub(crate) mod log_writer;

use std::sync::Arc;

use tokio_util::sync::DropGuard;

use crate::event::buffer::BufferFollower;
use crate::event::log_reader::{EventLogFollower, Followable};
use dsrs_store::run::RunStatus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    RunStarted,
    NodeStarted,
    NodeDelta,
    NodeRetry,
    NodeCompleted,
    NodeFailed,
    RunWaiting,
    RunCompleted,
    RunFailed,
    RunCancelled,
    OptimizationStarted,
    OptimizationPhase,
    OptimizationCandidate,
    OptimizationScored,
    OptimizationProgress,
    OptimizationCompleted,
    OptimizationFailed,
    OptimizationCancelled,
}

impl EventKind {
    const ALL: [Self; 18] = [
        Self::RunStarted,
        Self::NodeStarted,
        Self::NodeDelta,
        Self::NodeRetry,
        Self::NodeCompleted,
        Self::NodeFailed,
        Self::RunWaiting,
        Self::RunCompleted,
        Self::RunFailed,
        Self::RunCancelled,
        Self::OptimizationStarted,
        Self::OptimizationPhase,
        Self::OptimizationCandidate,
        Self::OptimizationScored,
        Self::OptimizationProgress,
        Self::OptimizationCompleted,
        Self::OptimizationFailed,
        Self::OptimizationCancelled,
    ];

    /// The kind with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The last event of a run that ended with this status.
    pub const fn of_run(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::RunCompleted,
            RunStatus::Cancelled => Self::RunCancelled,
            RunStatus::Waiting => Self::RunWaiting,
            _ => Self::RunFailed,
        }
    }

    /// The last event of an optimization that ended with this status.
    pub const fn of_optimization(status: RunStatus) -> Self {
        match status {
            RunStatus::Succeeded => Self::OptimizationCompleted,
            RunStatus::Cancelled => Self::OptimizationCancelled,
            _ => Self::OptimizationFailed,
        }
    }

    /// Its name for clients.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RunStarted => "run.started",
            Self::NodeStarted => "node.started",
            Self::NodeDelta => "node.delta",
            Self::NodeRetry => "node.retry",
            Self::NodeCompleted => "node.completed",
            Self::NodeFailed => "node.failed",
            Self::RunWaiting => "run.waiting",
            Self::RunCompleted => "run.completed",
            Self::RunFailed => "run.failed",
            Self::RunCancelled => "run.cancelled",
            Self::OptimizationStarted => "optimization.started",
            Self::OptimizationPhase => "optimization.phase",
            Self::OptimizationCandidate => "optimization.candidate",
            Self::OptimizationScored => "optimization.scored",
            Self::OptimizationProgress => "optimization.progress",
            Self::OptimizationCompleted => "optimization.completed",
            Self::OptimizationFailed => "optimization.failed",
            Self::OptimizationCancelled => "optimization.cancelled",
        }
    }
}

#[derive(Debug)]
pub struct NumberedEvent {
    /// Its number within the run, from 1.
    pub id: u64,
    pub kind: EventKind,
    /// JSON text.
    pub data: Box<str>,
}

/// What a follower receives next. `R` is the record of what is followed.
#[derive(Debug)]
pub enum StreamItem<R> {
    Event(Arc<NumberedEvent>),
    /// Events that are no longer stored: the first and the last id.
    Gap(u64, u64),
    /// The last event, by its id; its data is the record.
    Ended(u64, Box<R>),
}

/// The events of a run or an optimization, in order.
pub enum EventStream<R> {
    /// From memory.
    Buffer {
        follower: BufferFollower,
        /// Cancels the run when the stream is dropped.
        _cancel: Option<DropGuard>,
    },
    /// From the database.
    Log(Box<EventLogFollower<R>>),
}

impl<R: Followable> EventStream<R> {
    /// The next item, or `None` after the last event.
    pub async fn next(&mut self) -> Option<StreamItem<R>> {
        match self {
            Self::Buffer { follower, .. } => follower.next().await,
            Self::Log(follower) => follower.next().await,
        }
    }
}
