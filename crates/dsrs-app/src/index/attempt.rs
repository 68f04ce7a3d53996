//! Builds of indexes as a kind of job: passages that the build before has not indexed get words and vectors, one segment at a
//! time. Each segment is one transaction, so that another attempt continues behind it.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::retry::{self, RetryPolicy};
use dsrs::lm::{EmbeddingModel, Embeddings, Gates, LmError};
use dsrs::value::Payload;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::now;
use crate::index::passage;
use crate::index::vectors::vector_bytes;
use crate::job::active::{ActiveGuard, StopReason};
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::kind::JobKind;
use crate::task::run_blocking;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::index::IndexRow;
use dsrs_store::index_build::{
    self, EmbeddingUsage, ExampleToIndex, IndexBuildRow, IndexPageLimits, NewSegment,
};
use dsrs_store::job::{self, JobEnd};
use dsrs_store::persist;
use dsrs_store::run::RunStatus;

/// The most passages of a segment.
const SEGMENT: usize = 4000;

/// The bytes of text from which on a segment is full: one statement has to index them within its time limit.
const SEGMENT_BYTES: usize = 4 << 20;

/// The passages that are read, and embedded, at a time.
const PAGE: IndexPageLimits = IndexPageLimits { count: 500, bytes: 1 << 20 };

/// The text whose vector has the length of all vectors of a model.
const PROBE: &str = "passage";

/// The repeats of a request to the embedding model, and its time limit with all repeats.
const RETRIES: u32 = 5;
const EMBEDDING_TIME: Duration = Duration::from_secs(300);

/// The kind of job that builds an index.
pub struct IndexBuilds;

/// The index, its build and its model, as an attempt loads them.
pub struct IndexWork {
    index: IndexRow,
    build: IndexBuildRow,
    model: Option<Arc<EmbeddingModel>>,
}

/// Why a build ended before its end.
enum BuildStop {
    /// The attempt is to stop: a client cancelled, the server stops, or another worker has the job.
    Stopped,
    /// The build fails.
    Failed { code: &'static str, detail: String },
}

impl BuildStop {
    fn model(detail: String) -> Self {
        Self::Failed { code: "lm_error", detail }
    }

    fn conclusion(self) -> Conclusion<()> {
        match self {
            Self::Stopped => Conclusion::Cancelled,
            Self::Failed { code, detail } => Conclusion::failed(code, detail),
        }
    }
}

impl JobKind for IndexBuilds {
    type Row = IndexBuildRow;
    type Work = IndexWork;
    type Output = ();

    async fn load(attempt: &JobAttempt, _: &ActiveGuard) -> Result<IndexWork, AppError> {
        let (app, scope, id) = (&attempt.app, &attempt.job.scope, attempt.job.lease.job);
        let build = persist(|| job::get::<IndexBuildRow>(scope, &app.db, id)).await?;
        let index = persist(|| dsrs_store::index::of_build(scope, &app.db, id)).await?;
        let model = index.model.as_deref().and_then(|alias| app.models.embedding(alias)).cloned();
        Ok(IndexWork { index, build, model })
    }

    async fn run(
        attempt: &JobAttempt,
        work: IndexWork,
        guard: &Arc<ActiveGuard>,
    ) -> Result<AttemptEnd<()>, AppError> {
        if let Some(stop) = work.check_model() {
            return Ok(stop.conclusion().into());
        }
        Ok(match work.build(attempt, guard).await? {
            Ok(()) => Conclusion::Finished(()).into(),
            Err(stop @ BuildStop::Failed { .. }) => stop.conclusion().into(),
            Err(BuildStop::Stopped) => match guard.stopped() {
                Some(StopReason::Cancelled) => Conclusion::Cancelled.into(),
                _ => AttemptEnd::Requeue,
            },
        })
    }

    async fn conclude(attempt: &JobAttempt, conclusion: Conclusion<()>) -> Result<bool, AppError> {
        let (status, problem) = match conclusion {
            Conclusion::Finished(()) => (RunStatus::Succeeded, None),
            Conclusion::Cancelled => (RunStatus::Cancelled, None),
            Conclusion::Failed { code, detail } => {
                (RunStatus::Failed, Some(attempt.problem_json(code, &detail)))
            }
        };
        let end = JobEnd { status, error: problem.as_deref(), at: now() };
        let (db, scope, lease) = (&attempt.app.db, &attempt.job.scope, attempt.job.lease);
        Ok(persist(|| index_build::finish(scope, db, lease, end)).await?)
    }

    fn abandoned(limit: u32) -> String {
        format!(
            "{limit} attempts in a row ended without a segment of the index, which is the limit (`worker.attempts`)"
        )
    }
}

impl IndexWork {
    /// Whether the alias is not the model that the build was requested for.
    fn check_model(&self) -> Option<BuildStop> {
        let alias = self.index.model.as_deref()?;
        let detail = match &self.model {
            None => format!("the embedding model `{alias}` is not configured any more"),
            Some(model) if self.build.embedder.as_deref() != Some(&*model.model) => {
                format!(
                    "the embedding model `{alias}` is another one than when the build was requested"
                )
            }
            Some(_) => return None,
        };
        Some(BuildStop::Failed { code: "unknown_model", detail })
    }

    async fn build(
        &self,
        attempt: &JobAttempt,
        guard: &ActiveGuard,
    ) -> Result<Result<(), BuildStop>, AppError> {
        let (app, scope, lease) = (&attempt.app, &attempt.job.scope, attempt.job.lease);
        let cancelled = guard.cancellation();
        let dimension = match self.dimension(app, scope, &cancelled).await? {
            Ok(dimension) => dimension,
            Err(stop) => return Ok(Err(stop)),
        };
        let (id, version) = (self.build.id, (self.index.dataset_id, self.build.dataset_version));
        if !persist(|| index_build::reuse(scope, &app.db, lease, id, dimension)).await? {
            return Ok(Err(BuildStop::Stopped));
        }
        let (mut after, mut segment) = (-1, SegmentInProgress::of(dimension));
        loop {
            let read = || {
                index_build::examples(scope, &app.db, version, &self.build, dimension, after, PAGE)
            };
            let examples = persist(read).await?;
            let last = examples.last().map(|example| example.position);
            if let Some(last) = last {
                after = last;
                let added = self.add(app, scope, &mut segment, examples, &cancelled).await?;
                if let Err(stop) = added {
                    return Ok(Err(stop));
                }
            }
            if cancelled.is_cancelled() {
                return Ok(Err(BuildStop::Stopped));
            }
            if segment.is_full() || (last.is_none() && !segment.is_empty()) {
                let full = std::mem::replace(&mut segment, SegmentInProgress::of(dimension)).new;
                if !self.store(scope, app, attempt, &full).await? {
                    return Ok(Err(BuildStop::Stopped));
                }
            }
            if last.is_none() {
                return Ok(Ok(()));
            }
        }
    }

    /// The length of the vectors of the model now; 0 without a model.
    async fn dimension(
        &self,
        app: &App,
        scope: &Scope,
        cancelled: &CancellationToken,
    ) -> Result<Result<i32, BuildStop>, AppError> {
        let Some(model) = &self.model else { return Ok(Ok(0)) };
        let probed = embed(app, model, &[PROBE.into()], cancelled).await;
        let probed = match self.paid(app, scope, model, probed).await? {
            Ok(probed) => probed,
            Err(_) if cancelled.is_cancelled() => return Ok(Err(BuildStop::Stopped)),
            Err(stop) => return Ok(Err(stop)),
        };
        let dimension = probed.dimension().and_then(|dimension| i32::try_from(dimension).ok());
        let none = || {
            BuildStop::model(format!("the embedding model `{}` returns empty vectors", model.alias))
        };
        Ok(dimension.filter(|dimension| *dimension > 0).ok_or_else(none))
    }

    /// Counts what an answer of the embedding model has cost.
    async fn paid(
        &self,
        app: &App,
        scope: &Scope,
        model: &EmbeddingModel,
        answer: Result<Embeddings, LmError>,
    ) -> Result<Result<Embeddings, BuildStop>, AppError> {
        let failed = |error: LmError| {
            BuildStop::model(format!(
                "the embedding model `{}` failed: {}",
                model.alias, error.message
            ))
        };
        let embedded = match answer {
            Ok(embedded) => embedded,
            Err(error) => return Ok(Err(failed(error))),
        };
        let cost = model.prices.map(|prices| prices.cost(&embedded.usage));
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let spent = EmbeddingUsage {
            requests: number(embedded.usage.lm_calls),
            tokens: number(embedded.usage.input_tokens),
            cost: cost.or(embedded.usage.cost),
        };
        if spent.requests > 0 {
            index_build::count_usage(scope, &app.db, self.build.id, spent).await?;
        }
        Ok(Ok(embedded))
    }

    async fn store(
        &self,
        scope: &Scope,
        app: &App,
        attempt: &JobAttempt,
        segment: &NewSegment,
    ) -> Result<bool, AppError> {
        let (lease, language) = (attempt.job.lease, self.index.language.as_str());
        // One id for all tries: a segment whose answer was lost is not added again.
        let named = (Uuid::now_v7(), segment);
        let add = || index_build::add_segment(scope, &app.db, lease, &self.build, language, named);
        Ok(persist(add).await?)
    }

    /// Adds a page of passages to a segment, with their vectors.
    async fn add(
        &self,
        app: &App,
        scope: &Scope,
        segment: &mut SegmentInProgress,
        examples: Vec<ExampleToIndex>,
        cancelled: &CancellationToken,
    ) -> Result<Result<(), BuildStop>, AppError> {
        let field = self.index.field.clone();
        let broken = || AppError::Internal("reading passages panicked".to_owned());
        let read =
            run_blocking(move || read(field.as_deref(), examples)).await.ok_or_else(broken)?;
        let mut page = match read {
            Ok(page) => page,
            Err(detail) => return Ok(Err(BuildStop::Failed { code: "invalid_input", detail })),
        };
        if let Some(model) = &self.model {
            let new = page.iter().filter(|passage| passage.vector.is_none());
            let texts: Vec<Arc<str>> = new.map(|passage| passage.text.clone()).collect();
            let answer = embed(app, model, &texts, cancelled).await;
            match self.paid(app, scope, model, answer).await? {
                Ok(embedded) => fill_vectors(&mut page, &embedded),
                Err(_) if cancelled.is_cancelled() => return Ok(Err(BuildStop::Stopped)),
                Err(stop) => return Ok(Err(stop)),
            }
        }
        Ok(segment.add(page).map_err(BuildStop::model))
    }
}

/// The passages of examples that are not indexed yet. The error names the example that has none.
fn read(field: Option<&str>, examples: Vec<ExampleToIndex>) -> Result<Vec<Passage>, String> {
    let passage = |example: ExampleToIndex| {
        let ExampleToIndex { example_id: id, content, inputs, vector, .. } = example;
        let text = passage::text(&inputs?, field);
        let text = text.map_err(|reason| format!("the example `{id}` {reason}"));
        Some(text.map(|text| Passage {
            words: passage::words(&text),
            text: text.into(),
            id,
            content,
            vector,
        }))
    };
    examples.into_iter().filter_map(passage).collect()
}

/// A passage to index.
struct Passage {
    id: String,
    /// The hash of its example.
    content: Vec<u8>,
    text: Arc<str>,
    words: String,
    /// Of length 1.
    vector: Option<Vec<u8>>,
}

/// Gives the passages that have no vector those that were made.
fn fill_vectors(page: &mut [Passage], made: &Embeddings) {
    let new = page.iter_mut().filter(|passage| passage.vector.is_none());
    for (passage, vector) in new.zip(&made.vectors) {
        let mut bytes = Vec::with_capacity(vector.len() * 4);
        vector_bytes(vector, &mut bytes);
        passage.vector = Some(bytes);
    }
}

async fn embed(
    app: &App,
    model: &EmbeddingModel,
    texts: &[Arc<str>],
    cancelled: &CancellationToken,
) -> Result<Embeddings, LmError> {
    let lane = app.models.lane();
    let policy = RetryPolicy {
        retries: RETRIES,
        deadline: Instant::now() + EMBEDDING_TIME,
        cancelled,
        is_streamed: false,
        gates: Gates { lane: &lane, model: model.gate.as_ref(), all: app.models.gate() },
    };
    retry::embed(&*model.embedder, texts, None, &policy).await
}

/// A segment that is not full yet.
struct SegmentInProgress {
    new: NewSegment,
    bytes: usize,
}

impl SegmentInProgress {
    fn of(dimension: i32) -> Self {
        let vectors = (dimension > 0).then(Vec::new);
        Self { new: NewSegment { dimension, vectors, ..NewSegment::default() }, bytes: 0 }
    }

    fn is_empty(&self) -> bool {
        self.new.texts.is_empty()
    }

    fn is_full(&self) -> bool {
        self.new.texts.len() >= SEGMENT || self.bytes >= SEGMENT_BYTES
    }

    /// Adds a page. The error says that a vector has another length than those before.
    fn add(&mut self, page: Vec<Passage>) -> Result<(), String> {
        for Passage { id, content, text, words, vector } in page {
            if let Some(vectors) = &mut self.new.vectors {
                let vector = vector.unwrap_or_default();
                let (length, expected) = (vector.len() / 4, self.new.dimension);
                if i32::try_from(length) != Ok(expected) {
                    return Err(format!(
                        "the embedding model returned vectors of {expected} numbers and of {length}"
                    ));
                }
                vectors.extend_from_slice(&vector);
            }
            self.bytes += text.len();
            self.new.example_ids.push(id);
            self.new.contents.push(content);
            self.new.texts.push(Payload::Str(text).to_json());
            self.new.words.push(words);
        }
        Ok(())
    }
}
