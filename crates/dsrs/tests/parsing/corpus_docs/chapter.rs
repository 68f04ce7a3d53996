//! The corpus as data: one file per chapter, in `tests/parsing/corpus/`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// One file: texts of one kind with their results.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chapter {
    /// The name of the file without its extension.
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) about: String,
    /// Definitions for all cases, as in the API.
    pub(crate) types: Option<String>,
    pub(crate) case: Vec<Case>,
}

/// One text and its result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The type of a single value; with `signature` instead, `text` is a whole answer.
    #[serde(rename = "type")]
    pub(crate) ty: Option<String>,
    pub(crate) signature: Option<String>,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) strict: bool,
    /// The value as JSON; or `error`.
    pub(crate) value: Option<String>,
    pub(crate) error: Option<String>,
    /// `kind`, or `place: kind`, in the order of the report.
    #[serde(default)]
    pub(crate) leniencies: Vec<String>,
    /// Kinds without which the value is still the same, through another interpretation.
    #[serde(default)]
    pub(crate) also_without: Vec<String>,
}

/// All chapters, by file name.
pub(crate) fn chapters() -> Vec<Chapter> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parsing/corpus");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut chapters: Vec<Chapter> = files.map(|file| chapter(&file)).collect();
    chapters.sort_by(|one, other| one.name.cmp(&other.name));
    chapters
}

fn chapter(file: &Path) -> Chapter {
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let text = fs::read_to_string(file).unwrap();
    let chapter = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    Chapter { name, ..chapter }
}
