//! Searches in indexes: by words, by vectors, or both. What a run may search is bound to its workspace. Knows neither SQL nor
//! how vectors are compared.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::retry::{self, RetryPolicy};
use dsrs::lm::{EmbeddingModel, Gates, LmError, LmErrorKind};
use dsrs::predict::{
    Ctx, Passage, PassageIndexes, PassageSearch, SearchRanking, ToolError, embed_query,
};
use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::passage;
use super::vectors::VectorCache;
use crate::program::references::no_vectors;
use crate::{App, AppError, Invalid};
use dsrs_api::index::{LONGEST_QUERY, SearchRequest};
use dsrs_store::index::{self, IndexRow};
use dsrs_store::index_search::{self, PassagePlace, RankedPassage};
use dsrs_store::{Db, Scope};

/// How much a lower place counts in reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
const FUSION: f64 = 60.0;

/// The passages of each order that a fusion considers, for each passage that it returns.
const DEPTH: usize = 4;

/// Searches at a time; others wait. They share connections with everything else.
const CONCURRENCY: usize = 4;

/// The most rounds of a search: it begins again when a build has ended meanwhile.
const ROUNDS: usize = 3;

/// How long the vector of a query may take outside of a run.
const EMBEDDING_TIME: Duration = Duration::from_secs(30);

/// The indexes of all workspaces.
pub(crate) struct IndexSearcher {
    db: Db,
    vectors: VectorCache,
    turns: Semaphore,
}

/// The indexes of a workspace, as its runs search them.
struct WorkspaceIndexes {
    searcher: Arc<IndexSearcher>,
    scope: Scope,
}

impl IndexSearcher {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, vectors: VectorCache::new(), turns: Semaphore::new(CONCURRENCY) }
    }

    /// The indexes that a run of a workspace may search.
    pub(crate) fn of_workspace(self: &Arc<Self>, scope: &Scope) -> Arc<dyn PassageIndexes> {
        Arc::new(WorkspaceIndexes { searcher: self.clone(), scope: scope.clone() })
    }

    /// The best passages, the best first. A build that ends meanwhile takes its passages away: then the search begins again
    /// with what answers now.
    async fn search(
        &self,
        scope: &Scope,
        index: &str,
        search: &PassageSearch,
        query: Option<Arc<[f32]>>,
    ) -> Result<Vec<Passage>, AppError> {
        let closed = |_| AppError::Internal("the searches are closed".to_owned());
        let _turn = self.turns.acquire().await.map_err(closed)?;
        let mut row = index::get(scope, &self.db, index).await?;
        for _ in 0..ROUNDS {
            let build = built(&row)?;
            let found = self.search_build(scope, &row, build, search, query.as_ref()).await;
            let now = index::get(scope, &self.db, index).await?;
            if now.build_id == row.build_id {
                return found;
            }
            row = now;
        }
        Err(AppError::Unavailable(format!("the index `{index}` is built again and again")))
    }

    async fn search_build(
        &self,
        scope: &Scope,
        row: &IndexRow,
        build: Uuid,
        search: &PassageSearch,
        query: Option<&Arc<[f32]>>,
    ) -> Result<Vec<Passage>, AppError> {
        let by_words = |count| self.by_words(scope, row, build, &search.query, count);
        let mut ranked = match (ranking(row, search)?, query) {
            (SearchRanking::Text, _) | (_, None) => by_words(search.k).await?,
            (SearchRanking::Vector, Some(query)) => {
                self.by_vectors(scope, build, query, search.k).await?
            }
            (SearchRanking::Hybrid, Some(query)) => {
                let depth = search.k * DEPTH;
                let by_words = by_words(depth).await?;
                fuse(by_words, self.by_vectors(scope, build, query, depth).await?)
            }
        };
        ranked.truncate(search.k);
        self.passages(scope, ranked).await
    }

    async fn by_words(
        &self,
        scope: &Scope,
        index: &IndexRow,
        build: Uuid,
        query: &str,
        count: usize,
    ) -> Result<Vec<RankedPassage>, AppError> {
        let (words, count) = (passage::words(query), i64::try_from(count).unwrap_or(i64::MAX));
        let found = index_search::by_words(scope, &self.db, build, &index.language, &words, count);
        Ok(found.await?)
    }

    async fn by_vectors(
        &self,
        scope: &Scope,
        build: Uuid,
        query: &Arc<[f32]>,
        count: usize,
    ) -> Result<Vec<RankedPassage>, AppError> {
        let segments = index_search::vector_segments(scope, &self.db, build).await?;
        let nearest = self.vectors.nearest(scope, &self.db, &segments, query, count).await?;
        let places: Vec<PassagePlace> = nearest.iter().map(|(place, _)| *place).collect();
        let ids = index_search::ids(scope, &self.db, &places).await?.into_iter();
        let mut ids: HashMap<PassagePlace, String> =
            ids.map(|(segment_id, number, id)| (PassagePlace { segment_id, number }, id)).collect();
        let named = nearest.into_iter().filter_map(|(place, score)| {
            Some(RankedPassage { place, example_id: ids.remove(&place)?, score })
        });
        let mut ranked: Vec<RankedPassage> = named.collect();
        sort(&mut ranked);
        ranked.truncate(count);
        Ok(ranked)
    }

    /// The texts of passages, in their order.
    async fn passages(
        &self,
        scope: &Scope,
        ranked: Vec<RankedPassage>,
    ) -> Result<Vec<Passage>, AppError> {
        let places: Vec<PassagePlace> = ranked.iter().map(|passage| passage.place).collect();
        let rows = index_search::passages(scope, &self.db, &places).await?.into_iter();
        let mut texts: HashMap<PassagePlace, String> =
            rows.map(|row| (row.place, row.text)).collect();
        let read = |passage: RankedPassage| {
            let text = Payload::from_record(&texts.remove(&passage.place)?).ok()?;
            let Payload::Str(text) = text else { return None };
            Some(Passage { id: passage.example_id.into(), text, score: passage.score })
        };
        Ok(ranked.into_iter().filter_map(read).collect())
    }
}

/// The best first; passages of one score in the order of their ids, so that the order does not depend on how the index was
/// built.
fn sort(ranked: &mut [RankedPassage]) {
    ranked.sort_unstable_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| one.example_id.cmp(&other.example_id))
    });
}

/// The order of two orders together: each adds the more, the earlier it has a passage.
fn fuse(one: Vec<RankedPassage>, other: Vec<RankedPassage>) -> Vec<RankedPassage> {
    let mut fused: HashMap<PassagePlace, RankedPassage> = HashMap::new();
    for order in [one, other] {
        let mut place = 0.0;
        for passage in order {
            place += 1.0;
            let found = fused
                .entry(passage.place)
                .or_insert_with(|| RankedPassage { score: 0.0, ..passage });
            found.score += 1.0 / (FUSION + place);
        }
    }
    let mut fused: Vec<RankedPassage> = fused.into_values().collect();
    sort(&mut fused);
    fused
}

/// How passages are ranked.
fn ranking(row: &IndexRow, search: &PassageSearch) -> Result<SearchRanking, AppError> {
    let has_vectors = row.model.is_some();
    match search.ranking {
        None if has_vectors => Ok(SearchRanking::Hybrid),
        None | Some(SearchRanking::Text) => Ok(SearchRanking::Text),
        Some(asked) if has_vectors => Ok(asked),
        Some(_) => Err(AppError::NotComparable(no_vectors(&row.name))),
    }
}

/// The build that answers.
fn built(row: &IndexRow) -> Result<Uuid, AppError> {
    let detail = || {
        let name = &row.name;
        format!("no build of the index `{name}` has succeeded yet; GET /v1/indexes/{name} says why")
    };
    row.build_id.ok_or_else(|| AppError::RunUnfinished(detail()))
}

/// Vectors of different models cannot be compared.
fn check_embedder(row: &IndexRow, model: Option<&Arc<EmbeddingModel>>) -> Result<(), AppError> {
    match (model, &row.embedder) {
        (Some(model), Some(embedder)) if *model.model != **embedder => {
            let IndexRow { name, .. } = row;
            let detail = format!(
                "the vectors of the index `{name}` are of the model `{embedder}`, and `{}` is `{}` now: build the index \
                 again with POST /v1/indexes/{name}/builds",
                model.alias, model.model
            );
            Err(AppError::NotComparable(detail))
        }
        _ => Ok(()),
    }
}

/// The alias of the model that makes the vector of a query; `None` if the search needs none.
fn embedder_of<'r>(row: &'r IndexRow, search: &PassageSearch) -> Result<Option<&'r str>, AppError> {
    Ok(match ranking(row, search)? {
        SearchRanking::Text => None,
        SearchRanking::Vector | SearchRanking::Hybrid => row.model.as_deref(),
    })
}

impl WorkspaceIndexes {
    async fn find(
        &self,
        ctx: &Ctx,
        index: &str,
        search: &PassageSearch,
    ) -> Result<Vec<Passage>, SearchFailure> {
        let (scope, searcher) = (&self.scope, &self.searcher);
        let row = index::get(scope, &searcher.db, index).await.map_err(AppError::from)?;
        built(&row)?;
        let query = match embedder_of(&row, search)? {
            None => None,
            Some(alias) => {
                check_embedder(&row, ctx.run.models.embedding(alias))?;
                let embedded = embed_query(ctx, alias, search.query.clone()).await;
                Some(embedded.map_err(|error| SearchFailure(ToolError::Fatal(error)))?)
            }
        };
        Ok(searcher.search(scope, index, search, query).await?)
    }
}

impl PassageIndexes for WorkspaceIndexes {
    fn search<'a>(
        &'a self,
        ctx: &'a Ctx,
        index: &'a str,
        search: PassageSearch,
    ) -> BoxFuture<'a, Result<Vec<Passage>, ToolError>> {
        async move {
            let length = search.query.chars().count();
            if length > LONGEST_QUERY {
                let detail =
                    format!("`query` has {length} characters, at most {LONGEST_QUERY} are allowed");
                return Err(ToolError::reported(detail));
            }
            self.find(ctx, index, &search).await.map_err(|failure| failure.0)
        }
        .boxed()
    }
}

/// The failure of a search as that of a tool.
struct SearchFailure(ToolError);

impl From<AppError> for SearchFailure {
    fn from(error: AppError) -> Self {
        Self(match error {
            AppError::Unavailable(reason) => ToolError::unavailable(reason, None),
            AppError::Internal(cause) => {
                tracing::error!(cause, "a search failed");
                ToolError::reported("the search failed; the log has the cause")
            }
            other => ToolError::reported(other.to_string()),
        })
    }
}

impl App {
    /// Searches an index outside of a run. `problems` are those of the members of the request.
    pub async fn index_search(
        &self,
        scope: &Scope,
        name: &str,
        (request, mut problems): (SearchRequest, Problems),
    ) -> Result<Vec<Passage>, AppError> {
        let row = index::get(scope, &self.db, name).await?;
        let query: Arc<str> = request.query.into();
        let search = PassageSearch { query: query.clone(), k: request.k, ranking: request.ranking };
        if let Err(error) = ranking(&row, &search) {
            problems.add(&At::Root.key("ranking"), Code::InvalidValue, error.to_string());
        }
        problems.or(()).map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        built(&row)?;
        let query = match embedder_of(&row, &search)? {
            None => None,
            Some(alias) => {
                check_embedder(&row, self.models.embedding(alias))?;
                Some(self.query_vector(alias, query).await?)
            }
        };
        self.indexes.search(scope, name, &search, query).await
    }

    async fn query_vector(&self, alias: &str, query: Arc<str>) -> Result<Arc<[f32]>, AppError> {
        let missing =
            || AppError::Unavailable(format!("the embedding model `{alias}` is not configured"));
        let model = self.models.embedding(alias).ok_or_else(missing)?;
        let (lane, cancelled) = (self.models.lane(), CancellationToken::new());
        let policy = RetryPolicy {
            retries: 2,
            deadline: Instant::now() + EMBEDDING_TIME,
            cancelled: &cancelled,
            is_streamed: false,
            gates: Gates { lane: &lane, model: model.gate.as_ref(), all: self.models.gate() },
        };
        let embedded = retry::embed(&*model.embedder, &[query], None, &policy).await;
        let failed = |error: LmError| {
            let detail = format!("the embedding model `{alias}` failed: {}", error.message);
            match error.kind {
                LmErrorKind::RateLimited => AppError::TooBusy(detail),
                _ => AppError::Unavailable(detail),
            }
        };
        let vectors = embedded.map_err(failed)?.vectors;
        Ok(vectors.into_iter().next().unwrap_or_else(|| Arc::from([])))
    }
}
