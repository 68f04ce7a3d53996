//! YAML block scalars: `|` keeps the line breaks of the indented lines, `>` folds them.

/// Whether a value starts a block scalar, and whether it is folded.
pub(super) fn header(value: &str) -> Option<bool> {
    let (style, rest) = value.split_at_checked(1)?;
    let plain = rest.len() <= 2 && rest.chars().all(|c| matches!(c, '+' | '-' | '0'..='9'));
    match style {
        "|" if plain => Some(false),
        ">" if plain => Some(true),
        _ => None,
    }
}

/// The text of a block scalar without its indentation.
pub(super) fn text(lines: &str, folded: bool) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let filled = lines.lines().filter(|line| !line.trim().is_empty());
    let common = filled.map(indent).min().unwrap_or(0);
    let mut text = String::with_capacity(lines.len());
    for line in lines.lines().map(|line| line.get(common..).unwrap_or_default().trim_end()) {
        match (folded, line.is_empty()) {
            (true, true) => text.push('\n'),
            (true, false) if !text.is_empty() && !text.ends_with('\n') => text.push(' '),
            (false, _) if !text.is_empty() => text.push('\n'),
            _ => {}
        }
        text.push_str(line);
    }
    text.trim_end().to_owned()
}
