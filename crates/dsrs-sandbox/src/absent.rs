//! The interpreter of a build without the feature `interpreter`: no program runs. Knows no Python.

use dsrs::sandbox::{SandboxError, SandboxOutput};

use crate::report;
use crate::wire::SandboxRequest;

/// Refuses a program.
pub(crate) fn interpret(request: SandboxRequest) -> Result<SandboxOutput, SandboxError> {
    let SandboxRequest { code, inputs, limits, .. } = request;
    drop((code, inputs, limits));
    Err(report::broken("this build has no interpreter: build it with the feature `interpreter`"))
}
