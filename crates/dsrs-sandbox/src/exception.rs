//! Messages of exceptions for a model, each with its place, short enough for a prompt. Knows no limits.

use std::fmt::Write;

use dsrs::sandbox::{SandboxError, SandboxFailure};
use monty_types::{MontyException, StackFrame};

/// The number of frames of a traceback in a message, from the innermost.
const FRAMES: usize = 4;

/// The longest line of source, and the longest message of an exception, in characters.
const LINE: usize = 160;
const MESSAGE: usize = 1_000;

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
