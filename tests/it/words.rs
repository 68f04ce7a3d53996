//! The terms of docs/glossary.md: banned words stay out of identifiers, comments, strings and docs,
//! and no two visible types share a name. Reads files as text; knows nothing of what they do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;

use dsrs_test::source::{Token, tokens};

/// Words that no identifier contains, as parts of `snake_case` or `CamelCase`.
const IDENTIFIER_WORDS: &[&str] = &[
    "bent",
    "deaf",
    "gathering",
    "heard",
    "hearing",
    "heirs",
    "keeper",
    "kept",
    "lasting",
    "mend",
    "mended",
    "nobody",
    "purse",
    "rim",
    "seat",
    "tell",
    "telling",
    "tells",
    "told",
    "unkept",
    "who",
    "whoever",
    "workshop",
    "worn",
];

/// Phrases that no identifier contains.
const IDENTIFIER_PHRASES: &[&str] = &["goes_on", "going_on", "in_force", "under_way"];

/// Phrases that no comment, string or page contains, as regular expressions on whole words.
const PROSE: &[&str] = &[
    "bent headers?",
    "calls? (?:a|the) models?",
    "calls? to (?:an? |the )?(?:LM|model)s?",
    "came of",
    "goes on",
    "going on",
    "heard",
    "how it stands",
    "in force",
    "keeper",
    "kept",
    "lasting",
    "let go of",
    "LLM (?:call|request)s?",
    "mended?",
    "may end over",
    "on (?:its|their) way",
    "purse",
    "requests? to (?:an? |the )?LMs?",
    "rim",
    "tells?",
    "told",
    "under way",
    "whoever",
    "who (?:closes|leaves|waits|asks)",
    "workshop",
    "worn",
];

/// Where a banned word stays, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/dsrs/tests/types/meaning/specimens", "", "schemas of other projects"),
    ("docs/glossary.md", "", "lists the banned words"),
    ("tests/it/words.rs", "", "lists the banned words"),
    ("", "in_force", "a member of the JSON of state versions; renaming it would break clients"),
    ("crates/dsrs-", "in force", "the same member in prose"),
    ("crates/dsrs-synthetic/src/tasks", "tell", "a phrase that the synthetic LM hashes"),
    ("docs/runs.md", "kept", "a value in the JSON of a resumed run"),
    ("docs/streaming.md", "kept", "a member of the JSON of `run.started`"),
    ("crates/dsrs-app/src/run/event_json.rs", "kept", "the same member"),
    ("crates/dsrs-http/src/views/closed_sets.rs", "kept", "a value in the JSON of a resumed run"),
    ("crates/dsrs-http/src/views/run.rs", "kept", "a value in the JSON of a resumed run"),
];

#[test]
fn files_use_the_terms_of_the_glossary() {
    let banned = Regex::new(&format!(r"(?i)\b(?:{})\b", PROSE.join("|"))).unwrap();
    let sources = sources(&["rs", "md"]);
    let places: Vec<String> =
        sources.iter().flat_map(|(path, text)| banned_words(path, text, &banned)).collect();
    assert!(places.is_empty(), "see docs/glossary.md:\n{}", places.join("\n"));
}

/// Each place of a file with a banned word, in a line of its own.
fn banned_words(path: &str, text: &str, banned: &Regex) -> Vec<String> {
    let mut found = Vec::new();
    if path.ends_with(".rs") {
        for token in tokens(text) {
            let Token::Identifier { line, name } = token else { continue };
            if let Some(word) = banned_in_identifier(name).filter(|word| !is_exempt(path, word)) {
                found.push(format!("{path}:{line}: `{name}` contains `{word}`"));
            }
        }
    }
    let prose = if path.ends_with(".md") { lines(text) } else { prose_of(path, text) };
    for (line, prose) in prose {
        for word in banned.find_iter(prose) {
            if !is_exempt(path, &word.as_str().to_lowercase()) {
                found.push(format!("{path}:{line}: `{}` in: {}", word.as_str(), prose.trim()));
            }
        }
    }
    found
}

#[test]
fn no_two_visible_types_share_a_name() {
    let declaration =
        Regex::new(r"(?m)^\s*pub(?:\([a-z: ]+\))? (?:struct|enum|trait|union|type) ([A-Z]\w*)")
            .unwrap();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources(&["rs"]) {
        // What tests share is seen by tests alone.
        let of_tests = path.starts_with("examples/") || path.starts_with("crates/dsrs-test");
        if !path.contains("src/") || of_tests {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(&text);
        for name in declaration.captures_iter(code) {
            places.entry(name[1].to_owned()).or_default().push(path.clone());
        }
    }
    places.retain(|_, places| places.len() > 1);
    let shared: Vec<String> =
        places.iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(shared.is_empty(), "types that share a name:\n{}", shared.join("\n"));
}

fn banned_in_identifier(name: &str) -> Option<&'static str> {
    let words = words_of(name);
    let snake = words.join("_");
    let phrase = IDENTIFIER_PHRASES
        .iter()
        .find(|phrase| format!("_{snake}_").contains(&format!("_{phrase}_")));
    let word = || IDENTIFIER_WORDS.iter().find(|word| words.iter().any(|part| part == *word));
    phrase.or_else(word).copied()
}

/// The words of `snake_case` and `CamelCase`, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        words.push(String::new());
        let mut after_lower = false;
        for letter in part.chars() {
            if letter.is_uppercase() && after_lower {
                words.push(String::new());
            }
            after_lower = letter.is_lowercase();
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
    }
    words
}

#[test]
fn an_identifier_is_split_into_its_words() {
    assert_eq!(words_of("RunGuardOf"), ["run", "guard", "of"]);
    assert_eq!(words_of("MAX_LEASE"), ["max", "lease"]);
    assert_eq!(banned_in_identifier("state_in_force"), Some("in_force"));
    assert_eq!(banned_in_identifier("KeptReply"), Some("kept"));
    assert_eq!(banned_in_identifier("seating_whole"), None);
}

/// Comments of every file, and strings outside tests: strings of tests are data.
fn prose_of<'t>(path: &str, text: &'t str) -> Vec<(usize, &'t str)> {
    let is_test = path.contains("tests/");
    let before_tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let mut prose = Vec::new();
    for token in tokens(text) {
        match token {
            Token::Comment { line, text } => prose.push((line, text)),
            Token::String { line, at, text } if !is_test && at < before_tests => {
                prose.push((line, text));
            }
            _ => {}
        }
    }
    prose
}

fn lines(text: &str) -> Vec<(usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line)).collect()
}

fn is_exempt(path: &str, word: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|(place, exempt, _)| path.starts_with(place) && (exempt.is_empty() || *exempt == word))
}

/// Files of the repository with one of these extensions, by path; data of tests and built files are
/// left out.
fn sources(extensions: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [
        "src",
        "crates",
        "tests",
        "examples",
        "bench",
        "docs",
        "fuzz",
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
    ];
    let mut left: Vec<_> = places.iter().map(|place| root.join(place)).collect();
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if !name.ends_with("corpus") && !name.ends_with("target") {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        } else if path.extension().is_some_and(|end| extensions.iter().any(|wanted| end == *wanted))
        {
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    assert!(found.len() > 10, "no sources were found");
    found
}
