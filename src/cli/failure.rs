//! Why a command failed: lines for stderr and an exit code. docs/cli.md explains the codes.

use std::io;
use std::process::ExitCode;

use crate::client::ClientError;

/// The exit codes of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitReason {
    /// Refused, failed, different, or below a threshold.
    No = 1,
    /// The command line, or a file that it names, cannot be used. clap ends with the same code.
    Usage = 2,
    /// The server cannot be reached, or cannot answer now.
    Unavailable = 3,
    /// The reader of stdout has closed it: not a failure.
    ClosedOutput = 0,
}

/// One readable line for each problem, and the exit code. Without lines there is nothing to add to
/// what is printed.
#[derive(Debug)]
pub(super) struct CommandFailure {
    pub(super) lines: Vec<String>,
    pub(super) reason: ExitReason,
}

impl CommandFailure {
    /// Refused, failed, different, or below a threshold.
    pub(super) fn no(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], reason: ExitReason::No }
    }

    /// The command line, or a file that it names, cannot be used.
    pub(super) fn usage(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], reason: ExitReason::Usage }
    }

    /// Everything is printed already.
    pub(super) fn printed() -> Self {
        Self { lines: Vec::new(), reason: ExitReason::No }
    }

    /// Prints the lines and returns the exit code.
    pub(super) fn report(&self) -> ExitCode {
        for line in &self.lines {
            eprintln!("dsrs-server: {line}");
        }
        ExitCode::from(self.reason as u8)
    }
}

impl From<Vec<String>> for CommandFailure {
    fn from(lines: Vec<String>) -> Self {
        Self { lines, reason: ExitReason::No }
    }
}

impl From<ClientError> for CommandFailure {
    fn from(error: ClientError) -> Self {
        let reason = match &error {
            ClientError::Url(_) | ClientError::Key | ClientError::Tls(_) => ExitReason::Usage,
            error if error.is_temporary() => ExitReason::Unavailable,
            _ => ExitReason::No,
        };
        let lines = match error.refusal() {
            Some(problem) => problem.lines(),
            None => vec![error.to_string()],
        };
        Self { lines, reason }
    }
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => {
                Self { lines: Vec::new(), reason: ExitReason::ClosedOutput }
            }
            _ => Self::usage(format!("cannot write the result: {error}")),
        }
    }
}

/// The lines of a failure, each after the file that it is about.
pub(super) fn at_file(place: &str, error: ClientError) -> CommandFailure {
    let is_refusal = error.refusal().is_some();
    let mut failure = CommandFailure::from(error);
    if is_refusal {
        failure.lines.iter_mut().for_each(|line| *line = format!("{place}: {line}"));
    }
    failure
}

/// The lines of a refusal of one file; any other failure ends the command.
pub(super) fn refused(place: &str, error: ClientError) -> Result<Vec<String>, CommandFailure> {
    match error.refusal().is_some() && !error.is_temporary() {
        true => Ok(at_file(place, error).lines),
        false => Err(error.into()),
    }
}
