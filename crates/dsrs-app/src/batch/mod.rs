//! Batches: started, read, cancelled. Attempts are in `attempt`. May know runs; may not know HTTP.

pub(crate) mod attempt;
pub(crate) mod item;
pub(crate) mod page;
mod request;
pub(crate) mod shared_work;
pub(crate) mod upload;

use std::sync::Arc;
use std::time::Duration;

use dsrs::problem::Problems;
use uuid::Uuid;

use crate::batch::upload::check_batch;
use crate::clock::now;
use crate::error::merge_faults;
use crate::item_upload::ItemSource;
use crate::job::await_check::refuse_await_nodes;
use crate::job::request::JobRequest;
use crate::{App, AppError, Commit, RequestId};
use dsrs_store::batch::{self, BatchResultRow, BatchRow, ItemCounts, UsageTotals};
use dsrs_store::batch_upload::BatchUpload;
use dsrs_store::graph::{GraphRef, ResolvedGraph, VersionSelection};
use dsrs_store::run::RunStatus;
use dsrs_store::run_label::RunLabels;
use dsrs_store::{ListQuery, Page, Scope};

pub struct BatchRequest {
    /// The versions to run.
    pub pick: VersionSelection,
    /// The time limit of one item, if shorter than that of the server.
    pub timeout: Option<Duration>,
    /// The number of items at a time, if fewer than the limit of the server.
    pub concurrency: Option<i32>,
    /// Whether identical work of nodes is done once.
    pub dedupe: bool,
    pub labels: RunLabels,
    pub request_id: RequestId,
    /// The problems found so far.
    pub faults: Problems,
}

impl App {
    /// Starts a batch. When this returns, the batch is stored and queued; if it fails, nothing is stored.
    pub async fn batch_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: BatchRequest,
        items: impl ItemSource,
        commit: Commit<BatchRow>,
    ) -> Result<BatchRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let mut faults = request.faults;
        refuse_await_nodes(&program, "an item of a batch", &mut faults);
        let id = Uuid::now_v7();
        let most = self.limits.batch_items as usize;
        let checked = check_batch(self.check_room(scope), program, items, most).await;
        let (total, rows) = merge_faults(faults, checked)?;
        let asked = JobRequest::new(request.timeout, request.request_id);
        let batch = BatchRow {
            concurrency: request.concurrency,
            dedupe: request.dedupe,
            labels: request.labels,
            ..queued(scope, &pin, id, total)
        };
        let (asked, ending) = (asked.to_json(), commit.ending(&batch));
        let mut upload = BatchUpload::begin(scope, &self.db, id).await?;
        rows.store(&mut upload).await?;
        upload.accept(&batch, &asked, &ending).await?;
        Ok(batch)
    }

    /// One page of batches, newest first.
    pub async fn batch_list(
        &self,
        scope: &Scope,
        list: ListQuery,
    ) -> Result<Page<BatchRow>, AppError> {
        Ok(batch::list(scope, &self.db, list).await?)
    }

    /// One page of a batch's results, in the order of its items.
    pub async fn batch_results(
        &self,
        scope: &Scope,
        id: Uuid,
        list: ListQuery<i32>,
    ) -> Result<Page<BatchResultRow, i32>, AppError> {
        Ok(batch::results(scope, &self.db, id, list).await?)
    }
}

fn queued(scope: &Scope, pin: &ResolvedGraph, id: Uuid, total: i32) -> BatchRow {
    BatchRow {
        id,
        graph_id: pin.id,
        graph_name: pin.name.clone(),
        graph_version: pin.version,
        state_version: pin.state_version,
        status: RunStatus::Queued,
        concurrency: None,
        dedupe: false,
        counts: ItemCounts { total, ..ItemCounts::default() },
        spent: UsageTotals::default(),
        error: None,
        created_at: now(),
        started_at: None,
        finished_at: None,
        created_by: scope.actor.to_string(),
        labels: RunLabels::default(),
    }
}
