//! The child: confines itself, reads one request, answers it and ends.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::thread;

use crate::interpret::interpret;
use crate::{confine, report, wire};

/// The stack of the interpreter, far above its own limits of nesting and independent of the system's
/// default.
const STACK: usize = 16 << 20;

/// Runs the program on stdin and writes the result to stdout. A process must do nothing before or after
/// it, because it confines the process.
pub fn child_main() -> ExitCode {
    confine::give_up_privileges();
    let worker = thread::Builder::new().stack_size(STACK).spawn(serve);
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(error))) | Err(error) => eprintln!("{error}"),
        // The interpreter panicked and has written a message.
        Ok(Err(_)) => {}
    }
    ExitCode::FAILURE
}

fn serve() -> io::Result<()> {
    let before = confine::address_space();
    confine::forbid_resources()?;
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
