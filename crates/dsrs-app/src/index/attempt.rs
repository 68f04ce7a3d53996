//! Builds of indexes as a kind of job: passages that the build before has not indexed get words and vectors, one segment at a
//! time. Each segment is one transaction, so that another attempt continues behind it.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::retry::{self, RetryPolicy};
use dsrs::lm::{EmbeddingModel, Gates, LmError, Usage};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

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
use dsrs_store::index_build::{self, IndexBuildRow, MissingPassage, NewSegment};
use dsrs_store::job::{self, JobEnd};
use dsrs_store::persist;
use dsrs_store::run::RunStatus;

/// The most passages of a segment.
const SEGMENT: usize = 4000;

/// The bytes of text from which on a segment is full.
const SEGMENT_BYTES: usize = 8 << 20;

/// The passages that are read, and embedded, at a time.
const PAGE: i64 = 500;

/// How often a request to the embedding model is repeated, and how long it may take with all repeats.
const RETRIES: u32 = 5;
const EMBEDDING_TIME: Duration = Duration::from_secs(300);

/// The kind of job that builds an index.
pub struct IndexBuilds;

/// What an attempt needs.
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
        if let (Some(alias), None) = (&work.index.model, &work.model) {
            let detail = format!("the embedding model `{alias}` is not configured any more");
            return Ok(Conclusion::failed("unknown_model", detail).into());
        }
        Ok(match work.build(attempt, guard).await? {
            Ok(()) => Conclusion::Finished(()).into(),
            Err(BuildStop::Failed { code, detail }) => Conclusion::failed(code, detail).into(),
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
    async fn build(
        &self,
        attempt: &JobAttempt,
        guard: &ActiveGuard,
    ) -> Result<Result<(), BuildStop>, AppError> {
        let (app, scope, lease) = (&attempt.app, &attempt.job.scope, attempt.job.lease);
        let id = self.build.id;
        if !persist(|| index_build::reuse(scope, &app.db, lease, id)).await? {
            return Ok(Err(BuildStop::Stopped));
        }
        let (mut after, mut segment, cancelled) =
            (-1, SegmentInProgress::default(), guard.cancellation());
        loop {
            let missing = persist(|| index_build::missing(scope, &app.db, id, after, PAGE)).await?;
            let last = missing.last().map(|passage| passage.position);
            if let Some(last) = last {
                after = last;
                if let Err(stop) = self.add(app, &mut segment, missing, &cancelled).await? {
                    return Ok(Err(stop));
                }
            }
            if cancelled.is_cancelled() {
                return Ok(Err(BuildStop::Stopped));
            }
            if segment.is_full() || (last.is_none() && !segment.is_empty()) {
                let full = std::mem::take(&mut segment).new;
                if !self.store(scope, app, attempt, &full).await? {
                    return Ok(Err(BuildStop::Stopped));
                }
            }
            if last.is_none() {
                return Ok(Ok(()));
            }
        }
    }

    async fn store(
        &self,
        scope: &Scope,
        app: &App,
        attempt: &JobAttempt,
        segment: &NewSegment,
    ) -> Result<bool, AppError> {
        let (lease, language) = (attempt.job.lease, self.index.language.as_str());
        let add =
            || index_build::add_segment(scope, &app.db, lease, &self.build, language, segment);
        Ok(persist(add).await?)
    }

    /// Adds a page of passages to a segment, with their vectors.
    async fn add(
        &self,
        app: &App,
        segment: &mut SegmentInProgress,
        missing: Vec<MissingPassage>,
        cancelled: &CancellationToken,
    ) -> Result<Result<(), BuildStop>, AppError> {
        let field = self.index.field.clone();
        let read = move || Self::read(field.as_deref(), missing);
        let broken = || AppError::Internal("reading passages panicked".to_owned());
        let read = run_blocking(read).await.ok_or_else(broken)?;
        let page = match read {
            Ok(page) => page,
            Err(detail) => return Ok(Err(BuildStop::Failed { code: "invalid_input", detail })),
        };
        let vectors = match &self.model {
            None => None,
            Some(model) => match vectors_of(app, model, &page, cancelled).await {
                Ok(found) => Some(found),
                Err(_) if cancelled.is_cancelled() => return Ok(Err(BuildStop::Stopped)),
                Err(error) => {
                    let detail =
                        format!("the embedding model `{}` failed: {}", model.alias, error.message);
                    return Ok(Err(BuildStop::Failed { code: "lm_error", detail }));
                }
            },
        };
        let added = segment.add(page, vectors);
        Ok(added.map_err(|detail| BuildStop::Failed { code: "lm_error", detail }))
    }

    fn read(field: Option<&str>, missing: Vec<MissingPassage>) -> Result<Vec<Passage>, String> {
        let passage = |missing: MissingPassage| {
            let text = passage::text(&missing.inputs, field)
                .map_err(|reason| format!("the example `{}` {reason}", missing.example_id))?;
            Ok(Passage { words: passage::words(&text), text: text.into(), missing })
        };
        missing.into_iter().map(passage).collect()
    }
}

/// A passage to index.
struct Passage {
    missing: MissingPassage,
    text: Arc<str>,
    words: String,
}

/// The vectors of a page, and what they cost.
struct PageVectors {
    /// In the order of the passages, each of length 1.
    vectors: Vec<Vec<u8>>,
    usage: Usage,
}

/// The vectors of passages. Those that the build before had are not asked for again.
async fn vectors_of(
    app: &App,
    model: &EmbeddingModel,
    page: &[Passage],
    cancelled: &CancellationToken,
) -> Result<PageVectors, LmError> {
    let new = page.iter().filter(|passage| passage.missing.vector.is_none());
    let texts: Vec<Arc<str>> = new.map(|passage| passage.text.clone()).collect();
    let lane = app.models.lane();
    let policy = RetryPolicy {
        retries: RETRIES,
        deadline: Instant::now() + EMBEDDING_TIME,
        cancelled,
        is_streamed: false,
        gates: Gates { lane: &lane, model: model.gate.as_ref(), all: app.models.gate() },
    };
    let embedded = retry::embed(&*model.embedder, &texts, None, &policy).await?;
    let cost = model.prices.map(|prices| prices.cost(&embedded.usage));
    let usage = Usage { cost: cost.or(embedded.usage.cost), ..embedded.usage };
    let mut made = embedded.vectors.into_iter().map(|vector| {
        let mut bytes = Vec::with_capacity(vector.len() * 4);
        vector_bytes(&vector, &mut bytes);
        bytes
    });
    let vector = |passage: &Passage| passage.missing.vector.clone().or_else(|| made.next());
    Ok(PageVectors { vectors: page.iter().filter_map(vector).collect(), usage })
}

/// A segment that is not full yet.
#[derive(Default)]
struct SegmentInProgress {
    new: NewSegment,
    bytes: usize,
}

impl SegmentInProgress {
    fn is_empty(&self) -> bool {
        self.new.texts.is_empty()
    }

    fn is_full(&self) -> bool {
        self.new.texts.len() >= SEGMENT || self.bytes >= SEGMENT_BYTES
    }

    /// Adds a page. The error says that its vectors have another length than those before.
    fn add(&mut self, page: Vec<Passage>, vectors: Option<PageVectors>) -> Result<(), String> {
        if let Some(PageVectors { vectors, usage }) = vectors {
            for vector in vectors {
                self.add_vector(&vector)?;
            }
            let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            self.new.requests += number(usage.lm_calls);
            self.new.tokens += number(usage.input_tokens);
            self.new.cost = match (self.new.cost, usage.cost) {
                (Some(before), Some(cost)) => Some(before + cost),
                (before, cost) => before.or(cost),
            };
        }
        for Passage { missing, text, words } in page {
            self.bytes += text.len();
            self.new.example_ids.push(missing.example_id);
            self.new.contents.push(missing.content);
            self.new.texts.push(dsrs::value::Payload::Str(text).to_json());
            self.new.words.push(words);
        }
        Ok(())
    }

    fn add_vector(&mut self, vector: &[u8]) -> Result<(), String> {
        let dimension = i32::try_from(vector.len() / 4).unwrap_or(i32::MAX);
        let all = self.new.vectors.get_or_insert_default();
        if all.is_empty() {
            self.new.dimension = dimension;
        }
        if dimension != self.new.dimension {
            return Err(format!(
                "the embedding model returned vectors of {} numbers for some passages and of {dimension} for others",
                self.new.dimension
            ));
        }
        all.extend_from_slice(vector);
        Ok(())
    }
}
