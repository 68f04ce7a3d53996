//! Gathering the inputs of a node from the outputs of earlier nodes. Changes no state.

use std::sync::Arc;

use super::Execution;
use crate::graph::plan::{InputSource, PlannedNode, ValueSource};
use crate::predict::{PredictError, PredictErrorKind};
use crate::types::ConvertError;
use crate::value::{Failure, Fields, Payload};

/// The inputs of a node, or the reason why it cannot start.
pub(super) enum NodeInputs {
    Ready(Result<Fields, PredictError>),
    /// A source that it needs failed.
    SourceFailed(Arc<Failure>),
}

impl Execution<'_> {
    /// Gathers the inputs of a node, each converted to the exact type of the field. If several sources
    /// failed, their failures are joined in the order of the inputs.
    pub(super) fn gather(&self, planned: &PlannedNode) -> NodeInputs {
        let mut inputs = Fields::with_capacity(planned.feeds.len());
        let mut lost: Vec<&Arc<Failure>> = Vec::new();
        for feed in &planned.feeds {
            let value = match &feed.from {
                InputSource::Constant(value) => value.clone(),
                InputSource::Edge(origin, conversion) => match self.failure_of(origin) {
                    Some(failure) if feed.accepts_error => Payload::Error(failure.clone()),
                    Some(failure) => {
                        lost.push(failure);
                        continue;
                    }
                    None if conversion.is_identity() => self.select(origin),
                    None => match conversion.apply(&self.select(origin)) {
                        Ok(value) => value,
                        Err(error) => return NodeInputs::Ready(Err(unfit(&feed.field, &error))),
                    },
                },
            };
            inputs.insert(feed.field.clone(), value);
        }
        match lost.as_slice() {
            [] => NodeInputs::Ready(Ok(inputs)),
            [only] => NodeInputs::SourceFailed(Arc::clone(only)),
            [first, ..] => {
                let all = Failure::joined(lost.iter().map(|failure| (***failure).clone()));
                NodeInputs::SourceFailed(all.map_or_else(|| Arc::clone(first), Arc::new))
            }
        }
    }

    /// The failure of a source, if it failed.
    fn failure_of(&self, origin: &ValueSource) -> Option<&Arc<Failure>> {
        origin.node.and_then(|index| self.nodes[index].failure.as_ref())
    }

    pub(super) fn select(&self, origin: &ValueSource) -> Payload {
        let from = match origin.node {
            None => Some(&self.inputs),
            Some(index) => self.nodes[index].outcome.outputs.as_ref(),
        };
        from.map(|outputs| origin.selection.get(outputs)).unwrap_or_default()
    }
}

/// The error of an input that does not convert to its type.
fn unfit(field: &Arc<str>, error: &ConvertError) -> PredictError {
    let kind = PredictErrorKind::InvalidValue { field: field.clone() };
    PredictError::new(kind, format!("input `{field}`: {error}"))
}
