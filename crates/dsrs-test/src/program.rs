//! Where the tests find what was built: the program, and the directories of the repository and of the build.

use std::path::{Path, PathBuf};

/// The server that this build has made.
#[must_use]
pub fn program() -> PathBuf {
    own_program().ancestors().nth(2).unwrap().join("dsrs-server")
}

/// The directory of the build.
#[must_use]
pub fn target() -> PathBuf {
    own_program().ancestors().nth(3).unwrap().to_owned()
}

/// The program of the test, which is `PROFILE/deps/NAME` in the directory of the build.
fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// The root of the repository.
#[must_use]
pub fn repository() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap()
}
