//! The interpreter of a build without the feature `interpreter`: no program runs. Knows no Python.

use std::io::{self, BufRead, Write};

use dsrs::sandbox::{SandboxError, SandboxOutput};

use crate::wire::SandboxRequest;
use crate::{report, wire};

/// Refuses a program.
pub(crate) fn interpret(request: SandboxRequest) -> Result<SandboxOutput, SandboxError> {
    let SandboxRequest { code, inputs, limits, .. } = request;
    drop((code, inputs, limits));
    Err(missing())
}

/// Refuses a session.
pub(crate) fn serve_session(
    _: SandboxRequest,
    _: &mut dyn BufRead,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = wire::answer(&Err(missing()));
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

fn missing() -> SandboxError {
    report::broken("this build has no interpreter: build it with the feature `interpreter`")
}
