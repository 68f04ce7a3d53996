//! `/v1/graphs/{graph}/state`: the predictor state in force, its versions, promotion and rollback.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::graph::to_dspy;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, map, text};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::app::json::JsonObject;
use crate::app::{App, StateDocument, StateRequest, StateView, timestamp};
use crate::http::protocol::answer;
use crate::http::protocol::body::Document;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::etag::{ETag, IfMatch, IfNoneMatch};
use crate::http::protocol::page::{PageParams, PageRequest};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::protocol::status::ProblemCode;
use crate::http::routes::predictor::state_member_json;
use crate::http::views::{
    ActivatedState, ActivationPage, PutState, State as StateSchema, StateDiff, StatePage, StatePut,
};
use crate::store::graph::GraphRef;
use crate::store::state::StateSummaryRow;
use crate::store::state_activation::ActivationItem;

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

/// In which form a state is answered.
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

    fn answer(self, known: &IfNoneMatch, view: &StateView) -> Result<Response, ApiProblem> {
        let tag = self.tag(view.graph, view.row.version);
        match self {
            Self::Own => Ok(answer::fresh(known, &tag, &RawJson::from(state_json(view)))),
            Self::Dspy if known.has(&tag) => Ok(answer::not_modified(&tag)),
            Self::Dspy => {
                let file = to_dspy(&view.program)
                    .map_err(|problems| ApiProblem::of(ProblemCode::InvalidState, problems))?;
                Ok(answer::tagged(&tag, &RawJson::from(file.to_json())))
            }
        }
    }
}

/// Read the predictor state in force
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("format" = Option<String>, Query, description = "`own`, or `dspy` for the file that DSPy's `program.load` takes"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if nothing is new")),
    responses(
        (status = 200, description = "The state", body = StateSchema, headers(
            ("ETag" = String, description = "Its version"))),
        (status = 304, description = "The caller has this version")),
    extensions(("x-problems" = json!(["not_found", "invalid_state"])))
)]
pub(crate) async fn state_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let form = StateFormat::read(&mut query);
    query.close()?;
    let (scope, graph) = (caller.scope(), GraphRef::parse(&graph));
    if known.is_given() {
        let (id, version) = app.active_state_version(&scope, &graph).await?;
        let tag = form.tag(id, version);
        if known.has(&tag) {
            return Ok(answer::not_modified(&tag));
        }
    }
    let view = app.state_get(&scope, &graph).await?;
    form.answer(&known, &view)
}

/// Replace the predictor state
///
/// Makes a new state version and puts it in force. Paths left out go back to their defaults. A
/// state that says the same as the one in force makes no new version. With `"format": "dspy"` it is
/// read from a file that DSPy's `program.save("x.json")` wrote, and `ignored` names the members that
/// have no meaning here.
#[utoipa::path(
    put, path = "/v1/graphs/{graph}/state", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("If-Match" = Option<String>, Header, description = "Only if this state is in force")),
    request_body(content = PutState, example = json!(crate::http::routes::examples::state())),
    responses((status = 200, description = "The state in force", body = StatePut, headers(
        ("ETag" = String, description = "Its version")))),
    extensions(("x-problems" = json!(["not_found", "invalid_state", "precondition_failed"])))
)]
pub(crate) async fn state_put(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let (state, faults) = document.read(read_state)?;
    let request = StateRequest { document: state, faults };
    // Both formats have tags of the same version.
    let precondition = if_match.precondition(&[STATE_TAG, DSPY_TAG]);
    let graph = GraphRef::parse(&graph);
    let put = app.state_put(&caller.scope(), &graph, request, &precondition).await?;
    let view = &put.view;
    let mut object = JsonObject::with_capacity(view.row.predictors.len() + 512);
    object.splice(&state_json(view));
    if matches!(state, StateDocument::Dspy(_)) {
        let quoted = |pointer: &String| Payload::from(pointer.as_str()).to_json();
        object.list("ignored", put.ignored.iter().map(quoted));
    }
    Ok(answer::tagged(&state_tag(view.graph, view.row.version), &RawJson::from(object.finish())))
}

/// A state in either form.
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
    params(
        ("graph" = String, Path, description = "Name, or id"),
        PageParams),
    responses((status = 200, description = "A page", body = StatePage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn state_version_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let graph = app.graph_id(&caller.scope(), &GraphRef::parse(&graph)).await?;
    let page = PageRequest::read(&mut query, format!("state_versions/{graph}"));
    query.close()?;
    let found = app.state_list(&caller.scope(), graph, page.numbered()).await?;
    let items = found.items.into_iter().map(|item| item_json(&item));
    Ok(page.answer(items, found.next))
}

/// Read one state version
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/versions/{version}", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("version" = u32, Path, description = "The state version"),
        ("format" = Option<String>, Query, description = "`own`, or `dspy` for the file that DSPy's `program.load` takes"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if nothing is new")),
    responses(
        (status = 200, description = "The state", body = StateSchema, headers(
            ("ETag" = String, description = "Its version"))),
        (status = 304, description = "The caller has this version")),
    extensions(("x-problems" = json!(["not_found", "invalid_state"])))
)]
pub(crate) async fn state_version_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, version)): Path<(String, String)>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let form = StateFormat::read(&mut query);
    query.close()?;
    let version = path::version(&version)?;
    let view = app.state_version(&caller.scope(), &GraphRef::parse(&graph), version).await?;
    form.answer(&known, &view)
}

/// Compare two state versions
///
/// What is different in each predictor: its instruction, its demos by content and position, its LM
/// settings. The two may belong to different graph versions; a predictor that only one has is
/// compared with the defaults.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/versions/{version}/diff", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("version" = u32, Path, description = "The state version that the difference leads to"),
        ("against" = Option<u32>, Query, description = "The one that it starts from; the parent if not given, and version 1 where there is no parent")),
    responses((status = 200, description = "The difference", body = StateDiff)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn state_version_diff(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, version)): Path<(String, String)>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let against = query.number("against");
    query.close()?;
    let version = path::version(&version)?;
    let graph = GraphRef::parse(&graph);
    let found = app.state_diff(&caller.scope(), &graph, against, version).await?;
    let mut versions = JsonObject::new();
    versions.shown("from", found.from.graph_version).shown("to", found.to.graph_version);
    let mut object = JsonObject::new();
    object.shown("from", found.from.version).shown("to", found.to.version);
    object.raw("graph_versions", &versions.finish());
    object.raw("predictors", &found.diff.to_payload().to_json()).text("text", &found.diff.text());
    Ok(answer::ok(&RawJson::from(object.finish())))
}

/// Put a state version in force
///
/// Promotion and rollback alike. It is put in force for the graph version that it was made for: the
/// newest one, which is what runs unless a run asks for another, or an older one.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/state/versions/{version}/activate", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("version" = u32, Path, description = "The state version"),
        ("If-Match" = Option<String>, Header, description = "Only if this state is in force for that graph version")),
    responses((status = 200, description = "The state in force", body = ActivatedState, headers(
        ("ETag" = String, description = "Its version")))),
    extensions(("x-problems" = json!(["not_found", "precondition_failed"])))
)]
pub(crate) async fn state_activate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, version)): Path<(String, String)>,
    if_match: IfMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let version = path::version(&version)?;
    let precondition = if_match.precondition(&[STATE_TAG]);
    let graph = GraphRef::parse(&graph);
    let found = app.state_activate(&caller.scope(), &graph, version, &precondition).await?;
    let row = &found.view.row;
    let mut activation = JsonObject::new();
    activation.shown("graph_version", row.graph_version).shown("newest", found.newest);
    activation.shown("from", found.before).shown("to", row.version);
    let mut object = JsonObject::with_capacity(row.predictors.len() + 512);
    object.splice(&state_json(&found.view)).raw("activation", &activation.finish());
    Ok(answer::tagged(&state_tag(found.view.graph, row.version), &RawJson::from(object.finish())))
}

/// List activations
///
/// How what is in force moved, newest first: who put which state version in force, when, for which
/// graph version, and what was in force before.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/state/activations", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        PageParams),
    responses((status = 200, description = "A page", body = ActivationPage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn state_activation_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let graph = app.graph_id(&caller.scope(), &GraphRef::parse(&graph)).await?;
    let page = PageRequest::read(&mut query, format!("state_activations/{graph}"));
    query.close()?;
    let found = app.state_activations(&caller.scope(), graph, page.numbered()).await?;
    let items = found.items.into_iter().map(|item| activation_json(&item));
    Ok(page.answer(items, found.next))
}

fn state_json(view: &StateView) -> String {
    let mut predictors = JsonObject::new();
    for (path, predictor) in view.program.predictors() {
        predictors.raw(&path, &state_member_json(predictor));
    }
    let row = &view.row;
    let mut object = JsonObject::with_capacity(row.predictors.len() + 512);
    object.shown("version", row.version).shown("graph_version", row.graph_version);
    object.raw("predictors", &predictors.finish());
    object.text("created_at", &timestamp(row.created_at)).text("created_by", &row.created_by);
    object.raw("author", &author_json(&row.created_by, row.optimization));
    object.shown_or_null("parent", row.parent);
    measured(&mut object, row.score, row.dataset_hash.as_deref());
    object.finish()
}

fn item_json(item: &StateSummaryRow) -> String {
    let mut object = JsonObject::new();
    object.shown("version", item.version).shown("graph_version", item.graph_version);
    object.shown("in_force", item.in_force);
    object.text("created_at", &timestamp(item.created_at)).text("created_by", &item.created_by);
    object.raw("author", &author_json(&item.created_by, item.optimization));
    object.shown_or_null("parent", item.parent);
    measured(&mut object, item.score, item.dataset_hash.as_deref());
    object.finish()
}

fn activation_json(item: &ActivationItem) -> String {
    let mut object = JsonObject::new();
    object.shown("graph_version", item.graph_version);
    object.shown_or_null("from", item.before).shown("to", item.state_version);
    object.text("created_at", &timestamp(item.created_at)).text("created_by", &item.created_by);
    object.raw("author", &author_json(&item.created_by, item.optimization));
    object.finish()
}

/// Who made a state, or put it in force: a client by the name of its key, or an optimization.
fn author_json(created_by: &str, optimization: Option<Uuid>) -> String {
    let mut object = JsonObject::new();
    match optimization {
        Some(id) => object.text("kind", "optimization").shown_text("id", id),
        None => object.text("kind", "client").text("name", created_by),
    };
    object.finish()
}

/// What was measured, where anything was.
fn measured(object: &mut JsonObject, score: Option<f64>, dataset_hash: Option<&str>) {
    if let Some(score) = score {
        object.raw("score", &Payload::Float(score).to_json());
    }
    if let Some(hash) = dataset_hash {
        object.text("dataset_hash", hash);
    }
}
