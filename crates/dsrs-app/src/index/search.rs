//! Searches in indexes: by words, by vectors, or both. What a run may search is bound to its workspace. Knows neither SQL nor
//! how vectors are compared.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::retry::{self, RetryPolicy};
use dsrs::lm::{Gates, LmError, LmErrorKind};
use dsrs::predict::{
    Ctx, Passage, PassageIndexes, PassageSearch, SearchRanking, ToolError, embed_query,
};
use dsrs::problem::{At, Code, Problems};
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::passage;
use super::vectors::VectorCache;
use crate::{App, AppError, Invalid};
use dsrs_api::index::{LONGEST_QUERY, SearchRequest};
use dsrs_store::index::{self, IndexRow};
use dsrs_store::index_search::{self, PassagePlace};
use dsrs_store::{Db, Scope};

/// How much a lower place counts in reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
const FUSION: f64 = 60.0;

/// The passages of each order that a fusion considers, for each passage that it returns.
const DEPTH: usize = 4;

/// How long the vector of a query may take outside of a run.
const EMBEDDING_TIME: Duration = Duration::from_secs(30);

/// The indexes of all workspaces.
pub(crate) struct IndexSearcher {
    db: Db,
    vectors: VectorCache,
}

/// The indexes of a workspace, as its runs search them.
struct WorkspaceIndexes {
    searcher: Arc<IndexSearcher>,
    scope: Scope,
}

/// Passages by their places, the best first.
type Ranked = Vec<(PassagePlace, f64)>;

impl IndexSearcher {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, vectors: VectorCache::new() }
    }

    /// The indexes that a run of a workspace may search.
    pub(crate) fn of_workspace(self: &Arc<Self>, scope: &Scope) -> Arc<dyn PassageIndexes> {
        Arc::new(WorkspaceIndexes { searcher: self.clone(), scope: scope.clone() })
    }

    /// The best passages, the best first. `embed` makes the vector of the query with the model of an alias.
    async fn search<E, F>(
        &self,
        scope: &Scope,
        index: &IndexRow,
        build: Uuid,
        search: &PassageSearch,
        embed: impl FnOnce(Arc<str>) -> F + Send,
    ) -> Result<Vec<Passage>, E>
    where
        F: Future<Output = Result<Arc<[f32]>, E>> + Send,
        E: From<AppError>,
    {
        let ranking = search.ranking.unwrap_or(match index.model {
            Some(_) => SearchRanking::Hybrid,
            None => SearchRanking::Text,
        });
        if index.model.is_none() && ranking != SearchRanking::Text {
            return Err(AppError::NotComparable(no_vectors(&index.name)).into());
        }
        let depth = if ranking == SearchRanking::Hybrid { search.k * DEPTH } else { search.k };
        let by_words = async {
            match ranking {
                SearchRanking::Vector => Ok(Ranked::new()),
                _ => self.by_words(scope, index, build, &search.query, depth).await,
            }
        };
        let by_vectors = async {
            let Some(alias) = index.model.as_deref().filter(|_| ranking != SearchRanking::Text)
            else {
                return Ok::<_, E>(Ranked::new());
            };
            let query = embed(alias.into()).await?;
            self.by_vectors(scope, build, query, depth).await.map_err(E::from)
        };
        let (by_words, by_vectors) = tokio::join!(by_words, by_vectors);
        let (by_words, by_vectors) = (by_words?, by_vectors?);
        let ranked = match ranking {
            SearchRanking::Text => by_words,
            SearchRanking::Vector => by_vectors,
            SearchRanking::Hybrid => fuse(&by_words, &by_vectors),
        };
        Ok(self.passages(scope, ranked, search.k).await?)
    }

    async fn by_words(
        &self,
        scope: &Scope,
        index: &IndexRow,
        build: Uuid,
        query: &str,
        count: usize,
    ) -> Result<Ranked, AppError> {
        let (words, count) = (passage::words(query), i64::try_from(count).unwrap_or(i64::MAX));
        let found = index_search::by_words(scope, &self.db, build, &index.language, &words, count);
        Ok(found.await?.into_iter().map(|found| (found.place, found.score)).collect())
    }

    async fn by_vectors(
        &self,
        scope: &Scope,
        build: Uuid,
        query: Arc<[f32]>,
        count: usize,
    ) -> Result<Ranked, AppError> {
        let segments = index_search::vector_segments(scope, &self.db, build).await?;
        self.vectors.nearest(scope, &self.db, &segments, &query, count).await
    }

    /// The texts of the best passages. Passages of one score are in the order of their ids, so that the order does not depend
    /// on how the index was built.
    async fn passages(
        &self,
        scope: &Scope,
        ranked: Ranked,
        count: usize,
    ) -> Result<Vec<Passage>, AppError> {
        let scores: HashMap<PassagePlace, f64> = ranked.iter().copied().collect();
        let places: Vec<PassagePlace> = ranked.into_iter().map(|(place, _)| place).collect();
        let rows = index_search::passages(scope, &self.db, &places).await?;
        let read = |row: index_search::PassageRow| {
            let broken =
                || AppError::Internal(format!("the passage `{}` does not load", row.example_id));
            let Ok(Payload::Str(text)) = Payload::from_record(&row.text) else {
                return Err(broken());
            };
            let score = scores.get(&row.place).copied().unwrap_or_default();
            Ok(Passage { id: row.example_id.into(), text, score })
        };
        let mut found: Vec<Passage> = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        found.sort_by(|one, other| {
            other.score.total_cmp(&one.score).then_with(|| one.id.cmp(&other.id))
        });
        found.truncate(count);
        Ok(found)
    }
}

/// The order of two orders together: each adds the more, the earlier it has a passage.
fn fuse(one: &Ranked, other: &Ranked) -> Ranked {
    let mut scores: HashMap<PassagePlace, f64> = HashMap::new();
    for order in [one, other] {
        let mut place = 0.0;
        for (passage, _) in order {
            place += 1.0;
            *scores.entry(*passage).or_default() += 1.0 / (FUSION + place);
        }
    }
    scores.into_iter().collect()
}

impl PassageIndexes for WorkspaceIndexes {
    fn search<'a>(
        &'a self,
        ctx: &'a Ctx,
        index: &'a str,
        search: PassageSearch,
    ) -> BoxFuture<'a, Result<Vec<Passage>, ToolError>> {
        async move {
            if search.query.len() > LONGEST_QUERY {
                let length = search.query.len();
                let detail =
                    format!("`query` has {length} bytes, at most {LONGEST_QUERY} are allowed");
                return Err(ToolError::reported(detail));
            }
            let row = index::get(&self.scope, &self.searcher.db, index).await;
            let row = row.map_err(|error| SearchFailure::from(AppError::from(error)).0)?;
            let build = built(&row).map_err(|error| SearchFailure::from(error).0)?;
            let query = search.query.clone();
            let embed = |alias: Arc<str>| async move {
                let vector = embed_query(ctx, &alias, query).await;
                vector.map_err(|error| SearchFailure(ToolError::Fatal(error)))
            };
            let found = self.searcher.search(&self.scope, &row, build, &search, embed).await;
            found.map_err(|failure: SearchFailure| failure.0)
        }
        .boxed()
    }
}

fn no_vectors(index: &str) -> String {
    format!(
        "the index `{index}` has no vectors, because it was created without a model: use the ranking `text`"
    )
}

/// The build that answers.
fn built(row: &IndexRow) -> Result<Uuid, AppError> {
    let detail = || {
        format!(
            "the index `{}` has no build that has succeeded; GET /v1/indexes/{0} says why",
            row.name
        )
    };
    row.build_id.ok_or_else(|| AppError::RunUnfinished(detail()))
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
        if row.model.is_none()
            && matches!(request.ranking, Some(SearchRanking::Vector | SearchRanking::Hybrid))
        {
            problems.add(&At::Root.key("ranking"), Code::InvalidValue, no_vectors(name));
        }
        problems.or(()).map_err(|problems| AppError::invalid(Invalid::Request, problems))?;
        let build = built(&row)?;
        let query: Arc<str> = request.query.into();
        let search = PassageSearch { query: query.clone(), k: request.k, ranking: request.ranking };
        let embed = |alias: Arc<str>| self.query_vector(alias, query);
        self.indexes.search(scope, &row, build, &search, embed).await
    }

    async fn query_vector(&self, alias: Arc<str>, query: Arc<str>) -> Result<Arc<[f32]>, AppError> {
        let missing =
            || AppError::Unavailable(format!("the embedding model `{alias}` is not configured"));
        let model = self.models.embedding(&alias).ok_or_else(missing)?;
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
