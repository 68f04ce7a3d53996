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
}

/// A tool whose every call fails for a reason.
pub(super) fn missing(name: Arc<str>, reason: &str) -> Arc<dyn Tool> {
    let description = format!("Not available: {reason}").into();
    let spec = ToolSpec { name, description, parameters: anything() };
    Arc::new(MissingTool { spec, reason: reason.into() })
}

fn anything() -> Arc<RawValue> {
    RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap_or_default().into()
}

impl Tool for MissingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: &'a Ctx, _: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        async { Err(ToolError::reported(self.reason.clone())) }.boxed()
    }
}
