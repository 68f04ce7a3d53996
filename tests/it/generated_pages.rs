//! Parts of pages that are made of the source are current: settings, limits, problems, metrics.

use std::fs;
use std::path::Path;

use dsrs_app::metrics::metrics_markdown;
use dsrs_config::{all_settings, limits_markdown, settings_markdown};
use dsrs_http::problems_markdown;

#[test]
fn the_table_of_settings_equals_the_settings_of_the_server() {
    assert_current("docs/settings.md", "settings", &settings_markdown());
}

#[test]
fn the_table_of_limits_equals_the_settings_of_the_server() {
    assert_current("docs/limits.md", "limits", &limits_markdown());
}

#[test]
fn the_page_of_problems_equals_the_catalogue_of_the_server() {
    assert_current("docs/problems.md", "problems", &problems_markdown());
}

#[test]
fn a_setting_that_the_catalogue_of_problems_names_exists() {
    let text = problems_markdown();
    let quoted = text.split('`').skip(1).step_by(2);
    let rooms = ["limits.", "http.", "worker.", "runs.", "database.", "sandbox.", "models."];
    let named = quoted.filter(|name| rooms.iter().any(|room| name.starts_with(room)));
    let missing: Vec<&str> = named
        .filter(|name| !all_settings().any(|row| row.path.replace('*', "NAME") == *name))
        .collect();
    assert!(missing.is_empty(), "no such setting: {missing:?}");
}

#[test]
fn the_table_of_metrics_equals_the_catalogue_of_the_server() {
    assert_current("docs/operations/metrics.md", "metrics", &metrics_markdown());
}

/// Compares the part of a page between its marks with what the source makes, or writes it.
fn assert_current(page: &str, part: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let begin = format!("<!-- {part}: generated");
    let end = format!("<!-- /{part} -->");
    let start = text.find(&begin).unwrap_or_else(|| panic!("{page} has no `{begin}`"));
    let start = start + text[start..].find('\n').unwrap() + 1;
    let stop = text.find(&end).unwrap_or_else(|| panic!("{page} has no `{end}`"));
    if std::env::var_os("DSRS_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{}{made}{}", &text[..start], &text[stop..])).unwrap();
        return;
    }
    assert!(
        text[start..stop] == *made,
        "{page} is not current: DSRS_WRITE_DOCS=1 cargo test --test it generated_pages"
    );
}
