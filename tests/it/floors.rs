//! The structure of the code: a crate depends only on crates below it, a room uses only the rooms below it, and inside a
//! room no files refer to each other in a circle. The tests read the manifests, and every path in the source that begins
//! with `crate`, `super` or `self`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The crates of the service, lowest first. A crate may depend on the crates before it.
const CRATES: &[&str] = &[
    "dsrs-jinja",
    "dsrs-macros",
    "dsrs",
    "dsrs-sandbox",
    "dsrs-api",
    "dsrs-shutdown",
    "dsrs-config",
    "dsrs-telemetry",
    "dsrs-tool",
    "dsrs-pg",
    "dsrs-store",
    "dsrs-restate",
    "dsrs-archive",
    "dsrs-app",
    "dsrs-http",
    "dsrs-page",
    "dsrs-server",
];

/// Crates that know neither the engine nor the service, and own other names.
const APART: &[&str] = &["dsrs-jinja", "dsrs-macros", "dsrs-sandbox"];

/// The rooms of the program, lowest first. A room may use the rooms before it.
const PROGRAM: &[&str] = &["client", "serve", "cli"];

/// The rooms of the engine, lowest first.
const ENGINE: &[&str] = &[
    "block_on",
    "attrs",
    "problem",
    "value",
    "score",
    "json_file",
    "sandbox",
    "time_limit",
    "read",
    "expr",
    "types",
    "lm",
    "reflect",
    "document",
    "coerce",
    "signature",
    "adapter",
    "predict",
    "module",
    "strategy",
    "graph",
    "optimize",
    "prelude",
];

/// The rooms of `app`, lowest first.
const APP: &[&str] = &[
    "clock",
    "json",
    "task",
    "compute",
    "precondition",
    "commit",
    "request_id",
    "strategy",
    "parse",
    "error",
    "search",
    "access",
    "quota",
    "key",
    "workspace",
    "audit",
    "persist",
    "sandbox",
    "metrics",
    "run_spans",
    "model",
    "capacity",
    "chat_model",
    "exposure",
    "spool",
    "row_file",
    "item_upload",
    "event",
    "program",
    "engine",
    "job",
    "state",
    "predictor",
    "graph",
    "dataset",
    "index",
    "run",
    "feedback",
    "batch",
    "evaluation",
    "online_evaluation",
    "optimization",
    "job_registry",
    "metrics_text",
    "partition",
    "webhook",
    "usage",
    "schedule",
    "retention",
    "worker",
    "engine_worker",
    "background",
];

/// The rooms of `http`, lowest first.
const HTTP: &[&str] = &["protocol", "docs", "views", "routes"];

#[test]
fn no_crate_depends_on_a_crate_above_it() {
    let mut dependencies = 0;
    for (own, name) in CRATES.iter().enumerate() {
        for used in dependencies_of(name) {
            let below = CRATES[..own].contains(&used.as_str());
            assert!(below, "{name} depends on {used}, which is not below it");
            dependencies += 1;
        }
    }
    assert!(dependencies > 30, "{dependencies} dependencies were read");
}

#[test]
fn no_room_of_a_crate_uses_a_room_above_it() {
    assert_floors("src", PROGRAM);
    assert_floors("crates/dsrs/src", ENGINE);
    assert_floors("crates/dsrs-app/src", APP);
    assert_floors("crates/dsrs-http/src", HTTP);
}

#[test]
fn no_files_of_a_room_refer_to_each_other_in_a_circle() {
    let circles: Vec<String> =
        CRATES.iter().flat_map(|name| module_circles(&source_of(name))).collect();
    assert!(circles.is_empty(), "these files refer to each other:\n{}", circles.join("\n"));
}

/// The directory of a crate from the root of the repository, empty for the root itself.
fn directory_of(name: &str) -> String {
    if name == "dsrs-server" { String::new() } else { format!("crates/{name}/") }
}

fn source_of(name: &str) -> String {
    format!("{}src", directory_of(name))
}

/// The crates of the repository that a crate depends on, tests not counted.
fn dependencies_of(name: &str) -> Vec<String> {
    let path = format!("{}Cargo.toml", directory_of(name));
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (_, section) = manifest.split_once("\n[dependencies]\n").unwrap();
    let section = section.split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split_once(" =")).map(|(name, _)| name);
    names.filter(|name| name.starts_with("dsrs")).map(str::to_owned).collect()
}

#[test]
fn names_stay_in_the_rooms_that_own_them() {
    let owned = [
        ("sqlx::", &["crates/dsrs-store/"][..]),
        // the LM client is an HTTP client, and the page renders refusals
        ("StatusCode", &["crates/dsrs-http/", "crates/dsrs-page/", "crates/dsrs/src/lm/"]),
        ("opentelemetry", &["crates/dsrs-telemetry/"]),
        ("tonic::", &["crates/dsrs-telemetry/"]),
        ("prost::", &["crates/dsrs-telemetry/"]),
        ("[[ ##", &["crates/dsrs/src/adapter/", "crates/dsrs/src/lm/scripted"]),
        // the last names only the error of reading a variable
        (
            "std::env",
            &[
                "crates/dsrs-config/",
                "crates/dsrs/src/lm/from_env.rs",
                "crates/dsrs/src/predict/author_error.rs",
            ],
        ),
        (
            "unsafe ",
            &[
                "crates/dsrs/src/predict/cell.rs",
                "crates/dsrs/src/module/walk.rs",
                "crates/dsrs/src/strategy/module.rs",
            ],
        ),
        (
            "tokio::spawn",
            // the last are test servers
            &[
                "crates/dsrs-app/src/task.rs",
                "crates/dsrs-shutdown/",
                "crates/dsrs/src/lm/http/tests/",
            ],
        ),
    ];
    for (path, text) in CRATES
        .iter()
        .filter(|name| !APART.contains(name))
        .flat_map(|name| sources(&source_of(name)))
    {
        for (number, line) in code_lines(&text) {
            for (name, rooms) in owned {
                let allowed = rooms.iter().any(|room| path.starts_with(room));
                assert!(allowed || !line.contains(name), "{path}:{number} names {name}: {line}");
            }
        }
    }
}

/// Checks the order of the rooms of a crate, which are the children of its root.
fn assert_floors(building: &str, rooms: &[&str]) {
    let floor = |room: &String| rooms.iter().position(|known| known == room);
    let mut climbs = Vec::new();
    let mut uses = 0;
    for file in modules(building) {
        let Some(own) = floor(&file.module[0]) else {
            panic!("{} is in no room of the list", file.path)
        };
        for used in file.used_paths().iter().filter_map(|path| path.first()) {
            uses += 1;
            if floor(used).is_some_and(|above| above > own) {
                climbs.push(format!("{}: uses `{used}`", file.path));
            }
        }
    }
    assert!(uses > 0, "no use of a room was found in {building}");
    assert!(climbs.is_empty(), "these use a room above their own:\n{}", climbs.join("\n"));
}

/// The circles among the direct children of every module of a building, described. A child is a file together with all files of its own directory: those may refer to
/// their parent, and the parent to them.
fn module_circles(building: &str) -> Vec<String> {
    let files = modules(building);
    let known: BTreeSet<&[String]> = files.iter().map(|file| file.module.as_slice()).collect();
    // For each module the uses among its children, each with the first file that has it.
    let mut uses: BTreeMap<&[String], BTreeMap<(String, String), &str>> = BTreeMap::new();
    for file in &files {
        for target in file.used_paths() {
            let depth = (0..=target.len()).rev().find(|depth| known.contains(&target[..*depth]));
            let target = &target[..depth.unwrap_or(0)];
            let shared = file.module.iter().zip(target).take_while(|(a, b)| a == b).count();
            // Between rooms the order of floors decides; a parent and its child may use each other.
            if shared == 0 || shared == file.module.len() || shared == target.len() {
                continue;
            }
            let edge = (file.module[shared].clone(), target[shared].clone());
            uses.entry(&file.module[..shared]).or_default().entry(edge).or_insert(&file.path);
        }
    }
    let circular = |(module, uses): (&[String], BTreeMap<(String, String), &str>)| {
        let edges: Vec<(&str, &str)> = uses.keys().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let text: Vec<String> = circular_edges(&edges)
            .into_iter()
            .map(|(a, b)| format!("  {a} -> {b} in {}", uses[&(a.to_owned(), b.to_owned())]))
            .collect();
        let module = format!("{building}/{}", module.join("/"));
        (!text.is_empty()).then(|| format!("{module}:\n{}", text.join("\n")))
    };
    uses.into_iter().filter_map(circular).collect()
}

/// The edges that are part of a circle: those whose end leads back to their start.
fn circular_edges<'e>(edges: &[(&'e str, &'e str)]) -> Vec<(&'e str, &'e str)> {
    let leads = |start: &str, end: &str| {
        let mut reached = BTreeSet::from([start]);
        let mut left = vec![start];
        while let Some(next) = left.pop() {
            let steps = edges.iter().filter(|(from, _)| *from == next).map(|(_, to)| *to);
            left.extend(steps.filter(|to| reached.insert(to)));
        }
        reached.contains(end)
    };
    edges.iter().copied().filter(|(from, to)| leads(to, from)).collect()
}

/// A source file that is no test, and the module that it is.
struct ModuleFile {
    path: String,
    module: Vec<String>,
    text: String,
}

impl ModuleFile {
    /// The paths that the file uses, from the root of the crate.
    fn used_paths(&self) -> Vec<Vec<String>> {
        let code: Vec<&str> = code_lines(&self.text).into_iter().map(|(_, line)| line).collect();
        used_paths(&code.join("\n"), &self.module)
    }
}

/// The modules of a building; the root of the crate and files of tests are left out.
fn modules(building: &str) -> Vec<ModuleFile> {
    let module = |path: &str| -> Vec<String> {
        let inside = path[building.len() + 1..].trim_end_matches(".rs");
        let inside = inside.strip_suffix("/mod").unwrap_or(inside);
        inside.split('/').map(str::to_owned).collect()
    };
    let files = sources(building).into_iter().map(|(path, text)| {
        let module = module(&path);
        ModuleFile { path, module, text }
    });
    let is_root = |module: &[String]| matches!(module, [only] if only == "lib" || only == "main");
    let is_test = |module: &[String]| module.iter().any(|part| part == "tests");
    files.filter(|file| !is_root(&file.module) && !is_test(&file.module)).collect()
}

/// The paths in a text that begin with `crate`, `self` or `super`, groups taken apart, as paths
/// from the root of the crate.
fn used_paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut used = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':')) {
                continue;
            }
            for path in expand(&code[at..]).0 {
                used.push(from_root(path, module));
            }
        }
    }
    used
}

/// A path in the source, from the root of the crate.
fn from_root(path: Vec<String>, module: &[String]) -> Vec<String> {
    let mut root = module.to_vec();
    let mut rest = path.into_iter().peekable();
    while let Some(step) = rest.next_if(|step| matches!(step.as_str(), "crate" | "self" | "super"))
    {
        match step.as_str() {
            "crate" => root.clear(),
            "super" => drop(root.pop()),
            _ => {}
        }
    }
    root.extend(rest);
    root
}

/// Every path of the path or group at the start of a text, and the text after it.
fn expand(text: &str) -> (Vec<Vec<String>>, &str) {
    let text = text.trim_start();
    if let Some(mut group) = text.strip_prefix('{') {
        let mut paths = Vec::new();
        loop {
            group = group.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if group.is_empty() || group.starts_with('}') {
                return (paths, group.strip_prefix('}').unwrap_or(group));
            }
            let (inner, rest) = expand(group);
            // Anything but a path ends the group, so that a brace of code is no group.
            if rest.len() == group.len() {
                return (paths, rest);
            }
            paths.extend(inner);
            // `as name` belongs to the path.
            group = rest.trim_start();
            if let Some(alias) = group.strip_prefix("as ") {
                group = alias.trim_start_matches(|c: char| c != ',' && c != '}');
            }
        }
    }
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    let Some(further) = rest.strip_prefix("::") else {
        let paths = if name.is_empty() { Vec::new() } else { vec![vec![name.to_owned()]] };
        return (paths, rest.strip_prefix('*').unwrap_or(rest));
    };
    let (mut paths, rest) = expand(further);
    if paths.is_empty() {
        paths.push(Vec::new());
    }
    paths.iter_mut().for_each(|path| path.insert(0, name.to_owned()));
    (paths, rest)
}

#[test]
fn a_use_of_a_room_is_found_in_every_notation() {
    let rooms = |text: &str| -> Vec<String> {
        let code: Vec<&str> = code_lines(text).into_iter().map(|(_, line)| line).collect();
        let used = used_paths(&code.join("\n"), &["app".to_owned()]);
        used.into_iter().filter_map(|path| path.first().cloned()).collect()
    };
    for text in [
        "use crate::http::Caller;",
        "use crate::{config, http};",
        "use crate::{\n    app::{App, now},\n    http,\n};",
        "fn f() { crate::http::router() }",
        "pub(crate) use super::http::X;",
        "#[cfg(test)]\nuse crate::store;\nuse crate::http;",
    ] {
        assert!(rooms(text).iter().any(|room| room == "http"), "{text}");
    }
    for text in ["// use crate::http;", "use std::http;", "#[cfg(test)]\nuse crate::http;"] {
        assert!(!rooms(text).iter().any(|room| room == "http"), "{text}");
    }
}

#[test]
fn paths_are_read_with_groups_parents_and_other_names() {
    let module = ["types", "schema", "reader"].map(str::to_owned);
    let used = |text: &str| -> Vec<String> {
        used_paths(text, &module).iter().map(|path| path.join("/")).collect()
    };
    assert_eq!(used("use super::super::{Type, walk};"), ["types/Type", "types/walk"]);
    assert_eq!(
        used("use crate::types::{self as t, defs::{A as B, C}, field::*};"),
        ["types/self", "types/defs/A", "types/defs/C", "types/field"]
    );
    assert_eq!(used("self::inner::go(super::close::union(x))").len(), 2);
    assert!(used("my_crate::x::y; a::super::b").is_empty());
}

#[test]
fn only_edges_of_a_circle_are_reported() {
    let edges = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")];
    assert_eq!(circular_edges(&edges), [("b", "c"), ("c", "b")]);
}

/// The lines of code with their numbers, without comments and without items for tests.
fn code_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let mut code = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            let Some((_, item)) = lines.next() else { break };
            if item.contains("mod ") && item.ends_with('{') {
                // The tests at the end of a file.
                break;
            }
            if !item.ends_with([';', '}']) {
                lines.find(|(_, line)| line.ends_with(';') || line.starts_with('}'));
            }
        } else if !line.trim_start().starts_with("//") {
            code.push((number, line));
        }
    }
    code
}

/// Every source file of a building, with its path from the repository's root.
fn sources(building: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut left = vec![root.join(building)];
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
