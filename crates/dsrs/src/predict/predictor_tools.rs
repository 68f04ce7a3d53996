//! The tools of a predictor: their specifications for the model, and the calls that the model
//! requests before it answers. Does not know when the model is asked.

use std::sync::Arc;

use futures_util::future::try_join_all;

use super::tool_dispatcher::ToolDispatcher;
use super::{Ctx, PredictError};
use crate::lm::{ToolCall, ToolSet};
use crate::value::{Fields, Payload};

/// How many rounds of tool calls an LM may request before it has to answer.
pub(super) const ROUNDS: u32 = 16;

/// Tools and their specifications.
#[derive(Debug)]
pub(super) struct PredictorTools {
    toolbox: ToolDispatcher,
    offer: Arc<ToolSet>,
}

impl PredictorTools {
    pub(super) fn of(toolbox: ToolDispatcher) -> Self {
        let offer = toolbox.offer([]);
        Self { toolbox, offer }
    }

    pub(super) const fn offer(&self) -> &Arc<ToolSet> {
        &self.offer
    }

    /// Makes all calls concurrently; returns their results in order.
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
            Err(error) => Ok(format!("Error: the arguments are not JSON: {error}")),
        }
    }
}
