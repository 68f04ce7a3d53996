//! Messages of failures for a model: the exceeded limit, or the exception with its place, short enough
//! for a prompt. Knows no processes.

use std::fmt::Write;
use std::time::Duration;

use dsrs::sandbox::{SandboxError, SandboxFailure, SandboxLimits};
use monty_types::{MontyException, StackFrame};

use crate::walls::Wall;

/// The number of frames of a traceback in a message, from the innermost.
const FRAMES: usize = 4;

/// The longest line of source, and the longest message of an exception, in characters.
const LINE: usize = 160;
const MESSAGE: usize = 1_000;

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

pub(crate) fn value_too_large(limits: &SandboxLimits) -> SandboxError {
    let limit = size(limits.output as u64);
    let text = format!("the value of the last line is larger than {limit}, its limit");
    SandboxError::new(SandboxFailure::Output, text)
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

/// An exception with its place.
pub(crate) fn raised(kind: SandboxFailure, exception: &MontyException) -> SandboxError {
    let text = format!("{}{}", place(exception), clipped(&exception.summary(), MESSAGE));
    SandboxError::new(kind, text)
}

/// An exceeded limit with its place.
pub(crate) fn at(exception: &MontyException, error: &SandboxError) -> SandboxError {
    SandboxError::new(error.kind, format!("{}{}", place(exception), error.message))
}

/// The innermost frames, as a traceback shows them.
fn place(exception: &MontyException) -> String {
    let frames = exception.traceback();
    let mut text = String::new();
    if frames.len() > FRAMES {
        text.push_str("…\n");
    }
    for frame in &frames[frames.len().saturating_sub(FRAMES)..] {
        push_frame(&mut text, frame);
    }
    text
}

fn push_frame(text: &mut String, frame: &StackFrame) {
    let name = frame.frame_name.as_deref().map(|name| clipped(name, LINE));
    let within = name.map(|name| format!(", in {name}")).unwrap_or_default();
    // Writing to a string does not fail.
    let _ = writeln!(text, "line {}{within}", frame.start.line);
    if let Some(line) = frame.preview_line.as_deref().and_then(|lines| lines.lines().next()) {
        let _ = writeln!(text, "    {}", clipped(line.trim(), LINE));
    }
}

fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
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
