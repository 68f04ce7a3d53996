//! The scripts of the page that need no browser, tested by node. Without node the test reports that it was skipped.

use std::path::Path;
use std::process::Command;

#[test]
fn the_modules_of_the_page_pass_their_own_tests() {
    let Ok(version) = Command::new("node").arg("--version").output() else {
        eprintln!("SKIPPED: there is no node, so the modules of the page are not tested");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/js");
    let tests = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<_> =
        tests.filter(|path| path.extension().is_some_and(|found| found == "mjs")).collect();
    assert!(!tests.is_empty(), "no tests");
    let run = Command::new("node").arg("--test").args(&tests).output().unwrap();
    let report = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "node {version}{report}");
}
