//! How programs fail: refusals of the host as exceptions of Python, and exceptions as failures of the sandbox. Knows no
//! processes.

use dsrs::sandbox::{SandboxError, SandboxFailure, SandboxLimits};
use monty_types::{ExcType, MontyException};

use crate::{exception, report};

pub(crate) fn denied(what: &str) -> MontyException {
    refusal(format!("`{what}` is refused: a program has no files, no environment and no clock"))
}

pub(crate) fn refusal(message: String) -> MontyException {
    MontyException::new(ExcType::PermissionError, Some(message))
}

pub(crate) fn unreadable(exception: &MontyException) -> SandboxError {
    exception::raised(kind_of(exception, SandboxFailure::Syntax), exception)
}

pub(crate) fn stopped(exception: &MontyException, limits: &SandboxLimits) -> SandboxError {
    match kind_of(exception, SandboxFailure::Raised) {
        SandboxFailure::Time => exception::at(exception, &report::out_of_time(limits)),
        SandboxFailure::Memory => exception::at(exception, &report::out_of_memory(limits)),
        kind => exception::raised(kind, exception),
    }
}

/// The interpreter reports an exceeded limit by exceptions that a program may raise, too. Only their
/// messages differ.
fn kind_of(exception: &MontyException, otherwise: SandboxFailure) -> SandboxFailure {
    let message = exception.message().unwrap_or_default();
    match exception.exc_type() {
        ExcType::TimeoutError if message.starts_with("time limit exceeded") => SandboxFailure::Time,
        ExcType::MemoryError if message.starts_with("memory limit exceeded") => {
            SandboxFailure::Memory
        }
        ExcType::PermissionError | ExcType::ModuleNotFoundError => SandboxFailure::Denied,
        _ => otherwise,
    }
}
