//! A tool under another name, where two servers have one of the same name.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::lm::ToolSpec;
use crate::predict::{Ctx, Tool, ToolError};
use crate::value::{Fields, Payload};

/// The longest name that providers accept.
const LONGEST: usize = 64;

struct RenamedTool {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

/// The tool with the name of its server before its own.
pub(super) fn named_by_server(server: &str, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
    let name: String = format!("{server}_{}", tool.spec().name).chars().take(LONGEST).collect();
    let spec = ToolSpec { name: name.into(), ..tool.spec().clone() };
    Arc::new(RenamedTool { spec, tool })
}

impl Tool for RenamedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn result_schema(&self) -> Option<Payload> {
        self.tool.result_schema()
    }

    fn call<'a>(&'a self, ctx: &'a Ctx, args: Fields) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.tool.call(ctx, args)
    }

    fn call_for_data<'a>(
        &'a self,
        ctx: &'a Ctx,
        args: Fields,
    ) -> BoxFuture<'a, Result<Payload, ToolError>> {
        self.tool.call_for_data(ctx, args)
    }
}
