//! The inputs of a node, from what the nodes before it gave. Changes nothing.

use std::sync::Arc;

use super::Execution;
use crate::graph::plan::{FeedFrom, Origin, PlannedNode};
use crate::predict::{PredictError, PredictErrorKind};
use crate::types::ConvertError;
use crate::value::{Failure, Fields, Payload};

/// What came of gathering the inputs of a node.
pub(super) enum Gathered {
    Inputs(Result<Fields, PredictError>),
    /// Something that it needs failed.
    Lost(Arc<Failure>),
}

impl Execution<'_> {
    /// The inputs of a node, each converted to exactly the type that the node takes. Of several
    /// failures that it does not take, the first by the order of inputs stands for all.
    pub(super) fn gather(&self, planned: &PlannedNode) -> Gathered {
        let mut inputs = Fields::with_capacity(planned.feeds.len());
        let mut lost: Vec<&Arc<Failure>> = Vec::new();
        for feed in &planned.feeds {
            let value = match &feed.from {
                FeedFrom::Constant(value) => value.clone(),
                FeedFrom::Edge(origin, conversion) => match self.failure_of(origin) {
                    Some(failure) if feed.takes_error => Payload::Error(failure.clone()),
                    Some(failure) => {
                        lost.push(failure);
                        continue;
                    }
                    None if conversion.is_identity() => self.select(origin),
                    None => match conversion.apply(&self.select(origin)) {
                        Ok(value) => value,
                        Err(error) => return Gathered::Inputs(Err(unfit(&feed.field, &error))),
                    },
                },
            };
            inputs.insert(feed.field.clone(), value);
        }
        match lost.as_slice() {
            [] => Gathered::Inputs(Ok(inputs)),
            [only] => Gathered::Lost(Arc::clone(only)),
            [first, ..] => {
                let all = Failure::joined(lost.iter().map(|failure| (***failure).clone()));
                Gathered::Lost(all.map_or_else(|| Arc::clone(first), Arc::new))
            }
        }
    }

    /// The failure that stands where a source should have its value.
    fn failure_of(&self, origin: &Origin) -> Option<&Arc<Failure>> {
        origin.node.and_then(|index| self.nodes[index].failure.as_ref())
    }

    pub(super) fn select(&self, origin: &Origin) -> Payload {
        let from = match origin.node {
            None => Some(&self.inputs),
            Some(index) => self.nodes[index].outcome.outputs.as_ref(),
        };
        from.map(|outputs| origin.selection.get(outputs)).unwrap_or_default()
    }
}

/// An input that cannot be what its node takes.
fn unfit(field: &Arc<str>, error: &ConvertError) -> PredictError {
    let kind = PredictErrorKind::InvalidValue { field: field.clone() };
    PredictError::new(kind, format!("input `{field}`: {error}"))
}
