//! Signatures from strategies: a typed module has its own signature, and a posted one must equal it.
//! Ops have no written signature; theirs is inferred later.

use super::document::NodeDraft;
use crate::graph::check::same_type;
use crate::graph::node::check_model;
use crate::problem::{At, Code, Problems};
use crate::signature::{FieldSchema, read_signature};
use crate::strategy::{BuildEnv, Op, OpFactory, pinned, registry};
use crate::types::{CompareBudget, TypeScope};
use crate::value::{Map, Payload};

/// Sets the signature of a node whose strategy has its own. A node of any other strategy must have
/// a signature. A posted signature must equal the own one, as in a document that was resolved
/// before.
pub(super) fn own_signature(
    node: &mut NodeDraft,
    env: &dyn BuildEnv,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let factory = node.strategy.as_deref().and_then(registry::get);
    if let Some(op) = factory.and_then(|factory| factory.op()) {
        node.op = read_op(node, op, env, scope, at, problems);
        return;
    }
    let place = at;
    let at = place.key("signature");
    let config = node.config.clone().unwrap_or_else(|| Payload::map(Map::new()));
    match factory.and_then(|factory| factory.own_signature(env, &config, place)) {
        None if node.signed => {}
        None => problems.add(&at, Code::MissingField, "`signature` is missing"),
        Some(Err(found)) => problems.append(found),
        Some(Ok(own)) if !node.signed => {
            node.signature = read_signature(&own, scope, &at, problems);
        }
        Some(Ok(own)) => check_own(node, &own, scope, &at, problems),
    }
}

/// Reads the config of an op and fills in defaults; `None` if there are problems.
fn read_op(
    node: &mut NodeDraft,
    op: &'static dyn OpFactory,
    env: &dyn BuildEnv,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Box<dyn Op>> {
    let before = problems.len();
    if node.signed {
        let detail = "the types of an op are inferred from its config and its connections; omit \
                      `signature`";
        problems.add(&at.key("signature"), Code::InvalidSignature, detail);
    }
    check_model(env, &node.settings.lm, &at.key("lm"), problems);
    let config = pinned(env, op.name(), node.config.take()?);
    let read = match registry::check(op.name(), Some(&config), at) {
        Ok(_) => op.read(env, &config, scope, at),
        Err(found) => Err(found),
    };
    node.config = Some(config);
    let read = read.map_err(|found| problems.append(found)).ok();
    read.filter(|_| problems.len() == before && node.named)
}

/// Compares a signature that was posted with the strategy's own.
fn check_own(
    node: &NodeDraft,
    own: &Payload,
    scope: &TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let mut own_scope = TypeScope::new();
    let own = read_signature(own, &mut own_scope, at, problems);
    let (Some(own), Some(posted)) = (own, &node.signature) else { return };
    let own = own.finish(own_scope.finish());
    let posted = posted.clone().finish(scope.defs().clone());
    let mut budget = CompareBudget::for_document();
    let mut alike = |one: &[FieldSchema], two: &[FieldSchema]| {
        let pairs = one.iter().zip(two);
        let mut each = pairs.map(|(one, two)| {
            one.name == two.name && same_type(&own.type_of(one), &posted.type_of(two), &mut budget)
        });
        one.len() == two.len() && each.all(|alike| alike)
    };
    if !(alike(&own.inputs, &posted.inputs) && alike(&own.outputs, &posted.outputs)) {
        let detail = "this strategy has its own signature, and this one differs; omit it";
        problems.add(at, Code::InvalidSignature, detail);
    }
}
