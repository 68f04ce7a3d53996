//! Graphs: created, changed, read, deleted. A change holds the lock of the graph from the first read
//! to the commit. May know `program` and `state`; may not know runs.

pub(crate) mod profile;
mod size;
mod sketch;

use std::sync::Arc;

use dsrs::graph::{
    CarryOver, Edits, GraphDiff, Program, carry_over, document_references, edit_references,
    graph_diff,
};
use dsrs::problem::{At, Code, Problem, Problems};
use dsrs::strategy::BuildEnv;
use dsrs::value::{Map, ParsedJson, Payload};
use uuid::Uuid;

use crate::clock::now;
use crate::error::{graph_problems, merge_faults};
use crate::precondition::Precondition;
use crate::program::read_state;
use crate::state::StateText;
use crate::{App, AppError, Invalid};
use dsrs_store::graph::{self, GraphRef, GraphRow, GraphSummaryRow, NewGraph, VersionSelection};
use dsrs_store::graph_activity::{self, GraphActivity};
use dsrs_store::graph_edit::{self, ExpectedVersion, LockedGraph};
use dsrs_store::graph_version::{self, GraphVersionRow, NewGraphVersion};
use dsrs_store::state::NewState;
use dsrs_store::{ListQuery, Page, Scope};

use size::check_size;
pub use sketch::{GraphSketch, NodeSketch, SketchPort};

/// The current format of stored definitions.
const FORMAT: i32 = 1;

/// The result of replacing or editing a graph.
pub struct GraphUpdate {
    /// The newest version, whether it is new or not.
    pub row: GraphRow,
    /// What was carried over from the previous state.
    pub carried: CarryOver,
}

impl App {
    /// Creates a graph at version 1 with an untuned state.
    pub async fn graph_create(
        &self,
        scope: &Scope,
        document: &ParsedJson,
    ) -> Result<GraphRow, AppError> {
        let program = self.graph_check(scope, document).await?;
        let _turn = self.exposure_turn(scope, &program).await?;
        let state = StateText::untuned();
        let new = NewGraph {
            id: Uuid::now_v7(),
            name: program.graph().name(),
            version: new_version(&program),
            state: NewState {
                predictors: &state.text,
                content_hash: &state.hash,
                ..NewState::default()
            },
            at: now(),
        };
        Ok(graph::create(scope, &self.db, new).await?)
    }

    /// Resolves and checks a graph without storing it.
    pub async fn graph_check(
        &self,
        scope: &Scope,
        document: &ParsedJson,
    ) -> Result<Program, AppError> {
        check_size(&self.limits, &document.payload)?;
        let build = |env: &dyn BuildEnv| Program::from_document(&document.payload, env);
        let references = document_references(&document.payload);
        let checked = self.build_new(scope, None, references, build).await?;
        let checked = checked.map_err(graph_problems);
        let program = merge_faults(document.duplicates.clone(), checked)?;
        self.check_exposure(scope, None, &program).await?;
        Ok(program)
    }

    /// Resolves and checks a definition that replaces another. It may leave out the name, but not
    /// name another graph.
    async fn graph_check_as(
        &self,
        scope: &Scope,
        document: &ParsedJson,
        head: &GraphRow,
    ) -> Result<Program, AppError> {
        let name = head.name.as_str();
        let ParsedJson { payload, duplicates } = document;
        check_size(&self.limits, payload)?;
        let payload_named = named(payload, name);
        let build = |env: &dyn BuildEnv| Program::from_document(&payload_named, env);
        let references = document_references(payload);
        let checked = self.build_new(scope, Some((head.id, name)), references, build).await?;
        let checked = checked.map_err(graph_problems);
        let Some(misnamed) = misnamed(payload, name) else {
            return merge_faults(duplicates.clone(), checked);
        };
        let mut known = duplicates.clone();
        known.push(misnamed);
        merge_faults(known, checked).map_err(|error| match error {
            AppError::Invalid { problems, .. } => AppError::invalid(Invalid::Name, problems),
            other => other,
        })
    }

    /// One version of a graph.
    pub async fn graph_get(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        version: Option<i32>,
    ) -> Result<GraphRow, AppError> {
        let pick = VersionSelection { version, state_version: None };
        Ok(graph::get(scope, &self.db, graph, pick).await?)
    }

    /// One page of graphs, newest first.
    pub async fn graph_list(
        &self,
        scope: &Scope,
        list: ListQuery,
    ) -> Result<Page<GraphSummaryRow>, AppError> {
        Ok(graph::list(scope, &self.db, list).await?)
    }

    /// What graphs of a list did in the last day, in their order.
    pub async fn graph_activity(
        &self,
        scope: &Scope,
        graphs: &[GraphSummaryRow],
    ) -> Result<Vec<GraphActivity>, AppError> {
        let graphs: Vec<_> = graphs
            .iter()
            .map(|graph| (graph.id, graph.name.as_str(), graph.state_version))
            .collect();
        Ok(graph_activity::activity(scope, &self.db, &graphs).await?)
    }

    pub async fn graph_id(&self, scope: &Scope, graph: &GraphRef) -> Result<Uuid, AppError> {
        Ok(graph::id_of(scope, &self.db, graph).await?)
    }

    /// One page of a graph's versions, newest first.
    pub async fn graph_versions(
        &self,
        scope: &Scope,
        graph: Uuid,
        list: ListQuery<i32>,
    ) -> Result<Page<GraphVersionRow, i32>, AppError> {
        Ok(graph_version::list(scope, &self.db, graph, list).await?)
    }

    /// Creates the next version, unless the document equals the newest one.
    pub async fn graph_put(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        document: &ParsedJson,
        precondition: &Precondition,
    ) -> Result<GraphUpdate, AppError> {
        let mut locked = graph_edit::lock(scope, &self.db, graph, ExpectedVersion::Newest).await?;
        let head = locked.head();
        precondition.check(head.id, head.version)?;
        let program = self.graph_check_as(scope, document, head).await?;
        self.check_locked_exposure(scope, &mut locked, &program).await?;
        self.graph_next(scope, locked, &program, &[]).await
    }

    /// Creates the next version by editing the newest: with all edits or none.
    pub async fn graph_patch(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        body: &ParsedJson,
        precondition: &Precondition,
    ) -> Result<GraphUpdate, AppError> {
        let edits = read_edits(body)?;
        let mut locked = graph_edit::lock(scope, &self.db, graph, ExpectedVersion::Newest).await?;
        let head = locked.head();
        precondition.check(head.id, head.version)?;
        let old = self.plain_program(scope, &head.definition, &head.content_hash).await?;
        let invalid = |problems| AppError::invalid(Invalid::Graph, problems);
        let root = Some((head.id, head.name.as_str()));
        let edit = |env: &dyn BuildEnv| old.graph().apply_edits(&edits, env);
        let mut references = document_references(old.document());
        references.extend(edit_references(&edits.0));
        let edited = self.build_new(scope, root, references, edit).await?.map_err(invalid);
        let edited = merge_faults(body.duplicates.clone(), edited)?;
        let program = edited.graph.compile().map_err(invalid)?;
        check_size(&self.limits, program.document())?;
        let exposed = self.check_locked_exposure(scope, &mut locked, &program).await;
        exposed.map_err(at_edits)?;
        self.graph_next(scope, locked, &program, &edited.renamed).await
    }

    /// Stores the next version, with the state that carries over, unless it equals the newest one.
    async fn graph_next(
        &self,
        scope: &Scope,
        locked: LockedGraph,
        program: &Program,
        renamed: &[(Arc<str>, Arc<str>)],
    ) -> Result<GraphUpdate, AppError> {
        let head = locked.head();
        let old = self.plain_program(scope, &head.definition, &head.content_hash).await?;
        let carried = carry_over(&read_state(&head.state.predictors)?, &old, program, renamed);
        if program.canonical_text().as_ref() == head.definition {
            return Ok(GraphUpdate { row: head.clone(), carried });
        }
        let state = StateText::of(&carried.state);
        let new = NewState {
            parent: Some(head.state.version),
            predictors: &state.text,
            content_hash: &state.hash,
            ..NewState::default()
        };
        let row = locked.put_version(new_version(program), new, None, now()).await?;
        Ok(GraphUpdate { row, carried })
    }

    /// The difference between two versions of a graph.
    pub async fn graph_diff(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        old: i32,
        new: i32,
    ) -> Result<GraphDiff, AppError> {
        let old = self.graph_get(scope, graph, Some(old)).await?;
        // By id: another graph may get the name between the two reads.
        let new = self.graph_get(scope, &GraphRef::Id(old.id), Some(new)).await?;
        let old = self.plain_program(scope, &old.definition, &old.content_hash).await?;
        let new = self.plain_program(scope, &new.definition, &new.content_hash).await?;
        Ok(graph_diff(old.graph(), new.graph()))
    }

    /// Soft-deletes a graph: its runs stay readable, and its name becomes available.
    pub async fn graph_delete(
        &self,
        scope: &Scope,
        graph: &GraphRef,
        precondition: &Precondition,
    ) -> Result<(), AppError> {
        let locked = graph_edit::lock(scope, &self.db, graph, ExpectedVersion::Newest).await?;
        precondition.check(locked.head().id, locked.head().version)?;
        Ok(locked.delete(now()).await?)
    }
}

/// The problems of an edited graph, at its edits.
fn at_edits(error: AppError) -> AppError {
    let AppError::Invalid { what, problems } = error else { return error };
    let moved = problems
        .iter()
        .map(|problem| Problem { pointer: At::Root.key("edits").pointer(), ..problem.clone() });
    let mut found = Problems::new();
    found.extend(moved);
    AppError::invalid(what, found)
}

/// The edits of a request. If one cannot be read, none is applied: the others may depend on it.
fn read_edits(body: &ParsedJson) -> Result<Edits, AppError> {
    let mut problems = Problems::new();
    let edits = Edits::read(&body.payload, &At::Root, &mut problems).unwrap_or_default();
    let read = problems.or(edits);
    let read = read.map_err(|problems| AppError::invalid(Invalid::Request, problems));
    if read.is_err() { merge_faults(body.duplicates.clone(), read) } else { read }
}

pub(crate) fn new_version(program: &Program) -> NewGraphVersion<'_> {
    NewGraphVersion {
        description: program.graph().description(),
        format: FORMAT,
        definition: program.canonical_text(),
        content_hash: program.content_hash(),
        expose: program.graph().exposure().to_json(),
    }
}

/// The problem of a body that names another graph than the path.
fn misnamed(document: &Payload, name: &str) -> Option<Problem> {
    let found = document.as_map()?.get("name")?.as_str().filter(|found| *found != name)?;
    Some(Problem {
        pointer: At::Root.key("name").pointer(),
        code: Code::NameMismatch,
        detail: format!("the graph is `{name}`, the body names `{found}`"),
    })
}

/// The document with its name replaced. A document with a malformed name stays unchanged.
fn named(document: &Payload, name: &str) -> Payload {
    let Payload::Map(members) = document else { return document.clone() };
    if members.get("name").is_some_and(|found| found.as_str().is_none()) {
        return document.clone();
    }
    let others = members.iter().filter(|(member, _)| member.as_ref() != "name");
    let others = others.map(|(member, value)| (member.clone(), value.clone()));
    let name = (Arc::from("name"), Payload::from(name));
    Payload::map(std::iter::once(name).chain(others).collect::<Map>())
}
