//! Messages of failures for a model: the exceeded limit, or what is broken. Knows no processes and no Python.

use std::time::Duration;

use dsrs::sandbox::{SandboxError, SandboxFailure, SandboxLimits};

use crate::walls::Wall;

pub(crate) fn out_of_time(limits: &SandboxLimits) -> SandboxError {
    let text = format!("the program was stopped after {}, its time limit", seconds(limits.time));
    SandboxError::new(SandboxFailure::Time, text)
}

pub(crate) fn out_of_memory(limits: &SandboxLimits) -> SandboxError {
    let text = format!("the program needs more than {}, its memory limit", size(limits.memory));
    SandboxError::new(SandboxFailure::Memory, text)
}

pub(crate) fn printed_too_much(limits: &SandboxLimits) -> SandboxError {
    let text = format!("the program printed more than {}, its limit", size(limits.output as u64));
    SandboxError::new(SandboxFailure::Output, text)
}

#[cfg(feature = "interpreter")]
pub(crate) fn value_too_large(limits: &SandboxLimits) -> SandboxError {
    let limit = size(limits.output as u64);
    let text = format!("the value of the last line is larger than {limit}, its limit");
    SandboxError::new(SandboxFailure::Output, text)
}

#[cfg(feature = "interpreter")]
pub(crate) fn too_many_calls(most: usize) -> SandboxError {
    let text =
        format!("the program calls functions outside of it more than {most} times, its limit");
    SandboxError::new(SandboxFailure::Denied, text)
}

pub(crate) fn too_deep() -> SandboxError {
    let text = "the program nests or recurses too deeply: the interpreter's stack is used up";
    SandboxError::new(SandboxFailure::Memory, text)
}

pub(crate) fn broken(why: impl std::fmt::Display) -> SandboxError {
    SandboxError::new(SandboxFailure::Broken, format!("the sandbox failed: {why}"))
}

/// A required wall does not stand. A person has to act, not the model.
pub(crate) fn unconfined(wall: Wall, reason: &str) -> SandboxError {
    let text = format!(
        "no program runs without the wall `{wall}` (see `sandbox.require`), which does not stand: {reason}"
    );
    SandboxError::new(SandboxFailure::Broken, text)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}
