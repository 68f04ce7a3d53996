//! The child of a session: opens it, then runs a program for each line, and passes its calls to the parent. Knows no walls.

use std::io::{self, BufRead, Write};

use dsrs::sandbox::{HostAnswer, HostCall};

use crate::interpret_session::InterpreterSession;
use crate::session_wire::{ChildLine, child_line, read_answer_line, read_run_line};
use crate::wire::SandboxRequest;

/// Serves a session until the parent closes the pipe.
pub(crate) fn serve_session(
    request: SandboxRequest,
    lines: &mut dyn BufRead,
    out: &mut dyn Write,
) -> io::Result<()> {
    let SandboxRequest { inputs, limits, session, .. } = request;
    let functions = session.map(|session| session.functions).unwrap_or_default();
    let mut session = match InterpreterSession::open(inputs, functions, limits) {
        Ok(session) => session,
        Err(error) => return write(out, &ChildLine::Failed(error)),
    };
    write(out, &ChildLine::Ready)?;
    while let Some(line) = read(lines)? {
        let code = read_run_line(&line).ok_or_else(invalid)?;
        let mut host = |call: &HostCall| ask(call, lines, out);
        let (next, output) = session.run(&code, &mut host)?;
        session = next;
        write(out, &ChildLine::Ended(output))?;
    }
    Ok(())
}

/// The answer of the parent to a call.
fn ask(call: &HostCall, lines: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<HostAnswer> {
    write(out, &ChildLine::Call(call.clone()))?;
    let line = read(lines)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    read_answer_line(&line).ok_or_else(invalid)
}

fn read(lines: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}

fn write(out: &mut dyn Write, line: &ChildLine) -> io::Result<()> {
    out.write_all(&child_line(line))?;
    out.flush()
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a line of the parent cannot be read")
}
