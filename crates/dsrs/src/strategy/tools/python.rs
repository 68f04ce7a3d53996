//! The built-in tool `python`: runs a program of the LM in the sandbox of the server.

use std::sync::Arc;

use facet::Facet;

use super::BuiltinTool;
use crate::predict::{Tool, function_tool};
use crate::sandbox::{DIALECT, Sandbox, SandboxError, SandboxOutput};
use crate::value::{Fields, Payload};

#[derive(Facet)]
struct PythonArgs {
    /// the complete program; its result is what it prints and the value of its last line
    code: String,
}

inventory::submit! {
    BuiltinTool {
        name: "python",
        make: |env| {
            let sandbox = env.sandbox().ok_or("there is no sandbox, so the tool `python` \
                                               is not available; leave it out")?;
            tool(sandbox)
        },
    }
}

fn tool(sandbox: Arc<dyn Sandbox>) -> Result<Arc<dyn Tool>, String> {
    let description = format!("Runs a Python program. {DIALECT}");
    let run = move |program: PythonArgs| {
        let sandbox = sandbox.clone();
        async move {
            let ran = sandbox.run(&program.code, &Fields::new()).await;
            Ok::<_, SandboxError>(result(ran?))
        }
    };
    function_tool("python", description, run).map_err(|error| error.to_string())
}

/// What was printed, or the value, or both.
fn result(ran: SandboxOutput) -> Payload {
    match (ran.printed.is_empty(), ran.value.is_null()) {
        (true, _) => ran.value,
        (false, true) => Payload::Str(ran.printed),
        (false, false) => Payload::map(Fields::from_iter([
            ("printed".into(), Payload::Str(ran.printed)),
            ("value".into(), ran.value),
        ])),
    }
}
