//! `docs/limits.md` has the constants of the source; `generated_pages` compares its settings.

const PAGE: &str = include_str!("../../docs/limits.md");

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
