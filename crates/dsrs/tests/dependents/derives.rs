//! The compiler errors of the derives, as their author reads them: each file in `derives` has a snapshot
//! beside it. `INSTA_UPDATE=always` writes the snapshots.

use std::fs;
use std::path::Path;

use crate::alone::{WORKSPACE, check};

const FOLDER: &str = "crates/dsrs/tests/dependents/derives";

#[test]
fn mistakes_in_a_signature_are_reported_at_their_place() {
    let files = fs::read_dir(Path::new(WORKSPACE).join(FOLDER)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let (mut sources, mut snapshots): (Vec<String>, Vec<String>) =
        names.partition(|name| name.ends_with(".rs"));
    sources.sort();
    assert!(!sources.is_empty());
    for source in sources {
        let name = source.trim_end_matches(".rs");
        snapshots.retain(|snapshot| *snapshot != format!("{name}.snap"));
        let checked = check(&Path::new(FOLDER).join(&source));
        assert!(!checked.status.success(), "{source} compiles");
        let errors = portable(&String::from_utf8(checked.stderr).unwrap());
        insta::with_settings!({
            snapshot_path => "derives",
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, { insta::assert_snapshot!(name, errors) });
    }
    assert!(snapshots.is_empty(), "snapshots without a source: {snapshots:?}");
}

/// The errors without what differs between machines: the sources of other crates, which may be absent,
/// and the width of line numbers, which depends on them.
fn portable(errors: &str) -> String {
    let (errors, _) = errors.split_once("error: aborting due to").unwrap();
    let mut text = String::new();
    let mut is_elsewhere = false;
    for line in errors.lines() {
        let start = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
        let mut shown = line.to_owned();
        if let Some((mark @ ("-->" | ":::"), place)) = start.split_once(' ') {
            is_elsewhere = !place.starts_with(FOLDER);
            shown = format!("     {mark} {}", if is_elsewhere { file(place) } else { place });
        } else if start == line && line != "..." {
            // The next message; what follows is of the file itself again.
            is_elsewhere = false;
        } else if start.starts_with(['|', '=']) {
            if is_elsewhere && start.starts_with('|') {
                continue;
            }
            let number = line[..line.len() - start.len()].trim();
            shown = format!("{number:>4} {start}");
        }
        // The number of implementations changes with every type of ours.
        let shown = match shown.split_once("and ") {
            Some((indent, count)) if indent.trim().is_empty() && count.ends_with(" others") => {
                format!("{indent}and others")
            }
            _ => shown,
        };
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

/// The file of a place elsewhere, without its line and the directory of the standard library or of packages.
fn file(place: &str) -> &str {
    let file = place.split(':').next().unwrap_or(place);
    if let Some((_, file)) = file.split_once("/registry/src/") {
        return file.split_once('/').map_or(file, |(_, file)| file);
    }
    file.split_once("/library/").map_or(file, |(_, file)| file)
}
