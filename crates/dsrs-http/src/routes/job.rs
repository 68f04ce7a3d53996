//! What the routes of all kinds of jobs share: start, read, cancel. May not know any particular
//! kind.

use axum::response::Response;
use serde::Serialize;
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::resource::{ById, ResourceRequest};
use dsrs_app::{Commit, JobKind};
use dsrs_store::graph::GraphRef;
use dsrs_store::job::JobRow;

/// A kind of job as clients see it.
pub(crate) trait JobResource: JobKind {
    /// The collection in addresses: `batches`.
    const COLLECTION: &'static str;

    /// The status row in answers.
    type View<'r>: From<&'r Self::Row> + Serialize;
}

/// Starts a job at a graph. `graph` is the segment of the path; `accept` reads the request and stores the
/// job, with the answer of a request with a key.
pub(crate) async fn start<K, F>(
    graph: String,
    post: KeyedPost,
    accept: impl FnOnce(GraphRef, PostedRequest, Commit<K::Row>) -> F + Send + 'static,
) -> Response
where
    K: JobResource,
    F: Future<Output = Result<K::Row, ApiProblem>> + Send,
{
    let path = format!("/v1/graphs/{}/{}", graph.escape_debug(), K::COLLECTION);
    let start = |posted: PostedRequest| async move {
        let commit = Commit::Now(posted.slot.clone().answer(accepted::<K>));
        Ok(accepted::<K>(&accept(GraphRef::parse(&graph), posted, commit).await?))
    };
    post.answer(path, start).await
}

/// The answer to a job that a worker will run, with its address.
pub(crate) fn accepted<K: JobResource>(row: &K::Row) -> Response {
    answer::accepted(&address::<K>(row.id()), &<K::View<'_>>::from(row))
}

pub(crate) fn address<K: JobResource>(id: Uuid) -> String {
    format!("/v1/{}/{id}", K::COLLECTION)
}

/// Reads a job.
pub(crate) async fn get<K: JobResource>(request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let row = app.job_get::<K>(&scope, resource).await?;
    Ok(answer::ok(&<K::View<'_>>::from(&row)))
}

/// Cancels a job, and answers it once it has ended.
pub(crate) async fn cancel<K: JobResource>(request: ById) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let row = app.job_cancel::<K>(&scope, resource).await?;
    Ok(answer::ok(&<K::View<'_>>::from(&row)))
}
