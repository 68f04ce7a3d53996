//! `/v1/graphs/{graph}/state`: the active predictor state, its versions, activation and rollback.

use axum::response::Response;
use dsrs::graph::to_dspy;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, map, text};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::etag::{ETag, IfMatch, IfNoneMatch};
use crate::protocol::page::PageParams;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::resource::ResourceRequest;
use crate::protocol::status::ProblemCode;
use crate::routes::graph::{GraphList, graph_list_of};
use crate::views::{
    ActivatedStateView, ActivationPage, ActivationView, PutState, StateDiffView, StateFile,
    StateItemView, StatePage, StatePutView, StateView,
};
use dsrs_app::{StateDocument, StateRequest, StateVersion};
use dsrs_store::graph::GraphRef;

/// Members of a state that are accepted in a request and ignored.
const READ_ONLY: [&str; 9] = [
    "version",
    "graph_version",
    "created_at",
    "created_by",
    "author",
    "parent",
    "score",
    "dataset_hash",
    "activation",
];

/// The kind of the tags of state versions.
pub(crate) const STATE_TAG: char = 's';

/// The kind of the tags of state versions in DSPy's format.
const DSPY_TAG: char = 'd';

/// The tag of a state version.
pub(crate) fn state_tag(graph: Uuid, version: i32) -> ETag {
    ETag::of(STATE_TAG, graph, version)
}

/// The tag of a state version in DSPy's format.
fn dspy_tag(graph: Uuid, version: i32) -> ETag {
    ETag::of(DSPY_TAG, graph, version)
}

/// The format of a state in an answer.
#[derive(Clone, Copy)]
enum StateFormat {
    Own,
    Dspy,
}

impl StateFormat {
    fn read(query: &mut Query) -> Self {
        let named = |name: &str| match name {
            "own" => Some(Self::Own),
            "dspy" => Some(Self::Dspy),
            _ => None,
        };
        query.read("format", "`own` or `dspy`", named).unwrap_or(Self::Own)
    }

    fn tag(self, graph: Uuid, version: i32) -> ETag {
        match self {
            Self::Own => state_tag(graph, version),
            Self::Dspy => dspy_tag(graph, version),
        }
    }

    fn answer(self, known: &IfNoneMatch, view: &StateVersion) -> Result<Response, ApiProblem> {
        let tag = self.tag(view.graph, view.row.version);
        match self {
            Self::Own => Ok(answer::fresh(known, &tag, &StateView::from(view))),
            Self::Dspy => {
                if let Some(own) = known.find(&tag) {
                    return Ok(answer::not_modified(&own));
                }
                let file = to_dspy(&view.program)
                    .map_err(|problems| ApiProblem::of(ProblemCode::InvalidState, problems))?;
                Ok(answer::tagged(&tag, &file))
            }
        }
    }
}

/// Read the active predictor state
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state", tag = "state",
    params(
        ("format" = Option<String>, Query, pattern = "^(own|dspy)$", description = "`own`, or `dspy` for a file that `program.load` of DSPy reads"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The state", body = StateFile, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["invalid_state"])))
)]
pub(crate) async fn state_get(
    request: ResourceRequest<GraphRef>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let form = StateFormat::read(&mut query);
    query.close()?;
    let ResourceRequest { app, scope, resource: graph } = request;
    if known.is_given() {
        let (id, version) = app.active_state_version(&scope, &graph).await?;
        let tag = form.tag(id, version);
        if let Some(own) = known.find(&tag) {
            return Ok(answer::not_modified(&own));
        }
    }
    let view = app.state_get(&scope, &graph).await?;
    form.answer(&known, &view)
}

/// Replace the predictor state
///
/// Creates a state version and activates it. Predictors that are left out have their defaults. A state
/// that equals the active one creates no version. With `"format": "dspy"` the state is a file that
/// `program.save("x.json")` of DSPy wrote, and `ignored` names the members that have no meaning here.
#[utoipa::path(
    put, path = "/v1/graphs/{graph}/state", tag = "state",
    params(("If-Match" = Option<String>, Header, description = "Only if this state is active")),
    request_body(content = PutState, example = json!(crate::routes::examples::state())),
    responses((status = 200, description = "The active state", body = StatePutView, headers(
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["invalid_state", "precondition_failed"])))
)]
pub(crate) async fn state_put(
    request: ResourceRequest<GraphRef>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let (state, faults) = document.read(read_state)?;
    let ResourceRequest { app, scope, resource: graph } = request;
    let state_request = StateRequest { document: state, faults };
    // Both formats have tags of the same version.
    let precondition = if_match.precondition(&[STATE_TAG, DSPY_TAG]);
    let put = app.state_put(&scope, &graph, state_request, &precondition).await?;
    let tag = state_tag(put.view.graph, put.view.row.version);
    let ignored = matches!(state, StateDocument::Dspy(_)).then_some(&*put.ignored);
    Ok(answer::tagged(&tag, &StatePutView { state: (&put.view).into(), ignored }))
}

/// Reads a state in either format.
fn read_state<'v>(object: &mut Object<'v, '_, '_>) -> Option<StateDocument<'v>> {
    let whole =
        |found: &'v Payload, at: &At<'_>, out: &mut Problems| map(found, at, out).map(|_| found);
    if !object.has("format") {
        object.ignore(&READ_ONLY);
        return object.required("predictors", whole).map(StateDocument::Own);
    }
    let format = object.required("format", |found, at, out| {
        let known = text(found, at, out)? == "dspy";
        if !known {
            out.add(at, Code::InvalidValue, "expected `dspy`, or no `format` and `predictors`");
        }
        known.then_some(())
    });
    let file = object.required("state", whole).map(StateDocument::Dspy);
    format.and(file)
}

/// List state versions
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/versions", tag = "state",
    params(PageParams),
    responses((status = 200, description = "A page", body = StatePage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn state_version_list(
    request: ResourceRequest<GraphRef>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let GraphList { app, scope, graph, page } =
        graph_list_of(request, "state_versions", query).await?;
    let found = app.state_list(&scope, graph, page.numbered()?).await?;
    Ok(page.respond(&found, StateItemView::from))
}

/// Read one state version
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/versions/{version}", tag = "state",
    params(
        ("version" = u32, Path, description = "The state version"),
        ("format" = Option<String>, Query, pattern = "^(own|dspy)$", description = "`own`, or `dspy` for a file that `program.load` of DSPy reads"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The state", body = StateFile, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["invalid_state"])))
)]
pub(crate) async fn state_version_get(
    request: ResourceRequest<(GraphRef, i32)>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: (graph, version) } = request;
    let form = StateFormat::read(&mut query);
    query.close()?;
    form.answer(&known, &app.state_version(&scope, &graph, version).await?)
}

/// Compare two state versions
///
/// The differences in each predictor: instruction, demos by content and position, LM settings. The two
/// may belong to different graph versions; a predictor that only one of them has is compared with the
/// defaults.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/versions/{version}/diff", tag = "state",
    params(
        ("version" = u32, Path, description = "The state version that the difference leads to"),
        ("against" = Option<i32>, Query, minimum = 1, description = "The version that it starts from. Default: the parent, or version 1 without a parent")),
    responses((status = 200, description = "The difference", body = StateDiffView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn state_version_diff(
    request: ResourceRequest<(GraphRef, i32)>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: (graph, version) } = request;
    let against = query.number("against");
    query.close()?;
    let found = app.state_diff(&scope, &graph, against, version).await?;
    Ok(answer::ok(&StateDiffView::from(&found)))
}

/// Activate a state version
///
/// For promotion and rollback. It becomes active for its graph version: the newest one, which runs use by
/// default, or an older one.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/state/versions/{version}/activate", tag = "state",
    params(
        ("version" = u32, Path, description = "The state version"),
        ("If-Match" = Option<String>, Header, description = "Only if this state is active for that graph version")),
    responses((status = 200, description = "The active state", body = ActivatedStateView, headers(
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["precondition_failed"])))
)]
pub(crate) async fn state_activate(
    if_match: IfMatch,
    _: NoQuery,
    request: ResourceRequest<(GraphRef, i32)>,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: (graph, version) } = request;
    let precondition = if_match.precondition(&[STATE_TAG]);
    let found = app.state_activate(&scope, &graph, version, &precondition).await?;
    let tag = state_tag(found.view.graph, found.view.row.version);
    Ok(answer::tagged(&tag, &ActivatedStateView::from(&found)))
}

/// List activations
///
/// Newest first: each activated state version with its author, time, graph version and the previously
/// active state version.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/activations", tag = "state",
    params(PageParams),
    responses((status = 200, description = "A page", body = ActivationPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn state_activation_list(
    request: ResourceRequest<GraphRef>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let GraphList { app, scope, graph, page } =
        graph_list_of(request, "state_activations", query).await?;
    let found = app.state_activations(&scope, graph, page.numbered()?).await?;
    Ok(page.respond(&found, ActivationView::from))
}
