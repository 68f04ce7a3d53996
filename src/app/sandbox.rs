//! The sandbox of all runs, as the settings configure it.

use std::sync::Arc;

use dsrs::sandbox::{Sandbox, SandboxLimits};
use dsrs_sandbox::ChildSandbox;

use crate::config::{SANDBOX_COMMAND, SandboxConfig};

/// `None` if the sandbox is disabled.
pub(crate) fn open(config: &SandboxConfig) -> Option<Arc<dyn Sandbox>> {
    let limits = SandboxLimits { time: config.time, memory: config.memory, output: config.output };
    let child = || ChildSandbox::new(&config.program, &[SANDBOX_COMMAND], limits);
    config.enabled.then(|| Arc::new(child()) as Arc<dyn Sandbox>)
}
