//! Requests for the resource that their path names: with the service, the caller's scope, and the path
//! read. Knows no route.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::protocol::caller::Caller;
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use dsrs_app::App;
use dsrs_store::Scope;
use dsrs_store::graph::GraphRef;

/// A request for the resource that its path names.
pub(crate) struct ResourceRequest<R> {
    pub(crate) app: Arc<App>,
    pub(crate) scope: Scope,
    pub(crate) resource: R,
}

/// A request for the resource with the id in its path.
pub(crate) type ById = ResourceRequest<Uuid>;

/// The reference to a resource in a path.
pub(crate) trait ResourceRef: Sized {
    /// The segments that name it.
    type Segments: DeserializeOwned + Send;

    fn read(segments: Self::Segments) -> Result<Self, ApiProblem>;
}

/// `{id}`.
impl ResourceRef for Uuid {
    type Segments = String;

    fn read(id: String) -> Result<Self, ApiProblem> {
        path::id(&id)
    }
}

/// `{graph}`.
impl ResourceRef for GraphRef {
    type Segments = String;

    fn read(graph: String) -> Result<Self, ApiProblem> {
        Ok(Self::parse(&graph))
    }
}

/// `{graph}` and `{version}`, of the graph or of its state.
impl ResourceRef for (GraphRef, i32) {
    type Segments = (String, String);

    fn read((graph, version): (String, String)) -> Result<Self, ApiProblem> {
        Ok((GraphRef::parse(&graph), path::version(&version)?))
    }
}

impl<R: ResourceRef> FromRequestParts<Arc<App>> for ResourceRequest<R> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Response> {
        let Ok(caller) = Caller::from_request_parts(parts, app).await;
        let segments = Path::<R::Segments>::from_request_parts(parts, app).await;
        let Path(segments) = segments.map_err(IntoResponse::into_response)?;
        let resource = R::read(segments).map_err(IntoResponse::into_response)?;
        Ok(Self { app: app.clone(), scope: caller.scope(), resource })
    }
}
