//! The table of settings as people read it: Markdown for the README.

use super::table::{Kind, SETTINGS, Setting};

/// The table of settings in Markdown, one row a setting.
pub fn settings_markdown() -> String {
    let mut page =
        "| Setting | Environment | Flag | Default | Meaning |\n|---|---|---|---|---|\n".to_owned();
    for row in SETTINGS {
        page.push_str(&markdown_row(row));
    }
    page
}

fn markdown_row(row: &Setting) -> String {
    let mut names = Vec::from_iter(row.env_name());
    names.extend(row.also.iter().map(|name| (*name).to_owned()));
    let names: Vec<String> = names.iter().map(|name| code(name)).collect();
    let flag = row.flag_name().map(|name| code(&format!("--{name}"))).unwrap_or_default();
    let default = row.default.map(code).unwrap_or_default();
    let path = code(&row.path.replace('*', "NAME"));
    let meaning = match row.kind {
        Kind::OneOf(words) => format!(
            "{} ({})",
            row.doc,
            words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", ")
        ),
        _ => row.doc.to_owned(),
    };
    format!("| {path} | {} | {flag} | {default} | {meaning} |\n", names.join(", "))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
