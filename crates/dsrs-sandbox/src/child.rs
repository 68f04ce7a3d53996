//! The child: confines itself, reads one request, answers it and ends, or serves the session that the request opens. It
//! runs no program unless every required wall stands.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread;

use dsrs::sandbox::SandboxError;

#[cfg(not(feature = "interpreter"))]
use crate::absent::{interpret, serve_session};
#[cfg(feature = "interpreter")]
use crate::child_session::serve_session;
#[cfg(feature = "interpreter")]
use crate::interpret::interpret;
use crate::walls::{Wall, Walls};
use crate::wire::SandboxRequest;
use crate::{confine, report, wire};

/// The stack of the interpreter, far above its own limits of nesting and independent of the system's
/// default.
const STACK: usize = 16 << 20;

/// Runs the program on stdin and writes the result to stdout. A process must do nothing before or after
/// it, because it confines the process.
pub fn child_main() -> ExitCode {
    let mut walls = Walls::none();
    confine::give_up_privileges(&mut walls);
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || serve(walls));
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(error))) | Err(error) => eprintln!("{error}"),
        // The interpreter panicked and has written a message.
        Ok(Err(_)) => {}
    }
    ExitCode::FAILURE
}

fn serve(mut walls: Walls) -> io::Result<()> {
    let before = confine::address_space();
    let forbidden = confine::forbid_resources();
    let (mut lines, mut out) = (io::stdin().lock(), io::stdout().lock());
    let mut text = Vec::new();
    lines.read_until(b'\n', &mut text)?;
    let answer = match wire::read_request(&text) {
        Ok(request) => {
            drop(text);
            let processor = request.session.as_ref().map(|session| session.processor);
            let processor = processor.unwrap_or(request.limits.time);
            let limited = confine::limit(before, request.limits.memory, processor);
            walls.record(Wall::Rlimits, forbidden.and(limited));
            confine::filter_calls(&mut walls);
            match admit(request, &walls) {
                Ok(request) if request.only_walls => wire::walls_answer(&walls),
                Ok(request) if request.session.is_some() => {
                    return serve_session(request, &mut lines, &mut out);
                }
                Ok(request) => wire::answer(&interpret(request)),
                Err(error) => wire::answer(&Err(error)),
            }
        }
        Err(why) => {
            wire::answer(&Err(report::broken(format_args!("the request cannot be read: {why}"))))
        }
    };
    out.write_all(&answer)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The request, if every wall stands that it requires.
fn admit(request: SandboxRequest, walls: &Walls) -> Result<SandboxRequest, SandboxError> {
    match walls.missing(&request.require).filter(|_| !request.only_walls) {
        Some((wall, reason)) => Err(report::unconfined(wall, reason)),
        None => Ok(request),
    }
}
