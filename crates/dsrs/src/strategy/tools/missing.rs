//! A tool that existed when the graph was written and is missing now: the graph still loads, and a call
//! reports what is missing.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::value::RawValue;

use crate::lm::ToolSpec;
use crate::predict::{Ctx, Tool, ToolError};
use crate::value::{Fields, Payload};

struct MissingTool {
    spec: ToolSpec,
    reason: Arc<str>,
    /// Whether it may be there later.
    may_return: bool,
}

/// A tool whose every call fails for a reason.
pub(in crate::strategy) fn missing(name: Arc<str>, reason: &str) -> Arc<dyn Tool> {
    absent(name, reason, false)
}

/// A tool of a server that does not answer now.
pub(super) fn unreachable(name: Arc<str>, reason: &str) -> Arc<dyn Tool> {
    absent(name, reason, true)
}

fn absent(name: Arc<str>, reason: &str, may_return: bool) -> Arc<dyn Tool> {
    let description = format!("Not available: {reason}").into();
    let spec = ToolSpec { name, description, parameters: anything() };
    Arc::new(MissingTool { spec, reason: reason.into(), may_return })
}

fn anything() -> Arc<RawValue> {
    RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap_or_default().into()
}

impl Tool for MissingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: &'a Ctx, _: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        let error = match self.may_return {
            true => ToolError::unavailable(self.reason.clone(), None),
            false => ToolError::reported(self.reason.clone()),
        };
        async { Err(error) }.boxed()
    }
}
