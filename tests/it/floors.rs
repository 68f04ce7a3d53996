//! The floors of both buildings: a room uses only rooms below it. Every path in the source that
//! names a room is read.

use std::fs;
use std::path::Path;

/// The service's rooms, ground first. A line's rooms do not know each other's insides by rule, but
/// may use whatever stands before them.
const SERVER: &[&str] =
    &["shutdown", "config", "tool", "pg", "store", "app", "http", "serve", "cli"];

/// The engine's rooms, ground first.
const ENGINE: &[&str] = &[
    "attrs",
    "problem",
    "value",
    "sandbox",
    "read",
    "expr",
    "types",
    "lm",
    "reflect",
    "coerce",
    "signature",
    "adapter",
    "predict",
    "module",
    "strategy",
    "graph",
    "optimize",
];

#[test]
fn no_room_of_the_server_uses_one_above_it() {
    assert_floors("src", SERVER);
}

#[test]
fn no_room_of_the_engine_uses_one_above_it() {
    assert_floors("crates/dsrs/src", ENGINE);
}

#[test]
fn names_stay_in_the_rooms_that_own_them() {
    let owned = [
        ("sqlx::", &["src/store/"][..]),
        ("graphile_worker", &["src/store/queue.rs", "src/config/table.rs"]),
        // the client of LMs speaks HTTP too
        ("StatusCode", &["src/http/", "crates/dsrs/src/lm/"]),
        ("[[ ##", &["crates/dsrs/src/adapter/", "crates/dsrs/src/lm/scripted"]),
        ("std::env", &["src/config/"]),
        (
            "unsafe ",
            &[
                "crates/dsrs/src/predict/cell.rs",
                "crates/dsrs/src/module/walk.rs",
                "crates/dsrs/src/strategy/module.rs",
            ],
        ),
        ("tokio::spawn", &["src/app/task.rs", "src/shutdown.rs"]),
    ];
    for (path, text) in sources("src").into_iter().chain(sources("crates/dsrs/src")) {
        for (number, line) in code_lines(&text) {
            for (name, rooms) in owned {
                let allowed = rooms.iter().any(|room| path.starts_with(room));
                assert!(allowed || !line.contains(name), "{path}:{number} names {name}: {line}");
            }
        }
    }
}

fn assert_floors(building: &str, rooms: &[&str]) {
    let mut climbs = Vec::new();
    let mut seen = 0;
    for (path, text) in sources(building) {
        let inside = path[building.len() + 1..].split('/').next().unwrap();
        let room = inside.trim_end_matches(".rs");
        let Some(floor) = rooms.iter().position(|known| *known == room) else {
            assert!(matches!(room, "lib" | "main"), "{path} is in no room of this test's list");
            continue;
        };
        let door = !inside_room(&path[building.len() + 1..]);
        for used in used_rooms(&text, door) {
            seen += 1;
            let Some(above) = rooms.iter().position(|known| *known == used) else { continue };
            if above > floor {
                climbs.push(format!("{path}: `{room}` uses `{used}`"));
            }
        }
    }
    assert!(seen > 0, "no use of a room was found in {building}");
    assert!(climbs.is_empty(), "these climb:\n{}", climbs.join("\n"));
}

/// Whether a file stands behind the door of its room (`app/run.rs`), not in it (`app/mod.rs`).
fn inside_room(path: &str) -> bool {
    path.contains('/') && !path.ends_with("/mod.rs") || path.matches('/').count() > 1
}

/// The rooms that a text names as `crate::room`, in `use` and in paths, groups included. At the
/// door of a room `super` is the crate too.
fn used_rooms(text: &str, at_the_door: bool) -> Vec<String> {
    let code: Vec<&str> = code_lines(text).into_iter().map(|(_, line)| line).collect();
    let code = code.join("\n");
    let mut used: Vec<String> = code.split("crate::").skip(1).flat_map(first_names).collect();
    if at_the_door {
        used.extend(code.split("super::").skip(1).flat_map(first_names));
    }
    used
}

/// The first name of a path, or of each path in a group.
fn first_names(path: &str) -> Vec<String> {
    let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let name = |path: &str| path.trim_start().chars().take_while(word).collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut names = vec![name(group)];
    let mut depth = 1;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(name(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[test]
fn a_climb_is_found_however_it_is_written() {
    for text in [
        "use crate::http::Caller;",
        "use crate::{config, http};",
        "use crate::{\n    app::{App, now},\n    http,\n};",
        "fn f() { crate::http::router() }",
        "pub(crate) use super::http::X;",
    ] {
        assert!(used_rooms(text, true).iter().any(|room| room == "http"), "{text}");
    }
    for text in ["// use crate::http;", "use std::http;", "#[cfg(test)]\nuse crate::http;"] {
        assert!(!used_rooms(text, true).iter().any(|room| room == "http"), "{text}");
    }
}

/// Lines that are code, before the tests at the foot of a file.
fn code_lines(text: &str) -> Vec<(usize, &str)> {
    let before_tests = text.split("#[cfg(test)]").next().unwrap_or(text);
    let numbered = before_tests.lines().enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//")).collect()
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
