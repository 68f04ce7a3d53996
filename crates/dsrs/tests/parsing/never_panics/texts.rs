//! Test texts: those of the corpus, random mutations of them, and pieces that parsers fail at.

use std::fs;
use std::path::Path;

use fastrand::Rng;

/// The longest test text.
const LIMIT: usize = 400;

/// Pieces that parsers fail at.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    ";",
    "=",
    "\"",
    "'",
    "`",
    "\"\"\"",
    "```",
    "```json\n",
    "\\",
    "\\u",
    "\\ud83d",
    "\n",
    "\r\n",
    "\t",
    " ",
    "- ",
    "1. ",
    "| ",
    "|---|\n",
    "<a>",
    "</a>",
    "<a b='c'/>",
    "<!--",
    "&lt;",
    "//",
    "/*",
    "*/",
    "#",
    "# ",
    "a: ",
    "\"a\": ",
    "null",
    "None",
    "true",
    "NaN",
    "1",
    "-1.5e3",
    "1,200",
    "99999999999999999999",
    "“",
    "”",
    "é",
    "😀",
    "\u{feff}",
    "\u{0}",
    "and ",
    "[[ ## answer ## ]]\n",
    "[[ ## completed ## ]]",
    "<think>",
    "</think>",
    "name",
];

/// The texts of all corpus files.
pub(crate) fn of_the_corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parsing/corpus");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut texts = Vec::new();
    for file in files {
        let chapter: toml::Table = toml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let cases = chapter.get("case").and_then(toml::Value::as_array).unwrap();
        let each = cases.iter().filter_map(|case| case.get("text")?.as_str());
        texts.extend(each.map(str::to_owned));
    }
    texts
}

/// A test text: a known one, a mutated one, or a random one.
pub(crate) fn any(rng: &mut Rng, known: &[String]) -> String {
    let mut text = match rng.u8(0..4) {
        0 => (0..rng.usize(0..40)).map(|_| piece(rng)).collect(),
        _ => known[rng.usize(0..known.len())].clone(),
    };
    for _ in 0..rng.usize(0..4) {
        change(rng, &mut text, known);
    }
    text.truncate(text.floor_char_boundary(LIMIT));
    text
}

fn change(rng: &mut Rng, text: &mut String, known: &[String]) {
    let (from, to) = (place(rng, text), place(rng, text));
    let (from, to) = (from.min(to), from.max(to));
    match rng.u8(0..5) {
        0 => text.truncate(from),
        1 => text.replace_range(from..to, ""),
        2 => text.insert_str(from, piece(rng)),
        3 => {
            let again = text[from..to].to_owned();
            text.insert_str(to, &again);
        }
        _ => {
            let other = &known[rng.usize(0..known.len())];
            text.replace_range(from..to, &other[place(rng, other)..]);
        }
    }
}

fn piece(rng: &mut Rng) -> &'static str {
    PIECES[rng.usize(0..PIECES.len())]
}

fn place(rng: &mut Rng, text: &str) -> usize {
    text.floor_char_boundary(rng.usize(0..=text.len()))
}
