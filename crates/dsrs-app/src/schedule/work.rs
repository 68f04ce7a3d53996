//! The work of a schedule: its request is read and started as the route of its kind does, once for all claims of a
//! firing, or rehearsed before a schedule is stored. May not know HTTP.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use dsrs::document::parse_word;
use dsrs::problem::Problem;
use dsrs::value::{ParsedJson, Payload, parse_json};
use dsrs_api::schedule::ScheduleTarget;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::item_upload::{ItemContent, ItemSource, WrittenItem};
use crate::json::JsonObject;
use crate::{
    AnswerBuilder, App, AppError, BatchRequest, Commit, EvaluationRequest, ExecuteRequest,
    Identity, OptimizationRequest, RequestId,
};
use dsrs_store::graph::GraphRef;
use dsrs_store::idempotency::{
    self, KeyLease, KeyLookup, KeyRef, KeyTimes, KeyedAnswer, StoredResponse,
};
use dsrs_store::job::JobRow;
use dsrs_store::key_scope::KeyScope;
use dsrs_store::schedule::ScheduleColumns;

/// The work that a schedule starts.
#[derive(Clone, Debug)]
pub(super) struct ScheduledWork {
    pub(super) target: ScheduleTarget,
    pub(super) graph: Uuid,
    /// The body of the request, as JSON text.
    pub(super) request: String,
}

impl ScheduledWork {
    /// The work of a schedule; `None` if a newer release knows its kind.
    fn of(schedule: &ScheduleColumns) -> Option<Self> {
        let target = parse_word(&schedule.target)?;
        Some(Self { target, graph: schedule.graph_id, request: schedule.request.clone() })
    }

    /// The method and path with which a client would request it.
    fn route(&self) -> String {
        let collection = match self.target {
            ScheduleTarget::Run => "runs",
            ScheduleTarget::Batch => "batches",
            ScheduleTarget::Evaluation => "evaluations",
            ScheduleTarget::Optimization => "optimizations",
        };
        format!("POST /v1/graphs/{}/{collection}", self.graph)
    }
}

/// The idempotency key of a firing: another claim of the same firing starts no second work.
#[derive(Clone, Debug)]
struct FiringKey {
    route: String,
    key: Arc<str>,
    holder: Uuid,
}

impl FiringKey {
    fn lookup(&self) -> KeyRef<'_> {
        KeyRef { route: &self.route, key: &self.key }
    }

    /// What is stored under the key with the work.
    fn answer(self, work: Uuid) -> KeyedAnswer {
        let Self { route, key, holder } = self;
        let mut body = JsonObject::new();
        body.text("id", &work.to_string());
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let response = StoredResponse { status: 202, headers, body: body.finish().into_bytes() };
        KeyedAnswer { route, key, holder, response }
    }
}

/// Why the work of a firing did not start.
pub(super) struct WorkRefusal {
    /// The problem, as JSON text.
    pub(super) problem: String,
    /// The seconds after which it may start; `None`: never.
    pub(super) retry_after: Option<u64>,
}

impl From<AppError> for WorkRefusal {
    fn from(error: AppError) -> Self {
        if let AppError::Internal(cause) = &error {
            tracing::error!(cause, "a fault of ours");
        }
        let of_server = (error.code().status() >= 500).then_some(0);
        let retry_after = error.retry_after().or(of_server);
        Self { problem: error.problem_json(&RequestId::unique()), retry_after }
    }
}

impl App {
    /// Starts the work of a firing, or finds the work that an earlier claim of the firing has started.
    pub(super) async fn start_once(
        self: &Arc<Self>,
        identity: &Identity,
        work: &ScheduledWork,
        firing: Uuid,
        lease: Duration,
    ) -> Result<Uuid, WorkRefusal> {
        identity.require(KeyScope::Execute)?;
        let _work = self.shutdown.begin_work();
        let (scope, hash) = (&identity.scope, Sha256::digest(&work.request));
        let key = FiringKey {
            route: work.route(),
            key: firing.to_string().into(),
            holder: Uuid::now_v7(),
        };
        let now = self.db.now().await.map_err(AppError::from)?;
        let times = KeyTimes::new(now, lease, self.idempotency_window);
        let begun =
            idempotency::begin(scope, &self.db, &key.lookup(), &hash, key.holder, times).await;
        match begun.map_err(AppError::from)? {
            KeyLookup::New(lease) => match self.start_work(identity, work, Some(&key)).await {
                Ok(id) => Ok(id),
                Err(error) => self.abandon(identity, &key, &hash, lease).await.ok_or(error.into()),
            },
            KeyLookup::Replay(answer) => started(&answer),
            KeyLookup::InProgress | KeyLookup::Reused => Err(AppError::KeyTaken.into()),
        }
    }

    /// Frees the key of a firing. If its work is stored although the transaction reported a failure, as after a
    /// connection that broke during the commit, that is the work.
    async fn abandon(
        &self,
        identity: &Identity,
        key: &FiringKey,
        hash: &[u8],
        lease: KeyLease,
    ) -> Option<Uuid> {
        let (scope, db, key) = (&identity.scope, &self.db, key.lookup());
        match idempotency::abandon(scope, db, &key, lease).await {
            Ok(false) => match idempotency::find(scope, db, &key, hash).await {
                Ok(Some(KeyLookup::Replay(answer))) => started(&answer).ok(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Checks the work of a schedule as if it were started. Pointers are below `/request`.
    pub(super) async fn rehearse(
        self: &Arc<Self>,
        identity: &Identity,
        schedule: &ScheduleColumns,
    ) -> Result<(), AppError> {
        let Some(work) = ScheduledWork::of(schedule) else { return Ok(()) };
        match self.start_work(identity, &work, None).await {
            Ok(_) => Ok(()),
            Err(AppError::Invalid { what, problems }) => {
                let below = |problem: Problem| Problem {
                    pointer: format!("/request{}", problem.pointer),
                    ..problem
                };
                Err(AppError::invalid(what, problems.map(below)))
            }
            Err(other) => Err(other),
        }
    }

    /// Starts work under the key of a firing, or rehearses it without a key. Returns its id.
    async fn start_work(
        self: &Arc<Self>,
        identity: &Identity,
        work: &ScheduledWork,
        key: Option<&FiringKey>,
    ) -> Result<Uuid, AppError> {
        let document = parse_json(work.request.as_bytes());
        let document = document.map_err(|error| AppError::Internal(error.to_string()))?;
        let (scope, graph) = (&identity.scope, GraphRef::Id(work.graph));
        let (id, most) = (RequestId::unique(), self.worker.batch_concurrency);
        match work.target {
            ScheduleTarget::Run => {
                let request = ExecuteRequest::read(&document, id)?;
                Ok(Box::pin(self.run_start(scope, &graph, request, commit(key))).await?.id)
            }
            ScheduleTarget::Batch => {
                let request = BatchRequest::read(&document, most, id)?;
                let items = ParsedItems::of(&document);
                let started = self.batch_start(scope, &graph, request, items, commit(key));
                Ok(Box::pin(started).await?.id)
            }
            ScheduleTarget::Evaluation => {
                let most = self.worker.evaluation_concurrency;
                let request = EvaluationRequest::read(&document, most, id)?;
                Ok(Box::pin(self.evaluation_start(scope, &graph, request, commit(key))).await?.id)
            }
            ScheduleTarget::Optimization => {
                let request = OptimizationRequest::read(&document, most, id)?;
                let started = self.optimization_start(identity, &graph, request, commit(key));
                Ok(Box::pin(started).await?.id)
            }
        }
    }
}

/// Stores work under a key, or rehearses it.
fn commit<R: JobRow>(key: Option<&FiringKey>) -> Commit<R> {
    let Some(key) = key.cloned() else { return Commit::Rehearse };
    Commit::Now(AnswerBuilder::new(move |row: &R| key.answer(row.id())))
}

/// The work of an earlier claim, or its refusal: older releases store refusals, too.
fn started(answer: &StoredResponse) -> Result<Uuid, WorkRefusal> {
    #[derive(Deserialize)]
    struct Started {
        id: Uuid,
    }
    match serde_json::from_slice::<Started>(&answer.body) {
        Ok(started) if answer.status < 300 => Ok(started.id),
        _ => Err(WorkRefusal {
            problem: String::from_utf8_lossy(&answer.body).into_owned(),
            retry_after: None,
        }),
    }
}

/// The items of a batch, which are small enough for memory.
struct ParsedItems(Vec<Payload>);

impl ParsedItems {
    fn of(document: &ParsedJson) -> Self {
        let items = document.payload.as_map().and_then(|members| members.get("items"));
        match items {
            Some(Payload::List(items)) => Self(items.to_vec()),
            _ => Self(Vec::new()),
        }
    }
}

impl ItemSource for ParsedItems {
    fn each(
        self,
        receive: &mut dyn FnMut(WrittenItem<'_>) -> ControlFlow<()>,
    ) -> Result<(), String> {
        let mut items = self.0.into_iter();
        let written = |item| WrittenItem { content: ItemContent::Value(item), line: None };
        let _ = items.try_for_each(|item| receive(written(item)));
        Ok(())
    }
}
