//! Batches: accepted, looked at, read out, cancelled. Working on them is `batch_attempt`.

pub(crate) mod attempt;
pub(crate) mod item;
pub(crate) mod page;
pub(crate) mod shared_work;
pub(crate) mod upload;

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::problem::{At, Code, Problems};
use uuid::Uuid;

use crate::app::batch::attempt::Batches;
use crate::app::batch::upload::store_batch;
use crate::app::clock::now;
use crate::app::error::merge_faults;
use crate::app::item_upload::ItemSource;
use crate::app::run::attempt::JobRequest;
use crate::app::{App, AppError};
use crate::store::batch::{self, BatchRow, Counts, ResultRow, Spent};
use crate::store::batch_upload::Upload;
use crate::store::graph::{GraphPin, GraphRef, Pick};
use crate::store::run::RunStatus;
use crate::store::{Cursor, Page, Scope};

/// How items are to be run.
pub(crate) struct BatchRequest {
    /// With which versions.
    pub(crate) pick: Pick,
    /// How long each item may take, if less than the server's limit.
    pub(crate) timeout: Option<Duration>,
    /// How many at the same time, if fewer than the server's limit.
    pub(crate) concurrency: Option<i32>,
    /// Whether the same work of nodes is done once.
    pub(crate) dedupe: bool,
    /// The request's id.
    pub(crate) request_id: Arc<str>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
}

impl App {
    /// Accepts a batch: when this returns all of it is stored, and will be worked on; when it fails
    /// nothing is.
    pub(crate) async fn batch_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: BatchRequest,
        items: impl ItemSource,
    ) -> Result<BatchRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let mut faults = request.faults;
        refuse_waiting(&program, "an item of a batch", &mut faults);
        let id = Uuid::now_v7();
        let mut upload = Upload::begin(scope, &self.db, id).await?;
        let most = self.limits.batch_items as usize;
        let stored = store_batch(&mut upload, program, items, most).await;
        let total = merge_faults(faults, stored)?;
        let asked = JobRequest { timeout: request.timeout, request_id: request.request_id };
        let batch = BatchRow {
            concurrency: request.concurrency,
            dedupe: request.dedupe,
            ..queued(scope, &pin, id, total)
        };
        upload.accept(&batch, &asked.to_json()).await?;
        Ok(batch)
    }

    /// A batch, as it stands.
    pub(crate) async fn batch_get(&self, scope: &Scope, id: Uuid) -> Result<BatchRow, AppError> {
        Ok(batch::get(scope, &self.db, id).await?)
    }

    /// One page of batches, newest first.
    pub(crate) async fn batch_list(
        &self,
        scope: &Scope,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<BatchRow>, AppError> {
        Ok(batch::list(scope, &self.db, after, limit).await?)
    }

    /// One page of a batch's results, in the order of its items.
    pub(crate) async fn batch_results(
        &self,
        scope: &Scope,
        id: Uuid,
        after: Option<i32>,
        limit: u32,
    ) -> Result<Page<ResultRow, i32>, AppError> {
        Ok(batch::results(scope, &self.db, id, after, limit).await?)
    }

    /// Stops a batch, wherever it is. Answers how it stands, which may be `running` still, when the
    /// one who works on it does not answer.
    pub(crate) async fn batch_cancel(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<BatchRow, AppError> {
        self.item_job_cancel::<Batches>(scope, id).await
    }
}

/// Nobody could tell the runs of a program apart that wait; `item` says what each of them is.
pub(crate) fn refuse_waiting(program: &Program, item: &str, faults: &mut Problems) {
    for (name, _) in program.graph().nodes().filter(|(_, node)| node.strategy() == "await") {
        let detail = format!(
            "node `{name}` waits for a value from outside, which {item} cannot; start a run for each \
             instead"
        );
        faults.add(&At::Root, Code::InvalidValue, detail);
    }
}

fn queued(scope: &Scope, pin: &GraphPin, id: Uuid, total: i32) -> BatchRow {
    BatchRow {
        id,
        graph_id: pin.id,
        graph_name: pin.name.clone(),
        graph_version: pin.version,
        state_version: pin.state_version,
        status: RunStatus::Queued,
        concurrency: None,
        dedupe: false,
        counts: Counts { total, ..Counts::default() },
        spent: Spent::default(),
        error: None,
        created_at: now(),
        started_at: None,
        finished_at: None,
        created_by: scope.actor.to_string(),
    }
}
