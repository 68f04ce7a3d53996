//! The tables of docs/parsing.md, generated from the corpus. The test compares them; with
//! `UPDATE_DOCS=1` it writes them.

pub(crate) mod chapter;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use chapter::{Case, Chapter, chapters};
use dsrs::coerce::LeniencyKind;

/// The longest text that a table shows completely.
const SHOWN: usize = 160;

#[test]
fn the_tables_of_the_documentation_match_the_corpus() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parsing.md");
    let found = fs::read_to_string(&file).unwrap();
    let wanted = with_tables(&found, &chapters());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &wanted).unwrap();
    } else {
        let remedy = "run: UPDATE_DOCS=1 cargo test -p dsrs --test parsing tables";
        assert!(found == wanted, "docs/parsing.md is not what the corpus says; {remedy}");
    }
}

/// The document with new tables between the marks.
fn with_tables(document: &str, chapters: &[Chapter]) -> String {
    let tables: String = chapters.iter().map(table).collect();
    replaced(&replaced(document, "kinds", &kinds()), "corpus", &tables)
}

fn replaced(document: &str, mark: &str, part: &str) -> String {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = document.split_once(&open).expect("a mark");
    let (_, after) = rest.split_once(&close).expect("the mark of its end");
    format!("{before}{open}{part}{close}{after}")
}

/// The kinds of leniency.
fn kinds() -> String {
    let mut text = "\n| kind | penalty | |\n|---|---|---|\n".to_owned();
    for kind in LeniencyKind::ALL {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            kind.as_str(),
            kind.penalty(),
            cell(kind.meaning())
        );
    }
    text + "\n"
}

fn table(chapter: &Chapter) -> String {
    let mut text = format!("\n### {}\n\n{}\n", chapter.title, chapter.about.trim());
    if let Some(types) = &chapter.types {
        let _ = write!(text, "\n```json\n{}\n```\n", types.trim());
    }
    text.push_str("\n| | type | text | read as | by |\n|---|---|---|---|---|\n");
    chapter.case.iter().for_each(|case| row(&mut text, case));
    text
}

fn row(text: &mut String, case: &Case) {
    let ty = case.ty.as_ref().or(case.signature.as_ref()).map_or("", String::as_str);
    let strict = if case.strict { ", strict" } else { "" };
    let read = match (&case.value, &case.error) {
        (Some(value), _) => code(value),
        (None, error) => format!("**error** {}", cell(error.as_deref().unwrap_or_default())),
    };
    let by: Vec<String> = case.leniencies.iter().map(|kind| code(kind)).collect();
    let _ = writeln!(
        text,
        "| {} | {}{strict} | {} | {read} | {} |",
        cell(&case.name),
        code(ty),
        code(&case.text),
        by.join(" "),
    );
}

/// Text as code in a table cell: on one line, shortened, with a delimiter that the text does not
/// contain.
fn code(text: &str) -> String {
    let mut shown: String = text.trim().chars().take(SHOWN).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    let shown = cell(&shown);
    match shown.contains('`') {
        true => format!("```` {shown} ````"),
        false if shown.is_empty() => "(nothing)".to_owned(),
        false => format!("`{shown}`"),
    }
}

fn cell(text: &str) -> String {
    let lines = text.trim().replace('\r', "␍").replace('\n', "⏎").replace('\u{0}', "\\0");
    lines.replace('|', "\\|")
}
