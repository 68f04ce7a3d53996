//! The tools of a predictor's own: what its model is told of them, and the calls that it asks for
//! before it answers. When to ask it is for the call path.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::toolbox::Toolbox;
use super::{Ctx, PredictError};
use crate::lm::{ToolCall, ToolSet};
use crate::value::{Fields, Payload};

/// How often an LM may ask for calls before it has to answer.
pub(super) const ROUNDS: u32 = 16;

/// Tools, and what an LM is told of them.
#[derive(Debug)]
pub(super) struct OwnTools {
    toolbox: Toolbox,
    offer: Arc<ToolSet>,
}

impl OwnTools {
    pub(super) fn of(toolbox: Toolbox) -> Self {
        let offer = toolbox.offer([]);
        Self { toolbox, offer }
    }

    pub(super) const fn offer(&self) -> &Arc<ToolSet> {
        &self.offer
    }

    /// The results of all calls, which are made at the same time, in their order.
    pub(super) async fn call(
        &self,
        ctx: &Ctx,
        calls: &[ToolCall],
    ) -> Result<Vec<String>, PredictError> {
        try_join_all(calls.iter().map(|call| self.call_one(ctx, call))).await
    }

    async fn call_one(&self, ctx: &Ctx, call: &ToolCall) -> Result<String, PredictError> {
        let args = match call.arguments.trim() {
            "" => Ok(Payload::map(Fields::new())),
            text => Payload::from_json(text),
        };
        match args {
            Ok(args) => self.toolbox.call(ctx, &call.name, &args).await,
            Err(error) => Ok(format!("Error: the arguments are no JSON: {error}")),
        }
    }
}
