//! Work that the runs of one program share: equal nodes with equal inputs are called once, across all
//! these runs. Knows nothing of where outputs are stored, or for how long.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::graph::canonical::node_to_payload;
use crate::graph::node::Node;
use crate::graph::program::Program;
use crate::predict::{PredictError, PredictErrorKind, state_to_payload};
use crate::problem::{At, Problems};
use crate::types::admit;
use crate::value::{Fields, Payload};

/// Identifies the work of a node within a program: a hash of the node's definition, the state of its
/// predictors, and its inputs. The name of the node is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkKey(pub [u8; 32]);

/// The outputs of shared work.
#[derive(Clone, Debug)]
pub struct SharedOutputs {
    /// All outputs as one value.
    pub outputs: Payload,
    /// Whether this call computed them.
    pub computed: bool,
}

/// Stores the outputs of shared work.
pub trait WorkStore: Send + Sync {
    /// Returns the stored outputs of this work, or makes the call and stores its outputs. Concurrent
    /// callers wait. A failure is not shared.
    fn once<'a>(
        &'a self,
        key: WorkKey,
        call: BoxFuture<'a, Result<Payload, PredictError>>,
    ) -> BoxFuture<'a, Result<SharedOutputs, PredictError>>;
}

/// The work that runs of one program share.
pub struct SharedWork {
    identities: Vec<[u8; 32]>,
    store: Box<dyn WorkStore>,
}

impl SharedWork {
    /// The work of the nodes of a program, stored in `store`.
    #[must_use]
    pub fn of(program: &Program, store: Box<dyn WorkStore>) -> Self {
        let identities = program.graph().nodes.values().map(|node| identity(node)).collect();
        Self { identities, store }
    }

    /// The shared work of one node, by its index in the program.
    pub(super) fn part(&self, index: usize) -> Option<SharedNode<'_>> {
        let identity = self.identities.get(index)?;
        Some(SharedNode { identity, store: self.store.as_ref() })
    }
}

/// A hash that equal nodes share.
fn identity(node: &Node) -> [u8; 32] {
    let mut hash = Sha256::new().chain_update(node_to_payload(node).to_json());
    for (path, predictor) in node.module.predictors() {
        let state = state_to_payload(predictor.state()).to_json();
        hash = hash.chain_update([0]).chain_update(path).chain_update([0]).chain_update(state);
    }
    hash.finalize().into()
}

/// The shared work of one node.
#[derive(Clone, Copy)]
pub(super) struct SharedNode<'p> {
    identity: &'p [u8; 32],
    store: &'p dyn WorkStore,
}

impl<'p> SharedNode<'p> {
    pub(super) fn key(&self, inputs: &Fields) -> WorkKey {
        let inputs = Payload::map(inputs.clone()).to_json();
        WorkKey(Sha256::new().chain_update(self.identity).chain_update(inputs).finalize().into())
    }

    /// The outputs, and whether this call computed them.
    pub(super) async fn once<'c>(
        &self,
        key: WorkKey,
        node: &Node,
        call: BoxFuture<'c, Result<Fields, PredictError>>,
    ) -> Result<(Fields, bool), PredictError>
    where
        'p: 'c,
    {
        let call = async move { call.await.map(Payload::map) }.boxed();
        let store: &'c dyn WorkStore = self.store;
        let SharedOutputs { outputs, computed } = store.once(key, call).await?;
        let mut problems = Problems::new();
        let outputs = match computed {
            true => Some(outputs),
            false => admit(&outputs, node.outputs(), &At::Root, &mut problems),
        };
        let fields = outputs.as_ref().and_then(Payload::as_map).cloned();
        let fields = fields.filter(|_| problems.is_empty()).ok_or_else(|| {
            let message = "the stored outputs of the same work do not fit";
            PredictError::new(PredictErrorKind::InvalidValue { field: "outputs".into() }, message)
        })?;
        Ok((fields, computed))
    }
}
