//! Reading a graph document as posted or stored: every member with its place, every problem of
//! shape, nothing yet about how the parts fit together. Knows JSON data; knows no registry.

use std::sync::Arc;
use std::time::Duration;

use crate::graph::edge::{Edge, Source, Target};
use crate::graph::exposure::Exposure;
use crate::graph::node::{
    DEFAULT_PARSE_RETRIES, DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS, NodeSettings,
};
use crate::graph::program_graph::{check_graph_name, check_node_name};
use crate::predict::read_lm;
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object};
use crate::signature::{FieldSchema, SignatureDraft, read_field, read_signature};
use crate::strategy::{Op, registry};
use crate::types::TypeScope;
use crate::value::{Map, Payload, is_identifier};

/// The most nodes of a graph.
pub const MAX_NODES: usize = 5_000;
/// The most edges of a graph.
pub const MAX_EDGES: usize = 50_000;
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
const MAX_RETRIES: u64 = 20;

/// Read-only members of the graph resource: a GET response can be sent back unchanged.
const READ_ONLY: [&str; 7] =
    ["id", "version", "state_version", "content_hash", "created_at", "updated_at", "state"];

/// A graph document, read but not resolved. A part that could not be read is `None` with its name,
/// so that later checks do not report its consequences.
pub(super) struct GraphDraft {
    pub(super) name: Arc<str>,
    pub(super) description: Option<Arc<str>>,
    pub(super) exposure: Exposure,
    pub(super) scope: TypeScope,
    pub(super) inputs: Option<Vec<(Arc<str>, Option<FieldSchema>)>>,
    /// `None` when there are none to speak of: nothing else can be checked then.
    pub(super) nodes: Option<Vec<(Arc<str>, Option<NodeDraft>)>>,
    pub(super) edges: Vec<EdgeDraft>,
    pub(super) outputs: Option<Vec<(Arc<str>, Option<Source>)>>,
}

/// A node as read, with gaps where it could not be read.
pub(super) struct NodeDraft {
    pub(super) named: bool,
    pub(super) strategy: Option<Arc<str>>,
    pub(super) signature: Option<SignatureDraft>,
    /// Whether the document has a signature, valid or not.
    pub(super) signed: bool,
    pub(super) config: Option<Payload>,
    pub(super) settings: NodeSettings,
    /// The op, once it has been read.
    pub(super) op: Option<Box<dyn Op>>,
}

impl NodeDraft {
    /// Whether its types are to be inferred.
    pub(super) fn is_op(&self) -> bool {
        let factory = self.strategy.as_deref().and_then(registry::get);
        factory.is_some_and(|factory| factory.op().is_some())
    }
}

/// An edge as read, with gaps where it could not be read.
#[derive(Default)]
pub(super) struct EdgeDraft {
    pub(super) from: Option<Source>,
    pub(super) to: Option<Target>,
}

impl EdgeDraft {
    /// The edge, if both ends could be read.
    pub(super) fn edge(&self) -> Option<Edge> {
        Some(Edge { from: self.from.clone()?, to: self.to.clone()? })
    }
}

impl GraphDraft {
    /// Reads a document. `None` only when it is no object at all.
    pub(super) fn read(document: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let mut object = Object::open(document, at, problems)?;
        object.ignore(&READ_ONLY);
        let name = object.required("name", |payload, at, problems| {
            let name = read::shared_text(payload, at, problems)?;
            check_graph_name(&name, at, problems);
            Some(name)
        });
        let description = object.optional("description", read::shared_text);
        let exposure = object.optional("expose", Exposure::read);
        let mut scope = object
            .optional("types", |types, at, problems| Some(TypeScope::read(types, at, problems)));
        let scope_now = scope.get_or_insert_with(TypeScope::new);
        let inputs = object.optional("inputs", |payload, at, problems| {
            Some(read_inputs(payload, scope_now, at, problems))
        });
        let nodes = object.required("nodes", |payload, at, problems| {
            read_nodes(payload, scope_now, at, problems)
        });
        let edges = object.optional("edges", read_edges);
        let outputs = object.optional("outputs", |payload, at, problems| {
            Some(read_outputs(payload, at, problems).unwrap_or_default())
        });
        object.close();
        Some(Self {
            name: name.unwrap_or_else(|| Arc::from("")),
            description,
            exposure: exposure.unwrap_or_default(),
            scope: scope.unwrap_or_default(),
            inputs,
            nodes: nodes.filter(|nodes| !nodes.is_empty()),
            edges: edges.unwrap_or_default(),
            outputs,
        })
    }
}

/// The inputs. If they are not an object, one input without a name represents them.
fn read_inputs(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Vec<(Arc<str>, Option<FieldSchema>)> {
    let inputs = read::members(payload, at, problems, |name, field, at, problems| {
        Some(read_field(name, field, scope, at, problems))
    });
    inputs.unwrap_or_else(|| vec![(Arc::from(""), None)])
}

fn read_nodes(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<(Arc<str>, Option<NodeDraft>)>> {
    let count = payload.as_map().map_or(1, Map::len);
    if count == 0 {
        problems.add(at, Code::InvalidValue, "a graph needs at least one node");
    }
    if count > MAX_NODES {
        let detail = format!("{count} nodes; at most {MAX_NODES} fit in one graph");
        problems.add(at, Code::TooLarge, detail);
        return None;
    }
    read::members(payload, at, problems, |name, node, at, problems| {
        let named = check_node_name(name, at, problems);
        Some(read_node(node, named, scope, at, problems))
    })
}

fn read_node(
    payload: &Payload,
    named: bool,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<NodeDraft> {
    let mut object = Object::open(payload, at, problems)?;
    let strategy = object.required("strategy", read::shared_text);
    let posted = object.raw("signature").filter(|payload| !matches!(payload, Payload::Null));
    let (signed, place) = (posted.is_some(), at.key("signature"));
    let signature =
        posted.and_then(|payload| read_signature(payload, scope, &place, object.problems()));
    let config = object.optional("config", |payload, at, problems| {
        Some(read::map(payload, at, problems).map(|_| payload.clone()))
    });
    let config = config.unwrap_or_else(|| Some(Payload::map(Map::new())));
    let lm = object.optional("lm", read_lm);
    let timeout = object
        .optional("timeout_ms", |p, at, problems| bounded(p, 1, MAX_TIMEOUT_MS, at, problems));
    let retries =
        object.optional("retries", |p, at, problems| bounded(p, 0, MAX_RETRIES, at, problems));
    let parse_retries = object
        .optional("parse_retries", |p, at, problems| bounded(p, 0, MAX_RETRIES, at, problems));
    let dspy_paths = object.optional("dspy_paths", |payload, at, problems| {
        read::members(payload, at, problems, |_, path, at, problems| {
            read::shared_text(path, at, problems)
        })
    });
    object.close();
    let settings = NodeSettings {
        lm: lm.unwrap_or_default(),
        timeout: Duration::from_millis(timeout.unwrap_or(DEFAULT_TIMEOUT_MS)),
        retries: retries.map_or(DEFAULT_RETRIES, small),
        parse_retries: parse_retries.map_or(DEFAULT_PARSE_RETRIES, small),
        dspy_paths: dspy_paths.into_iter().flatten().collect(),
    };
    Some(NodeDraft { named, strategy, signature, signed, config, settings, op: None })
}

fn bounded(
    payload: &Payload,
    least: u64,
    most: u64,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<u64> {
    let found = read::count(payload, at, problems)?;
    if (least..=most).contains(&found) {
        return Some(found);
    }
    let detail = format!("expected {least} to {most}, found {found}");
    problems.add(at, Code::InvalidValue, detail);
    None
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The edges. If they are not an array or too many, one edge without ends represents them.
fn read_edges(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Vec<EdgeDraft>> {
    let count = payload.as_list().map_or(0, <[Payload]>::len);
    if count > MAX_EDGES {
        let detail = format!("{count} edges; at most {MAX_EDGES} fit in one graph");
        problems.add(at, Code::TooLarge, detail);
        return Some(vec![EdgeDraft::default()]);
    }
    let edges =
        read::list(payload, at, problems, |edge, at, problems| Some(read_edge(edge, at, problems)));
    Some(edges.unwrap_or_else(|| vec![EdgeDraft::default()]))
}

fn read_edge(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> EdgeDraft {
    let Some(mut object) = Object::open(payload, at, problems) else {
        return EdgeDraft::default();
    };
    let from = object.required("from", Source::read);
    let to = object.required("to", Target::read);
    object.close();
    EdgeDraft { from, to }
}

fn read_outputs(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<(Arc<str>, Option<Source>)>> {
    read::members(payload, at, problems, |name, source, at, problems| {
        if !is_identifier(name) {
            let detail = format!(
                "`{name}` is not an output name: a letter or _, then at most 62 letters, digits and _"
            );
            problems.add(at, Code::InvalidName, detail);
        }
        Some(Source::read(source, at, problems))
    })
}
