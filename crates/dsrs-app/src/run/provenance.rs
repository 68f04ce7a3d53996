//! The provenance of a run's outputs, computed on demand by the engine from the record of the run and
//! the program that ran. Here the record is read and the result written as JSON.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use dsrs::graph::{GraphState, Lineage, Program, Provenance, RunRecord};
use dsrs::predict::{DynPredictor, RecordedSpan, Recording, SpanKind, SpanStatus, param_id};
use dsrs::value::{Fields, JsonError, Map, Payload, ValueRef};

use crate::json::JsonObject;
use crate::program::read_state;
use crate::run::documents::usage_of;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::graph_version;
use dsrs_store::run::RunRow;

impl App {
    /// The provenance of a run's outputs as JSON, even if the graph has been deleted since.
    pub async fn run_provenance(
        self: &Arc<Self>,
        scope: &Scope,
        run: Arc<RunRow>,
    ) -> Result<String, AppError> {
        let (version, state_version) = (run.graph_version, run.state_version);
        let stored =
            graph_version::recorded(scope, &self.db, run.graph_id, version, state_version).await?;
        let definition = (stored.definition.as_str(), stored.content_hash.as_str());
        let program =
            Box::pin(self.tuned_program(scope, definition, &stored.predictors, &stored.state_hash))
                .await?;
        let state = read_state(&stored.predictors)?;
        let computing = self.compute.spawn("provenance", async move {
            let found = match record(&run) {
                Ok(record) => program.provenance(&record),
                Err(error) => unreadable(&program, &run, &error),
            };
            ProvenanceWriter::new(&program, &state, &run).json(&found)
        });
        let broken = || AppError::Internal("computing the provenance broke off".to_owned());
        computing.await.ok().flatten().ok_or_else(broken)
    }
}

/// The provenance of a record that is nested too deep to be read: all outputs are omitted.
fn unreadable(program: &Program, run: &RunRow, error: &JsonError) -> Provenance {
    tracing::warn!(run = %run.id, %error, "the record of a run cannot be read");
    let outputs = program.graph().outputs().filter(|_| run.outputs.is_some());
    let omitted = outputs.map(|(name, _)| name.clone()).collect();
    Provenance { omitted, ..Provenance::default() }
}

/// The record of a run for the engine.
fn record(run: &RunRow) -> Result<RunRecord, JsonError> {
    let read = Payload::from_record;
    let outputs = run.outputs.as_deref().map(read).transpose()?;
    let nodes = read(&run.nodes)?;
    let ran = |node: &Payload| Some(member(node, "outputs")?.clone()).filter(|o| !o.is_null());
    let nodes = nodes.as_map().into_iter().flatten();
    let trace = read(&run.trace)?;
    let spans = member(&trace, "spans").and_then(Payload::as_list).unwrap_or_default();
    Ok(RunRecord {
        outputs: outputs.as_ref().and_then(Payload::as_map).cloned().unwrap_or_default(),
        nodes: nodes.filter_map(|(name, node)| Some((name.clone(), ran(node)?))).collect(),
        recording: Recording::new(spans.iter().filter_map(span)),
    })
}

/// One span, as `documents` writes it.
fn span(span: &Payload) -> Option<RecordedSpan> {
    let id = |name: &str| match member(span, name) {
        Some(Payload::Int(id)) => u32::try_from(*id).ok(),
        _ => None,
    };
    let text = |name: &str| match member(span, name) {
        Some(Payload::Str(text)) => Some(text.clone()),
        _ => None,
    };
    let fields = |name: &str| member(span, name).and_then(Payload::as_map).cloned();
    let kind = match text("kind")?.as_ref() {
        "node" => SpanKind::Node,
        "attempt" => SpanKind::Attempt,
        "element" => SpanKind::Element,
        "round" => SpanKind::Round,
        "predictor" => SpanKind::Predictor,
        "lm" => SpanKind::Lm,
        "embedding" => SpanKind::Embedding,
        "tool" => SpanKind::Tool,
        _ => return None,
    };
    let status = match text("status")?.as_ref() {
        "succeeded" => SpanStatus::Succeeded,
        "failed" => SpanStatus::Failed,
        _ => SpanStatus::Cancelled,
    };
    Some(RecordedSpan {
        id: id("id")?,
        parent: id("parent_id"),
        kind,
        node: text("node")?,
        predictor: text("predictor"),
        status,
        number: id("attempt"),
        model: text("model"),
        usage: member(span, "usage").map(usage_of),
        inputs: fields("inputs"),
        outputs: fields("outputs"),
    })
}

fn member<'p>(payload: &'p Payload, name: &str) -> Option<&'p Payload> {
    payload.as_map().and_then(|members: &Map| members.get(name))
}

/// Writes provenance as JSON.
struct ProvenanceWriter<'t> {
    program: &'t Program,
    predictors: HashMap<String, &'t dyn DynPredictor>,
    state: &'t GraphState,
    run: &'t RunRow,
    /// Parameters as JSON, by path: many outputs may come from one.
    parameters: RefCell<HashMap<Arc<str>, String>>,
}

impl<'t> ProvenanceWriter<'t> {
    fn new(program: &'t Program, state: &'t GraphState, run: &'t RunRow) -> Self {
        let predictors = program.predictors().into_iter().collect();
        Self { program, predictors, state, run, parameters: RefCell::default() }
    }

    fn json(&self, found: &Provenance) -> String {
        let mut outputs = JsonObject::new();
        for (name, lineage) in &found.outputs {
            outputs.raw(name, &self.lineage(lineage));
        }
        let mut object = JsonObject::new();
        object.raw("outputs", &outputs.finish());
        object.list("omitted", found.omitted.iter().map(|name| quoted(name)));
        object.finish()
    }

    fn lineage(&self, lineage: &Lineage) -> String {
        let refs =
            |refs: &[ValueRef]| refs.iter().map(|r| quoted(&r.to_string())).collect::<Vec<_>>();
        let mut object = JsonObject::new();
        object.text("kind", lineage.value.kind().as_str());
        let reference = lineage.value.reference().map(ToString::to_string);
        object.text_or_null("ref", reference.as_deref());
        let meta = lineage.value.meta().cloned().unwrap_or_default();
        object.raw("meta", &meta.to_payload().to_json());
        object.list("sources", refs(&lineage.sources));
        object.list("nodes", lineage.nodes.iter().map(|node| quoted(node)));
        object.list("inputs", refs(&lineage.inputs));
        object
            .list("parameters", lineage.parameters.iter().map(|path| self.cached_parameter(path)));
        object.list("lm_calls", lineage.lm_calls.iter().map(ToString::to_string));
        object.list("tool_calls", lineage.tool_calls.iter().map(ToString::to_string));
        if !lineage.fields.is_empty() {
            let mut fields = JsonObject::new();
            for (part, lineage) in &lineage.fields {
                fields.raw(&part.to_string(), &self.lineage(lineage));
            }
            object.raw("fields", &fields.finish());
        }
        object.finish()
    }

    fn cached_parameter(&self, path: &Arc<str>) -> String {
        let mut known = self.parameters.borrow_mut();
        known.entry(path.clone()).or_insert_with(|| self.parameter(path)).clone()
    }

    /// The path of a predictor with the state version that it had. A predictor inside a node that is a
    /// stored graph has the state of that graph, unless the state of the run overrides it. A path
    /// that the program does not have belongs to a tool or a reward, whose config pins the version.
    fn parameter(&self, path: &str) -> String {
        let found = self.predictors.get(path);
        let node = path.split('.').next().unwrap_or(path);
        let pinned = self.pinned(node).filter(|_| !self.state.0.contains_key(path));
        let mut object = JsonObject::new();
        object.text("path", path);
        match (found, pinned) {
            (None, _) => object.raw("state_version", "null"),
            (Some(_), None) => object.shown("state_version", self.run.state_version),
            (Some(_), Some(config)) => {
                let of = |name: &str| config.get(name).cloned().unwrap_or_default().to_json();
                object.raw("state_version", &of("state_version")).raw("graph", &of("graph"))
            }
        };
        let id = found.map(|predictor| param_id(path, *predictor));
        object.text_or_null("param_id", id.as_deref());
        object.finish()
    }

    /// The config of a node that is a stored graph.
    fn pinned(&self, node: &str) -> Option<&Fields> {
        self.program.graph().node(node).filter(|node| node.strategy() == "graph")?;
        let nodes = member(self.program.document(), "nodes")?;
        member(member(nodes, node)?, "config")?.as_map()
    }
}

fn quoted(text: &str) -> String {
    Payload::from(text).to_json()
}
