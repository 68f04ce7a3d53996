//! The child: confines itself, reads one request, answers it and ends. It runs no program unless every
//! required wall stands.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::thread;

use dsrs::sandbox::{SandboxError, SandboxOutput};

#[cfg(not(feature = "interpreter"))]
use crate::absent::interpret;
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
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let answer = match wire::read_request(&text) {
        Ok(request) => {
            drop(text);
            let limited = confine::limit(before, &request.limits);
            walls.record(Wall::Rlimits, forbidden.and(limited));
            confine::filter_calls(&mut walls);
            match request.only_walls {
                true => wire::walls_answer(&walls),
                false => wire::answer(&run(request, &walls)),
            }
        }
        Err(why) => {
            wire::answer(&Err(report::broken(format_args!("the request cannot be read: {why}"))))
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(&answer)?;
    out.flush()
}

fn run(request: SandboxRequest, walls: &Walls) -> Result<SandboxOutput, SandboxError> {
    match walls.missing(&request.require) {
        Some((wall, reason)) => Err(report::unconfined(wall, reason)),
        None => interpret(request),
    }
}
