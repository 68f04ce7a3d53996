//! Checks a file as a crate that depends on `dsrs` alone. rustc is given the library that cargo built for
//! this test: no dependency is checked again. Knows nothing of what is in the file.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// The directory of the workspace: rustc shows paths from here, as cargo does.
pub(crate) const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What rustc says of a file of the workspace, or of any file by its absolute path.
pub(crate) fn check(file: &Path) -> Output {
    let test = env::current_exe().unwrap();
    let dependencies = test.parent().unwrap();
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-type=bin", "--emit=metadata"]);
    command.args(["--color=never", "--out-dir", env!("CARGO_TARGET_TMPDIR")]);
    command.arg("--extern").arg(format!("dsrs={}", library(dependencies).display()));
    // Libraries that `dsrs` needs; the file itself cannot name them.
    command.arg("-L").arg(format!("dependency={}", dependencies.display()));
    command.arg(file).current_dir(WORKSPACE).output().unwrap()
}

/// The library of this build. Others may be beside it, with other features; the newest is of the present
/// source, because cargo builds that of a test after every change.
fn library(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let is_dsrs = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libdsrs-") && name.ends_with(".rlib")
    };
    let built = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    let newest = files.filter(is_dsrs).max_by_key(built);
    newest.unwrap_or_else(|| panic!("no libdsrs-*.rlib in {}", folder.display()))
}
