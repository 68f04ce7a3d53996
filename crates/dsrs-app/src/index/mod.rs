//! Indexes of passages: created from a dataset, built, searched, deleted. Builds are in `attempt`. May know datasets and
//! jobs; may not know HTTP, nor how words and vectors are stored.

pub(crate) mod attempt;
mod passage;
pub(crate) mod search;
mod vectors;

use std::sync::Arc;

use dsrs::problem::{At, Code, Problems};
use uuid::Uuid;

use self::attempt::IndexBuilds;
use crate::clock::now;
use crate::job::request::JobRequest;
use crate::{App, AppError, Commit, Invalid, RequestId};
use dsrs_api::index::{IndexBuildRequest, IndexRequest};
use dsrs_store::dataset::{self, DatasetRow};
use dsrs_store::dataset_example::{self, PageLimits};
use dsrs_store::index::{self, IndexRow, MOST_INDEXES};
use dsrs_store::index_build::{self, IndexBuildRow};
use dsrs_store::run::RunStatus;
use dsrs_store::{ListQuery, Page, Scope, StoreError};

/// An index with its builds.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexWithBuilds {
    pub row: IndexRow,
    /// The newest build.
    pub newest: Option<IndexBuildRow>,
    /// The build that answers searches.
    pub answering: Option<IndexBuildRow>,
}

impl App {
    /// Creates an index, and starts its first build. `problems` are those of the members of the request.
    pub async fn index_create(
        &self,
        scope: &Scope,
        (request, mut problems): (IndexRequest, Problems),
        request_id: RequestId,
        commit: Commit<IndexWithBuilds>,
    ) -> Result<IndexWithBuilds, AppError> {
        let found = dataset::get(scope, &self.db, &request.dataset, request.version).await;
        let dataset = match found {
            Err(error @ StoreError::NotFound { .. }) => {
                let is_version =
                    matches!(error, StoreError::NotFound { what: "dataset version", .. });
                let member = if is_version { "version" } else { "dataset" };
                problems.add(&At::Root.key(member), Code::InvalidValue, error.to_string());
                None
            }
            found => Some(found?),
        };
        if let Some(alias) = &request.model
            && self.models.embedding(alias).is_none()
        {
            problems.add(&At::Root.key("model"), Code::InvalidValue, self.no_embedder(alias));
        }
        let field = request.text.as_deref();
        if let Some(dataset) = &dataset {
            self.index_check_text(scope, dataset, field, &mut problems).await?;
        }
        let invalid = |problems| AppError::invalid(Invalid::Request, problems);
        let dataset = problems.or(dataset).map_err(invalid)?;
        let Some(dataset) = dataset else {
            return Err(AppError::Internal("no dataset".to_owned()));
        };
        let row = row(scope, request, &dataset);
        let build = self.index_build(scope, &row, &dataset);
        let created = IndexWithBuilds { row, newest: Some(build.clone()), answering: None };
        let (asked, ending) =
            (JobRequest::new(None, request_id).to_json(), commit.ending(&created));
        let stored = index::create(scope, &self.db, &created.row, &build, &asked, &ending).await?;
        let full =
            || AppError::Forbidden(format!("the workspace has {MOST_INDEXES} indexes; delete one"));
        stored.ok_or_else(full)?;
        Ok(created)
    }

    fn no_embedder(&self, alias: &str) -> String {
        let able: Vec<String> =
            self.models.embedding_models().map(|model| format!("`{}`", model.alias)).collect();
        let known = if able.is_empty() { "none is configured".to_owned() } else { able.join(", ") };
        format!("`{alias}` is no embedding model; embedding models: {known}")
    }

    /// Checks that the first example has a passage. The build checks the others.
    async fn index_check_text(
        &self,
        scope: &Scope,
        dataset: &DatasetRow,
        field: Option<&str>,
        problems: &mut Problems,
    ) -> Result<(), AppError> {
        let version = (dataset.id, dataset.version.version);
        let limits = PageLimits { count: 1, bytes: 1 };
        let first = dataset_example::page(scope, &self.db, version, None, -1, limits).await?;
        if let Some(first) = first.first()
            && let Err(reason) = passage::text(&first.inputs, field)
        {
            let detail = format!("the example `{}` {reason}", first.id);
            problems.add(&At::Root.key("text"), Code::InvalidValue, detail);
        }
        Ok(())
    }

    fn index_build(&self, scope: &Scope, index: &IndexRow, dataset: &DatasetRow) -> IndexBuildRow {
        let model = index.model.as_deref().and_then(|alias| self.models.embedding(alias));
        IndexBuildRow {
            id: Uuid::now_v7(),
            index_id: index.id,
            dataset_version: dataset.version.version,
            embedder: model.map(|model| model.model.to_string()),
            status: RunStatus::Queued,
            total: dataset.version.count,
            done: 0,
            reused: 0,
            words: 0,
            requests: 0,
            tokens: 0,
            cost: None,
            error: None,
            created_at: now(),
            started_at: None,
            finished_at: None,
            created_by: scope.actor.to_string(),
        }
    }

    /// Starts another build of an index: of the newest version of its dataset, or of one that is named.
    pub async fn index_rebuild(
        &self,
        scope: &Scope,
        name: &str,
        request: IndexBuildRequest,
        request_id: RequestId,
        commit: Commit<IndexWithBuilds>,
    ) -> Result<IndexWithBuilds, AppError> {
        let found = self.index_get(scope, name).await?;
        let dataset = dataset::get(scope, &self.db, &found.row.dataset, request.version).await?;
        if dataset.id != found.row.dataset_id {
            let detail = format!(
                "the dataset `{}` was deleted, and another one has its name: create a new index",
                found.row.dataset
            );
            return Err(AppError::NotFound(detail));
        }
        let build = self.index_build(scope, &found.row, &dataset);
        let started = IndexWithBuilds { newest: Some(build.clone()), ..found };
        let (asked, ending) =
            (JobRequest::new(None, request_id).to_json(), commit.ending(&started));
        index::rebuild(scope, &self.db, &started.row, &build, &asked, &ending).await?;
        Ok(started)
    }

    /// An index by its name.
    pub async fn index_get(&self, scope: &Scope, name: &str) -> Result<IndexWithBuilds, AppError> {
        let row = index::get(scope, &self.db, name).await?;
        let builds = index_build::of_indexes(scope, &self.db, &[row.id]).await?;
        Ok(with_builds(row, &builds))
    }

    /// One page of indexes, newest first.
    pub async fn index_list(
        &self,
        scope: &Scope,
        list: ListQuery,
    ) -> Result<Page<IndexWithBuilds>, AppError> {
        let page = index::list(scope, &self.db, list).await?;
        let ids: Vec<Uuid> = page.items.iter().map(|row| row.id).collect();
        let builds = index_build::of_indexes(scope, &self.db, &ids).await?;
        let items = page.items.into_iter().map(|row| with_builds(row, &builds)).collect();
        Ok(Page { items, next: page.next })
    }

    /// Cancels the build in progress. The build before continues to answer.
    pub async fn index_cancel(
        self: &Arc<Self>,
        scope: &Scope,
        name: &str,
    ) -> Result<IndexWithBuilds, AppError> {
        let found = self.index_get(scope, name).await?;
        let Some(build) = found.newest else {
            return Err(AppError::RunFinished(format!("the index `{name}` has no build")));
        };
        self.job_cancel::<IndexBuilds>(scope, build.id).await?;
        self.index_get(scope, name).await
    }

    /// Deletes an index with its passages. Graphs that search it fail from then on.
    pub async fn index_delete(&self, scope: &Scope, name: &str) -> Result<(), AppError> {
        let row = index::get(scope, &self.db, name).await?;
        Ok(index::delete(scope, &self.db, &row, now()).await?)
    }
}

fn row(scope: &Scope, request: IndexRequest, dataset: &DatasetRow) -> IndexRow {
    IndexRow {
        id: Uuid::now_v7(),
        name: request.name,
        dataset_id: dataset.id,
        dataset: dataset.name.clone(),
        field: request.text,
        language: request.language.as_str().to_owned(),
        model: request.model,
        build_id: None,
        embedder: None,
        created_at: now(),
        created_by: scope.actor.to_string(),
    }
}

/// `builds` are the newest first.
fn with_builds(row: IndexRow, builds: &[IndexBuildRow]) -> IndexWithBuilds {
    let newest = builds.iter().find(|build| build.index_id == row.id).cloned();
    let answering = builds.iter().find(|build| Some(build.id) == row.build_id).cloned();
    IndexWithBuilds { row, newest, answering }
}
