//! Tables of texts for terminals, and the texts of values in them.

use serde_json::Value;

use super::failure::CommandFailure;
use super::session::{Session, print_json, print_line};

/// A table with a head; columns are as wide as their widest cell.
pub(super) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these columns.
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|name| name.to_uppercase()).collect()] }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell)).collect());
    }

    /// Prints it to stdout; as JSON, if that was asked for.
    pub(super) fn print_to(&self, session: &Session) -> Result<(), CommandFailure> {
        match session.json {
            true => print_json(&self.objects()),
            false => self.print(),
        }
    }

    /// One object for each row, with the columns as members.
    fn objects(&self) -> Value {
        let (head, rows) = (&self.rows[0], &self.rows[1..]);
        let member = |(name, cell): (&String, &String)| (name.to_lowercase(), cell.clone().into());
        rows.iter().map(|row| Value::Object(head.iter().zip(row).map(member).collect())).collect()
    }

    /// Prints it to stdout.
    pub(super) fn print(&self) -> Result<(), CommandFailure> {
        self.lines().iter().try_for_each(|line| print_line(line))
    }

    fn lines(&self) -> Vec<String> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// A text without control characters but line ends and tabs: a terminal acts on the others.
pub(super) fn printable(text: &str) -> String {
    let is_safe = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().map(|c| if is_safe(c) { c } else { '\u{fffd}' }).collect()
}

fn one_line(text: &str) -> String {
    printable(text).split(['\n', '\t']).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A value as a cell: texts without quotation marks, nothing for null.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value for people: texts as they are, others indented.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        other => format!("{other:#}"),
    }
}

/// At most this many characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A duration of milliseconds.
pub(super) fn duration(millis: &Value) -> String {
    match millis.as_f64() {
        Some(millis) if millis < 1000.0 => format!("{millis:.0} ms"),
        Some(millis) => format!("{:.1} s", millis / 1000.0),
        None => String::new(),
    }
}

/// Calls, tokens and cost.
pub(super) fn usage(usage: &Value) -> String {
    let count = |name: &str| usage[name].as_i64().unwrap_or(0);
    let cost = usage["cost"].as_f64().map(|cost| format!(", cost {cost:.4}")).unwrap_or_default();
    let (calls, input, output) = (count("lm_calls"), count("input_tokens"), count("output_tokens"));
    format!("{calls} calls, {input} + {output} tokens{cost}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_with_their_text() {
        let mut table = TextTable::new(&["name", "n"]);
        table.row(["long\nname".to_owned(), "1".to_owned()]);
        table.row(["é".to_owned(), String::new()]);
        assert_eq!(table.lines(), ["NAME       N", "long name  1", "é"]);
    }

    #[test]
    fn no_text_reaches_a_terminal_as_a_command() {
        assert_eq!(printable("a\x1b[2Jb\n"), "a\u{fffd}[2Jb\n");
    }
}
