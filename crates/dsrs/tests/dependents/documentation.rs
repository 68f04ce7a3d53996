//! The examples of the documentation compile as written in a crate that depends on `dsrs` alone, and
//! the packages have what a registry shows. Doc tests run the examples.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;

use crate::alone::check;

/// The directory of the package.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// An example of the documentation.
struct Example {
    /// Its file and line, as the name of a module.
    place: String,
    code: String,
}

/// Every example of the crate.
fn examples() -> Vec<Example> {
    let mut found = front_page();
    let mut files = vec![Path::new(PACKAGE).join("src")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(examples_of(&path, documentation));
        }
    }
    found
}

/// The examples of the README, which is rustdoc's front page.
fn front_page() -> Vec<Example> {
    examples_of(&Path::new(PACKAGE).join("README.md"), |line| Some(line))
}

/// The text of a line of documentation.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

fn examples_of(file: &Path, documentation: impl Fn(&str) -> Option<&str>) -> Vec<Example> {
    let text = fs::read_to_string(file).unwrap();
    let name = file.strip_prefix(PACKAGE).unwrap().to_str().unwrap().replace(['/', '.', '-'], "_");
    let mut found = Vec::new();
    let mut open: Option<(bool, Example)> = None;
    for (number, line) in text.lines().enumerate() {
        let Some(line) = documentation(line) else {
            open = None;
            continue;
        };
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => {
                found.extend(
                    open.take().filter(|(is_rust, _)| *is_rust).map(|(_, example)| example),
                );
            }
            (Some(tags), None) => {
                let place = format!("{}_{}", name.to_lowercase(), number + 1);
                open = Some((is_rust(tags), Example { place, code: String::new() }));
            }
            (None, Some((_, example))) => writeln!(example.code, "{}", shown(line)).unwrap(),
            (None, None) => {}
        }
    }
    found
}

fn is_rust(tags: &str) -> bool {
    tags.split(',').all(|tag| matches!(tag.trim(), "" | "rust" | "no_run" | "should_panic"))
}

/// A line of an example without the mark of hidden lines.
fn shown(line: &str) -> &str {
    match line.trim_start() {
        "#" => "",
        start => start.strip_prefix("# ").unwrap_or(line),
    }
}

/// A module with an example, in the function that rustdoc puts around it.
fn module(Example { place, code }: &Example) -> String {
    let last = code.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let output = if last.trim_start().starts_with("Ok::<") {
        " -> Result<(), impl std::fmt::Debug>"
    } else {
        ""
    };
    match code.contains("fn main()") {
        true => format!("mod {place} {{\n{code}}}\n"),
        false => format!("mod {place} {{\nfn example(){output} {{\n{code}}}\n}}\n"),
    }
}

/// A command of cargo that compiles nothing.
fn cargo(arguments: &[&str]) -> Output {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).args(["--offline", "--color", "never"]);
    command.current_dir(PACKAGE).output().unwrap()
}

fn texts(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_example_compiles_in_a_crate_that_depends_on_dsrs_alone() {
    let examples = examples();
    assert!(examples.len() > 60, "{} examples", examples.len());
    let modules: String = examples.iter().map(module).collect();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples.rs");
    let code = format!("#![forbid(unsafe_code)]\n#![allow(warnings)]\n{modules}fn main() {{}}\n");
    fs::write(&file, code).unwrap();
    let checked = check(&file);
    assert!(checked.status.success(), "{}", texts(&checked));
}

#[test]
fn a_program_that_imports_the_prelude_alone_compiles_without_a_warning() {
    let checked = check(Path::new("crates/dsrs/tests/dependents/programs/newcomer.rs"));
    assert!(checked.status.success(), "{}", texts(&checked));
}

#[test]
fn the_first_example_leads_to_an_answer_in_ten_lines() {
    let front_page = front_page();
    let code = &front_page.first().unwrap().code;
    let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 10 && code.contains("fn main()"), "{lines} lines:\n{code}");
}

#[test]
fn the_packages_have_what_a_registry_shows() {
    let found = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    assert!(found.status.success(), "{}", texts(&found));
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    for name in ["dsrs", "dsrs-jinja", "dsrs-macros"] {
        let packages = found["packages"].as_array().unwrap();
        let package = packages.iter().find(|package| package["name"] == name).unwrap();
        for field in ["description", "license", "repository", "documentation", "readme"] {
            assert!(
                package[field].as_str().is_some_and(|text| !text.is_empty()),
                "{name}: {field}"
            );
        }
        for field in ["keywords", "categories"] {
            let listed = package[field].as_array().unwrap();
            assert!((1..=5).contains(&listed.len()), "{name}: {field}");
        }
        // A registry replaces a path by a version. Those of tests are left out.
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        for dependency in dependencies.filter(|one| one["kind"] != "dev") {
            assert_ne!(dependency["req"], "*", "{name}: {}", dependency["name"]);
        }
    }
}

#[test]
fn the_package_contains_its_front_page_and_its_source() {
    let listed = cargo(&["package", "--list", "--allow-dirty"]);
    assert!(listed.status.success(), "{}", texts(&listed));
    let listed = String::from_utf8(listed.stdout).unwrap();
    for file in ["README.md", "src/lib.rs", "Cargo.toml"] {
        assert!(listed.lines().any(|line| line == file), "{file}:\n{listed}");
    }
}
