//! Inserted nodes: one that revises the outputs of a node, one that plans its task, one that rewrites a
//! text input. Their signatures derive from the node's own, so the edges around them check. Nothing is
//! inserted around an inserted node.

use std::sync::Arc;

use super::choices::object;
use super::site::{Move, Site};
use crate::graph::{Edge, Edit, Edits, Source, Target};
use crate::signature::{FieldSchema, SignatureSchema, signature_to_payload};
use crate::types::TypeIR;
use crate::value::Payload;

/// The prefix of the draft inputs of a revising node.
pub(super) const DRAFT: &str = "draft_";
/// The output of a planning node, and the input that receives it.
pub(super) const PLAN: &str = "plan";
/// The prefix of the output of a rewriting node.
const REWRITTEN: &str = "rewritten_";

/// Adds a node that revises the outputs of another.
pub(super) fn revise(site: &Site<'_>) -> Option<Move> {
    let base = site.base();
    let name = free_name(site, "revised");
    let readers = Readers::of(site);
    if is_inserted(site) || readers.is_empty() {
        return None;
    }
    let drafts = base.outputs.iter().map(|field| FieldSchema {
        description: Some(format!("a draft of `{}`, which may be wrong", field.name).into()),
        ..FieldSchema::of(draft_of(&field.name), field.ty.clone())
    });
    let signature = SignatureSchema {
        instructions: format!(
            "{}\n\nDraft answers are given. Check each draft against the inputs, keep what is \
             correct, fix what is wrong, and write all outputs.",
            base.instructions
        )
        .into(),
        inputs: base.inputs.iter().cloned().chain(drafts).collect(),
        outputs: base.outputs.clone(),
        defs: base.defs.clone(),
    };
    let mut edits = vec![Edit::AddNode { name: name.clone(), node: predictor(site, &signature) }];
    edits.extend(same_sources(site, &name));
    edits.extend(base.outputs.iter().map(|field| {
        let from = Source::field_of(site.name.clone(), field.name.clone());
        let to = Target { node: name.clone(), field: draft_of(&field.name) };
        Edit::Connect(Edge { from, to })
    }));
    edits.extend(readers.moved_to(&name));
    Some(Move {
        what: format!("`{name}` revises the outputs of `{}`", site.name),
        edits: Edits(edits),
    })
}

/// Adds a node that plans the task of another.
pub(super) fn plan(site: &Site<'_>) -> Option<Move> {
    let base = site.base();
    let name = free_name(site, "plan");
    let taken = base.inputs.iter().chain(&base.outputs).any(|field| field.name.as_ref() == PLAN);
    if is_inserted(site) || taken || Readers::of(site).is_empty() {
        return None;
    }
    let plan = FieldSchema {
        description: Some(
            "what to do, step by step, and what to watch out for; not the result".into(),
        ),
        ..FieldSchema::of(PLAN, TypeIR::Str)
    };
    let signature = SignatureSchema {
        instructions: format!(
            "Write a plan for performing the task below on these inputs. Do not perform the task \
             itself.\n\nThe task: {}",
            base.instructions
        )
        .into(),
        inputs: base.inputs.clone(),
        outputs: vec![plan.clone()],
        defs: base.defs.clone(),
    };
    let mut planned = base.clone();
    planned.inputs.push(FieldSchema {
        description: Some("a plan to follow; may be empty".into()),
        // The default keeps demos valid that have no plan.
        default: Some("".into()),
        ..plan
    });
    let node = site.with([("signature", signature_to_payload(&planned))]);
    let mut edits = vec![
        Edit::AddNode { name: name.clone(), node: predictor(site, &signature) },
        Edit::ReplaceNode { name: site.name.clone(), node },
    ];
    edits.extend(same_sources(site, &name));
    let to = Target { node: site.name.clone(), field: PLAN.into() };
    edits.push(Edit::Connect(Edge { from: Source::field_of(name.clone(), PLAN), to }));
    Some(Move { what: format!("`{name}` plans the task of `{}`", site.name), edits: Edits(edits) })
}

/// Adds a rewriting node to each edge that feeds a text.
pub(super) fn rewrite(site: &Site<'_>) -> Vec<Move> {
    let texts = |edge: &&Edge| {
        let field = site.base().input(&edge.to.field);
        field.is_some_and(|field| field.name.as_ref() != PLAN && matches!(field.ty, TypeIR::Str))
    };
    if is_inserted(site) {
        return Vec::new();
    }
    feeding(site).filter(texts).map(|edge| rewrite_one(site, edge)).collect()
}

fn rewrite_one(site: &Site<'_>, edge: &Edge) -> Move {
    let (field, base) = (&edge.to.field, site.base());
    let name = free_name(site, &format!("{field}_rewritten"));
    let output: Arc<str> = format!("{REWRITTEN}{field}").into();
    let described = |name: &Arc<str>, description: Option<Arc<str>>| FieldSchema {
        description,
        ..FieldSchema::of(name.clone(), TypeIR::Str)
    };
    let description = base.input(field).and_then(|known| known.description.clone());
    let signature = SignatureSchema {
        instructions: format!(
            "Rewrite `{field}` so that it is clear, complete and focused on the task below. Preserve \
             its meaning, its language and all facts; add none. Do not perform the task.\n\nThe \
             task: {}",
            base.instructions
        )
        .into(),
        inputs: vec![described(field, description)],
        outputs: vec![described(&output, None)],
        defs: base.defs.clone(),
    };
    let edit = Edit::InsertBetween {
        edge: edge.clone(),
        name: name.clone(),
        node: predictor(site, &signature),
        input: field.clone(),
        output,
    };
    Move {
        what: format!("`{name}` rewrites `{field}` for `{}`", site.name),
        edits: Edits(vec![edit]),
    }
}

/// The edges and graph outputs that read the outputs of a node's signature.
pub(super) struct Readers {
    pub(super) edges: Vec<Edge>,
    pub(super) outputs: Vec<(Arc<str>, Source)>,
}

impl Readers {
    pub(super) fn of(site: &Site<'_>) -> Self {
        let graph = site.program.graph();
        let reads =
            |from: &Source| from.node == *site.name && site.base().output(from.field()).is_some();
        let edges = graph.edges().iter().filter(|edge| reads(&edge.from)).cloned().collect();
        let outputs = graph.outputs().filter(|(_, output)| reads(&output.source));
        let outputs = outputs.map(|(name, output)| (name.clone(), output.source.clone())).collect();
        Self { edges, outputs }
    }

    fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.outputs.is_empty()
    }

    /// Redirects all of them to the same outputs of another node.
    fn moved_to(self, name: &Arc<str>) -> impl Iterator<Item = Edit> {
        let to = |from: &Source| Source { node: name.clone(), selection: from.selection.clone() };
        let edges = self.edges.into_iter().flat_map(move |edge| {
            let moved = Edge { from: to(&edge.from), to: edge.to.clone() };
            [Edit::Disconnect(edge), Edit::Connect(moved)]
        });
        let outputs = self.outputs.into_iter().map(move |(name, from)| (name, to(&from)));
        edges.chain(outputs.map(|(name, from)| Edit::SetOutput { name, from }))
    }
}

/// The edges that feed the inputs of a node's signature.
pub(super) fn feeding<'s>(site: &'s Site<'_>) -> impl Iterator<Item = &'s Edge> {
    let feeds =
        |edge: &&Edge| edge.to.node == *site.name && site.base().input(&edge.to.field).is_some();
    site.program.graph().edges().iter().filter(feeds)
}

/// Connects a new node to the same sources as a node.
fn same_sources(site: &Site<'_>, name: &Arc<str>) -> Vec<Edit> {
    let alike = |edge: &Edge| {
        let to = Target { node: name.clone(), field: edge.to.field.clone() };
        Edit::Connect(Edge { from: edge.from.clone(), to })
    };
    feeding(site).map(alike).collect()
}

/// A plain predictor with the settings of a node.
fn predictor(site: &Site<'_>, signature: &SignatureSchema) -> Payload {
    site.with([
        ("strategy", "predict".into()),
        ("signature", signature_to_payload(signature)),
        ("config", object([])),
    ])
}

/// Whether a node looks like an inserted one.
fn is_inserted(site: &Site<'_>) -> bool {
    let base = site.base();
    let revises = base.inputs.iter().any(|field| field.name.starts_with(DRAFT));
    let helps = match base.outputs.as_slice() {
        [only] => only.name.as_ref() == PLAN || only.name.starts_with(REWRITTEN),
        _ => false,
    };
    revises || helps
}

pub(super) fn draft_of(field: &str) -> Arc<str> {
    format!("{DRAFT}{field}").into()
}

/// A free node name.
fn free_name(site: &Site<'_>, what: &str) -> Arc<str> {
    let graph = site.program.graph();
    let name: Arc<str> = format!("{}_{what}", site.name).into();
    let numbered = (2_usize..).map(|number| format!("{name}_{number}").into());
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name: &Arc<str>| graph.node(name).is_none()).unwrap_or(name.clone())
}
