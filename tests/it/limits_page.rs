//! `docs/limits.md` has the limits of the settings and of the source.

use dsrs_server::config::limits_markdown;

const PAGE: &str = include_str!("../../docs/limits.md");
const BEGIN: &str = "<!-- limits: generated from src/config/settings.rs; a test compares -->\n";
const END: &str = "<!-- /limits -->";

#[test]
fn the_table_of_limits_equals_the_settings_of_the_server() {
    let (before, rest) = PAGE.split_once(BEGIN).expect("the page marks where its limits begin");
    let (block, after) = rest.split_once(END).expect("the page marks where its limits end");
    let made = limits_markdown();
    if std::env::var_os("DSRS_WRITE_DOCS").is_some() {
        let page = format!("{before}{BEGIN}{made}{END}{after}");
        std::fs::write("docs/limits.md", page).expect("the page can be written");
        return;
    }
    assert!(block == made, "write it with `DSRS_WRITE_DOCS=1 cargo test --test it limits_page`");
}

/// The cells of a row in code, in their order.
fn code_of(row: &str) -> Vec<&str> {
    row.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_constants_of_the_page_are_those_of_the_source() {
    let (_, constants) = PAGE.split_once("## Constants").expect("the page has constants");
    let rows = constants.lines().filter(|line| line.contains(".rs` `"));
    let mut compared = 0;
    for row in rows {
        let cells = code_of(row);
        let [path, name] = cells[cells.len() - 2..] else { panic!("{row}") };
        let value = row.split(" | ").nth(1).unwrap().trim_matches('`');
        let source =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let is_this = |line: &&str| line.contains(&format!("const {name}: "));
        let line = source.lines().find(is_this).unwrap_or_else(|| panic!("{path} has no {name}"));
        assert!(line.ends_with(&format!(" = {value};")), "{row}\n{line}");
        compared += 1;
    }
    assert!(compared > 15, "only {compared} rows are read");
}
