//! The child: gives away what it may do, reads one request, answers it, ends.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::thread;

use crate::interpret::interpret;
use crate::{confine, report, wire};

/// The interpreter's stack: its own bounds on nesting are far inside of it, whatever the system
/// gives a program's first thread.
const STACK: usize = 16 << 20;

/// Runs the program that stands on stdin and tells of its end on stdout. It must be the first thing
/// that a process does, and the last: the process is confined afterwards.
pub fn child_main() -> ExitCode {
    confine::give_up_privileges();
    let worker = thread::Builder::new().stack_size(STACK).spawn(serve);
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(error))) | Err(error) => eprintln!("{error}"),
        // The interpreter panicked and has said so.
        Ok(Err(_)) => {}
    }
    ExitCode::FAILURE
}

fn serve() -> io::Result<()> {
    let before = confine::address_space();
    confine::close_doors()?;
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let outcome = match wire::read_request(&text) {
        Ok(request) => {
            drop(text);
            confine::limit(before, &request.limits)?;
            interpret(request)
        }
        Err(why) => Err(report::broken(format_args!("the request cannot be read: {why}"))),
    };
    let mut out = io::stdout().lock();
    out.write_all(&wire::answer(&outcome))?;
    out.flush()
}
