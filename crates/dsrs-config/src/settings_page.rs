//! The table of settings in Markdown, for `docs/settings.md`.

use super::setting::{Setting, SettingKind};
use super::settings::all_settings;

/// The table of settings in Markdown, one row for each setting.
pub fn settings_markdown() -> String {
    let mut page =
        "| Setting | Environment | Flag | Default | Meaning |\n|---|---|---|---|---|\n".to_owned();
    for row in all_settings() {
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
        SettingKind::OneOf(words) => format!(
            "{} ({})",
            row.meaning(),
            words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", ")
        ),
        _ => row.meaning().to_owned(),
    };
    format!("| {path} | {} | {flag} | {default} | {meaning} |\n", names.join(", "))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
