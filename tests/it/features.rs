//! Every command builds the same dependencies: a crate whose features differ between tests and programs, or between what
//! is linked and what macros use, is compiled again each time. `crates/workspace-hack` has the features that it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Small crates of macros and of tests alone, whose features would cost more than a second compilation.
const TWICE: [&str; 2] = ["phf_shared", "zerocopy"];

/// The sets of features of each package in a tree.
type Features = BTreeMap<String, BTreeSet<String>>;

fn tree(arguments: &[&str]) -> Features {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--offline", "--locked", "--no-dedupe", "--prefix", "none"]);
    command.args(["--format", "{p}|{f}"]).args(arguments);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = Features::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let name = package.split(' ').take(2).collect::<Vec<_>>().join(" ");
        found.entry(name).or_default().insert(features.trim_end_matches(" (*)").to_owned());
    }
    found
}

fn is_excepted(package: &str) -> bool {
    TWICE.iter().any(|name| package.starts_with(&format!("{name} ")))
}

#[test]
fn programs_and_tests_are_built_with_the_same_features() {
    let program = tree(&["--package", "dsrs-server", "--edges", "normal,build"]);
    let tests = tree(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(program.len() > 300, "{} packages", program.len());
    for (package, features) in program.iter().filter(|(package, _)| !is_excepted(package)) {
        assert_eq!(
            Some(features),
            tests.get(package),
            "{package}: add what is missing to crates/workspace-hack"
        );
    }
}

#[test]
fn no_package_is_built_twice() {
    let smallest = ["--package", "dsrs-server", "--edges", "normal,build", "--no-default-features"];
    for arguments in [&smallest[..], &smallest[..4]] {
        for (package, features) in
            tree(arguments).iter().filter(|(package, _)| !is_excepted(package))
        {
            assert_eq!(features.len(), 1, "{package}: {features:?}");
        }
    }
}
