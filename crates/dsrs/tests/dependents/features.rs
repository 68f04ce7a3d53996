//! What the library's features add: the README lists each one, and a build without `http` has no HTTP, no TLS and no
//! sockets. Reads manifests and the lock; compiles nothing.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;

fn cargo(arguments: &[&str]) -> Output {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).args(["--offline", "--locked", "--color", "never"]);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The names of the packages in a build with these features and no others.
fn packages(features: &str) -> BTreeSet<String> {
    let build = ["tree", "--package", "dsrs", "--no-default-features", "--features", features];
    let form = ["--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = cargo(&[&build[..], &form[..]].concat());
    let lines = String::from_utf8(tree.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn without_http_there_is_no_library_of_the_network() {
    let of_network = ["http", "hyper", "hyper-rustls", "mio", "ring", "rustls", "socket2"];
    let (without, with) = (packages("optimize"), packages("http"));
    for name in of_network {
        assert!(!without.contains(name), "{name} is in a build without `http`");
        assert!(with.contains(name), "{name} is in no build: remove it from this test");
    }
    assert_eq!(without, packages(""), "`optimize` needs no package of its own");
}

#[test]
fn the_readme_lists_every_feature() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let engine = packages.find(|package| package["name"] == "dsrs").unwrap();
    let defaults = engine["features"]["default"].as_array().unwrap();
    for feature in engine["features"].as_object().unwrap().keys().filter(|name| *name != "default")
    {
        let is_default = defaults.iter().any(|name| name == feature);
        let row = format!("| `{feature}`{} |", if is_default { ", a default" } else { "" });
        assert!(readme.contains(&row), "the README has no row `{row}`");
    }
}
