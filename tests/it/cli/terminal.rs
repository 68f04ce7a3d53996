//! A terminal for commands that behave differently on one.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::Shell;

/// The exit code of a command, and what it writes to stdout, which is a terminal.
pub async fn on_terminal(shell: &Shell, args: &[&str]) -> (i32, String) {
    run(shell, args, false).await
}

/// The same with stderr on the terminal, too.
pub async fn all_on_terminal(shell: &Shell, args: &[&str]) -> (i32, String) {
    run(shell, args, true).await
}

async fn run(shell: &Shell, args: &[&str], with_stderr: bool) -> (i32, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let terminal: OwnedFd = File::options().read(true).write(true).open(name).unwrap().into();
    let mut command = shell.command(args);
    command.env("TERM", "xterm");
    let stderr = with_stderr.then(|| terminal.try_clone().unwrap());
    command.stderr(stderr.map_or(Stdio::null(), Stdio::from)).stdout(Stdio::from(terminal));
    let mut child = command.spawn().unwrap();
    // Its copies of the terminal would keep the reader waiting.
    drop(command);
    let read = tokio::task::spawn_blocking(move || {
        let (mut terminal, mut text, mut chunk) = (File::from(controller), Vec::new(), [0; 4096]);
        // The end of the other side is an error of the terminal.
        while let Ok(length @ 1..) = terminal.read(&mut chunk) {
            text.extend_from_slice(&chunk[..length]);
        }
        String::from_utf8(text).unwrap().replace("\r\n", "\n")
    });
    let code = child.wait().await.unwrap().code().unwrap();
    (code, read.await.unwrap())
}
