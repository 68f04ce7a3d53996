//! Nodes that are put in: one that revises what a node gives, one that plans what a node is to do,
//! one that rewrites a text before a node takes it. Their signatures are made of the node's own, so
//! that the edges around them check. Nothing is put in around a node that was put in.

use std::sync::Arc;

use super::choices::object;
use super::moves::{Move, Site};
use crate::graph::{Edge, Edit, Edits, Source, Target};
use crate::signature::{FieldSchema, SignatureSchema, signature_to_payload};
use crate::types::TypeIR;
use crate::value::Payload;

/// What the inputs of a revising node begin with that take what is to be revised.
pub(super) const DRAFT: &str = "draft_";
/// The output of a planning node, and the input that takes it.
pub(super) const PLAN: &str = "plan";
/// What the output of a rewriting node begins with.
const REWRITTEN: &str = "rewritten_";

/// A node behind one, that gives the same outputs anew.
pub(super) fn revise(site: &Site<'_>) -> Option<Move> {
    let base = site.base();
    let name = free_name(site, "revised");
    let readers = Readers::of(site);
    if is_put_in(site) || readers.is_empty() {
        return None;
    }
    let drafts = base.outputs.iter().map(|field| FieldSchema {
        description: Some(
            format!("a first answer for `{}`, which may be wrong", field.name).into(),
        ),
        ..FieldSchema::of(draft_of(&field.name), field.ty.clone())
    });
    let signature = SignatureSchema {
        instructions: format!(
            "{}\n\nSomeone has answered already. Check each draft against the inputs. Keep what \
             holds, correct what does not, and give all outputs.",
            base.instructions
        )
        .into(),
        inputs: base.inputs.iter().cloned().chain(drafts).collect(),
        outputs: base.outputs.clone(),
        defs: base.defs.clone(),
    };
    let mut edits = vec![Edit::AddNode { name: name.clone(), node: predictor(site, &signature) }];
    edits.extend(fed_alike(site, &name));
    edits.extend(base.outputs.iter().map(|field| {
        let from = Source::field_of(site.name.clone(), field.name.clone());
        let to = Target { node: name.clone(), field: draft_of(&field.name) };
        Edit::Connect(Edge { from, to })
    }));
    edits.extend(readers.moved_to(&name));
    Some(Move { what: format!("`{name}` revises what `{}` gives", site.name), edits: Edits(edits) })
}

/// A node before one, that makes a plan for it.
pub(super) fn plan(site: &Site<'_>) -> Option<Move> {
    let base = site.base();
    let name = free_name(site, "plan");
    let taken = base.inputs.iter().chain(&base.outputs).any(|field| field.name.as_ref() == PLAN);
    if is_put_in(site) || taken || Readers::of(site).is_empty() {
        return None;
    }
    let plan = FieldSchema {
        description: Some("what to do, step by step, and what to mind; not the result".into()),
        ..FieldSchema::of(PLAN, TypeIR::Str)
    };
    let signature = SignatureSchema {
        instructions: format!(
            "Someone else is to do the task below with these inputs. Make a plan for them.\n\nThe \
             task: {}",
            base.instructions
        )
        .into(),
        inputs: base.inputs.clone(),
        outputs: vec![plan.clone()],
        defs: base.defs.clone(),
    };
    let mut planned = base.clone();
    planned.inputs.push(FieldSchema {
        description: Some("how to go about it, if anyone has said so".into()),
        // Demos from before there was a plan are demos still.
        default: Some("".into()),
        ..plan
    });
    let node = site.with([("signature", signature_to_payload(&planned))]);
    let mut edits = vec![
        Edit::AddNode { name: name.clone(), node: predictor(site, &signature) },
        Edit::ReplaceNode { name: site.name.clone(), node },
    ];
    edits.extend(fed_alike(site, &name));
    let to = Target { node: site.name.clone(), field: PLAN.into() };
    edits.push(Edit::Connect(Edge { from: Source::field_of(name.clone(), PLAN), to }));
    Some(Move { what: format!("`{name}` plans what `{}` does", site.name), edits: Edits(edits) })
}

/// Nodes in the edges that bring a node its texts, one for each.
pub(super) fn rewrite(site: &Site<'_>) -> Vec<Move> {
    let texts = |edge: &&Edge| {
        let field = site.base().input(&edge.to.field);
        field.is_some_and(|field| field.name.as_ref() != PLAN && matches!(field.ty, TypeIR::Str))
    };
    if is_put_in(site) {
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
    let said = base.input(field).and_then(|known| known.description.clone());
    let signature = SignatureSchema {
        instructions: format!(
            "Rewrite `{field}` so that it is clear, complete and to the point for the task below. \
             Keep its meaning, its language and all facts; add none. Do not do the task.\n\nThe \
             task: {}",
            base.instructions
        )
        .into(),
        inputs: vec![described(field, said)],
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

/// The inputs of others, and the outputs of the graph, that take what a node's signature gives.
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

    /// All of them take the same from another node.
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

/// The edges into a node that feed the inputs of its signature.
pub(super) fn feeding<'s>(site: &'s Site<'_>) -> impl Iterator<Item = &'s Edge> {
    let feeds =
        |edge: &&Edge| edge.to.node == *site.name && site.base().input(&edge.to.field).is_some();
    site.program.graph().edges().iter().filter(feeds)
}

/// Another node gets the inputs of a node's signature from where that has them.
fn fed_alike(site: &Site<'_>, name: &Arc<str>) -> Vec<Edit> {
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

/// Whether a node looks like one that was put in.
fn is_put_in(site: &Site<'_>) -> bool {
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

/// A name that no node has.
fn free_name(site: &Site<'_>, what: &str) -> Arc<str> {
    let graph = site.program.graph();
    let name: Arc<str> = format!("{}_{what}", site.name).into();
    let numbered = (2_usize..).map(|number| format!("{name}_{number}").into());
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name: &Arc<str>| graph.node(name).is_none()).unwrap_or(name.clone())
}
