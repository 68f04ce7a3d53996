//! Texts and the items read from them.

use super::super::Leniencies;
use super::items;

#[track_caller]
fn assert_items(text: &str, wanted: &str) {
    let found = items(text, Leniencies::ALL, false).map(|found| found.shown());
    assert_eq!(found.as_deref().unwrap_or("none"), wanted, "{text}");
}

#[track_caller]
fn assert_numbers(text: &str, wanted: &str) {
    let found = items(text, Leniencies::ALL, true).map(|found| found.shown());
    assert_eq!(found.as_deref().unwrap_or("none"), wanted, "{text}");
}

#[test]
fn bullets_of_all_kinds_head_items() {
    for [one, two] in [["- ", "- "], ["* ", "* "], ["• ", "• "], ["1. ", "2. "], ["1) ", "2) "]]
    {
        assert_items(&format!("{one}red\n{two}green"), "[red, green]!bullets");
    }
    assert_items("a) red\nb) green", "[red, green]!bullets");
    assert_items("(1) red\n(2) green", "[red, green]!bullets");
    assert_items("- \"red\",\n- \"green\"", "[\"red\", \"green\"]!bullets");
}

#[test]
fn nested_and_broken_lines_belong_to_their_item() {
    assert_items("- a\n  - b\n  - c\n- d", "[a\n  - b\n  - c, d]!bullets");
    assert_items("1. a\n- b\n2. c", "[a\n- b, c]!bullets");
    assert_items("- a\nmore\n- b", "[a\nmore, b]!bullets");
}

#[test]
fn prose_around_bullets_is_reported() {
    assert_items("The colours:\n\n- red\n- green\n\nThat is all.", "[red, green]!prose!bullets");
    assert_items("- -5 is low\n-6", "[-5 is low\n-6]!bullets");
}

#[test]
fn lines_commas_semicolons_and_and_part_items() {
    assert_items("red\ngreen", "[red, green]!separated");
    assert_items("red,\ngreen,\n", "[red, green]!separated");
    assert_items("red, green,\nblue", "[red, green, blue]!separated");
    assert_items("red, dark green and blue.", "[red, dark green, blue]!separated");
    assert_items("red, green, and blue", "[red, green, blue]!separated");
    assert_items("Bonn, Germany; Rome, Italy", "[Bonn, Germany, Rome, Italy]!separated");
    assert_items("salt and pepper", "[salt, pepper]!separated");
    assert_items("Colours: red, green", "[red, green]!prose!separated");
    assert_items("red,, green", "[red, green]!punctuation!separated");
    assert_items(r#""a, b", "c""#, r#"["a, b", "c"]!separated"#);
    assert_items("f(x, y), sad :(, c", "[f(x, y), sad :(, c]!separated");
    assert_items("Paris (France, EU), Rome", "[Paris (France, EU), Rome]!separated");
}

#[test]
fn a_single_item_is_no_list() {
    assert_items("red", "none");
    assert_items("red or green", "none");
    assert_items("red, green, or blue", "none");
    assert_items("", "none");
}

#[test]
fn numbers_are_separated_by_commas_and_blanks() {
    assert_numbers("1, 2, 3", "[1, 2, 3]!separated");
    assert_numbers("1,200", "[1, 200]!separated");
    assert_numbers("1,5; 2,5", "[1,5, 2,5]!separated");
    assert_numbers("1 2 3", "[1, 2, 3]!separated");
    assert_numbers("1 200", "none");
    assert_numbers("1, 2\n3, 4", "[1, 2, 3, 4]!separated");
    assert_numbers("1 and 2", "[1, 2]!separated");
}
