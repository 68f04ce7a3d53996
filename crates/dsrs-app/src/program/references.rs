//! The stored graphs that a definition refers to, loaded before it is built: those that it names,
//! and those that they name in turn. The only place that looks them up and pins them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dsrs::graph::{Program, document_references};
use dsrs::predict::SearchRanking;
use dsrs::read::{listed, nearest};
use dsrs::strategy::{GraphUnavailable, StoredGraphRef};
use dsrs::value::Payload;
use uuid::Uuid;

use crate::{App, AppError};
use dsrs_store::graph::{self, GraphRef, GraphRow, VersionSelection};
use dsrs_store::{Scope, StoreError};

/// The maximum number of graphs that a definition refers to; each use counts.
pub(super) const MAX_GRAPHS: usize = 256;

/// A stored graph that a definition uses.
pub(super) struct LoadedGraph {
    pub(super) row: GraphRow,
    pub(super) document: Payload,
}

type Lookup = Result<Arc<LoadedGraph>, GraphUnavailable>;

/// Stored graphs by the references that lead to them.
#[derive(Default)]
pub(crate) struct LoadedGraphs {
    by_ref: HashMap<StoredGraphRef, Lookup>,
    /// The names of the indexes of the workspace, and whether their passages have vectors.
    indexes: Vec<(String, bool)>,
    /// Whether there are more than a definition may bring with it, so that some are missing here.
    is_cut_off: bool,
}

impl LoadedGraphs {
    /// The graph that a reference leads to; `None` where it was not loaded.
    pub(super) fn get(&self, reference: &StoredGraphRef) -> Option<&Lookup> {
        self.by_ref.get(reference)
    }

    /// Whether the workspace has an index of this name that can rank its passages so. The error says which ones it has.
    pub(super) fn check_index(
        &self,
        name: &str,
        ranking: Option<SearchRanking>,
    ) -> Result<(), String> {
        let found = self.indexes.iter().find(|(index, _)| index == name);
        match (found, ranking) {
            (Some((_, false)), Some(SearchRanking::Vector | SearchRanking::Hybrid)) => {
                return Err(no_vectors(name));
            }
            (Some(_), _) => return Ok(()),
            (None, _) => {}
        }
        let names = || self.indexes.iter().map(|(index, _)| index.as_str());
        let known = match self.indexes.is_empty() {
            true => "there are none; create one with POST /v1/indexes".to_owned(),
            false => format!("known ones: {}", listed(names())),
        };
        let hint = nearest(name, names())
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        Err(format!("there is no index `{name}`; {hint}{known}"))
    }

    pub(super) const fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }
}

impl App {
    /// Loads the graphs of these references, and recursively those that they refer to.
    pub(crate) async fn load_graphs(
        &self,
        scope: &Scope,
        references: Vec<StoredGraphRef>,
    ) -> Result<LoadedGraphs, AppError> {
        let indexes = dsrs_store::index::names(scope, &self.db).await?;
        let mut graphs = LoadedGraphs { indexes, ..LoadedGraphs::default() };
        let (mut open, mut versions) = (references, HashSet::new());
        while let Some(reference) = open.pop() {
            if graphs.by_ref.contains_key(&reference) {
                continue;
            }
            if versions.len() > MAX_GRAPHS {
                graphs.is_cut_off = true;
                break;
            }
            let loaded = self.load_graph(scope, &reference).await?;
            if let Ok(graph) = &loaded {
                if versions.insert((graph.row.id, graph.row.version, graph.row.state.version)) {
                    open.extend(document_references(&graph.document));
                }
                // A pinned config refers to the graph by this reference.
                graphs.by_ref.insert(pinned(&graph.row), loaded.clone());
            }
            graphs.by_ref.insert(reference, loaded);
        }
        Ok(graphs)
    }

    /// The program of a stored graph that a definition refers to; `None` if there is no such graph.
    pub async fn referenced_program(
        &self,
        scope: &Scope,
        reference: &StoredGraphRef,
    ) -> Result<Option<Arc<Program>>, AppError> {
        match self.load_graph(scope, reference).await? {
            Ok(graph) => self.program_of(scope, &graph.row).await.map(Some),
            Err(_) => Ok(None),
        }
    }

    async fn load_graph(
        &self,
        scope: &Scope,
        reference: &StoredGraphRef,
    ) -> Result<Lookup, AppError> {
        let number = |version: u64| i32::try_from(version).unwrap_or(i32::MAX);
        let versions = VersionSelection {
            version: reference.version.map(number),
            state_version: reference.state_version.map(number),
        };
        let by_id = reference.id.as_deref().and_then(|id| Uuid::parse_str(id).ok());
        let by_name = GraphRef::Name(reference.graph.as_ref().into());
        for by in by_id.map(GraphRef::Id).into_iter().chain([by_name]) {
            match graph::get(scope, &self.db, &by, versions).await {
                Ok(row) => return Ok(parsed(row)),
                Err(StoreError::NotFound { .. }) => {}
                Err(error @ StoreError::StateMismatch { .. }) => {
                    let detail = format!("graph `{}`: {error}", reference.graph);
                    return Ok(Err(GraphUnavailable::new(detail)));
                }
                Err(other) => return Err(other.into()),
            }
        }
        Ok(Err(GraphUnavailable::new(missing(reference))))
    }
}

fn parsed(row: GraphRow) -> Lookup {
    match Payload::from_json(&row.definition) {
        Ok(document) => Ok(Arc::new(LoadedGraph { row, document })),
        Err(error) => Err(unusable(&row, &error.to_string())),
    }
}

/// The reference to exactly this version and state.
pub(super) fn pinned(row: &GraphRow) -> StoredGraphRef {
    let number = |version: i32| u64::try_from(version).ok();
    StoredGraphRef {
        graph: row.name.as_str().into(),
        version: number(row.version),
        state_version: number(row.state.version),
        id: Some(row.id.to_string().into()),
    }
}

/// The refusal to compare vectors that an index does not have.
pub(crate) fn no_vectors(index: &str) -> String {
    format!(
        "the index `{index}` has no vectors, because it was created without a model: use the ranking `text`"
    )
}

/// A stored graph that can no longer be built.
pub(super) fn unusable(row: &GraphRow, reason: &str) -> GraphUnavailable {
    let GraphRow { name, version, .. } = row;
    GraphUnavailable::new(format!("graph `{name}` version {version} no longer loads: {reason}"))
}

fn missing(reference: &StoredGraphRef) -> String {
    let StoredGraphRef { graph, version, state_version, .. } = reference;
    let version = version.map_or_else(String::new, |version| format!(" version {version}"));
    let state = state_version.map_or_else(String::new, |state| format!(" with state {state}"));
    format!("there is no graph `{graph}`{version}{state}; GET /v1/graphs lists them")
}
