//! Servers whose clocks differ: a library that the loader of Linux puts before libc. Elsewhere they agree.

use std::path::Path;
use std::process::Command;

use dsrs_test::ServerSetup;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/scale/clock.c");

/// By how many seconds the clock of a server is ahead: the first and the last are an hour apart, and the clock of the
/// database is between them.
pub const SHIFTS: [i64; 3] = [-1800, 0, 1800];

/// Whether clocks can be shifted here.
pub const CAN_SHIFT: bool = cfg!(target_os = "linux");

/// Gives a server a clock of its own.
pub fn shifted(setup: ServerSetup, seconds: i64) -> ServerSetup {
    if !CAN_SHIFT {
        return setup;
    }
    let library = setup.directory().join("clock.so");
    compile(&library);
    setup
        .env("LD_PRELOAD", library.to_str().unwrap())
        .env("CLOCK_SHIFT_SECONDS", &seconds.to_string())
}

/// By the C compiler that links the tests.
fn compile(library: &Path) {
    let mut cc = Command::new("cc");
    let status = cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(library).arg(SOURCE).status();
    assert!(status.unwrap().success(), "cc cannot compile {SOURCE}");
}
