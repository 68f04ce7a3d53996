//! Texts and the elements read from them.

use super::super::Leniencies;
use super::{list, object};

#[track_caller]
fn assert_object(text: &str, wanted: &str) {
    let found = object(text, Leniencies::ALL).map(|found| found.shown());
    assert_eq!(found.as_deref().unwrap_or("none"), wanted, "{text}");
}

#[track_caller]
fn assert_list(text: &str, wanted: &str) {
    let found = list(text, Leniencies::ALL).map(|found| found.shown());
    assert_eq!(found.as_deref().unwrap_or("none"), wanted, "{text}");
}

#[test]
fn elements_are_members() {
    assert_object("<name>Ann</name><age>30</age>", "{name: Ann, age: 30}!tags");
    assert_object("<p><name>Ann</name>\n<age>30</age></p>", "{name: Ann, age: 30}!tags");
    assert_object("<a><x>1</x></a><b>2</b>", "{a: {x: 1}, b: 2}!tags");
    assert_object("<t>red</t><t>green</t>", "{t: [red, green]}!tags");
    assert_object("<a/><b></b>", "{a: ?, b: ?}!tags");
    assert_object("<p name=\"Ann\" age='30'/>", "{name: \"Ann\", age: \"30\"}!tags");
    assert_object("<t lang=\"en\">red</t>", "{lang: \"en\", text: red}!tags");
    assert_object("a < b and c > d", "none");
}

#[test]
fn elements_within_a_text_belong_to_it() {
    assert_object("<s>so <b>very</b> red</s>", "{s: so <b>very</b> red}!tags");
    assert_object("<s>a &lt; b &amp; c</s>", "{s: \"a < b & c\"}!tags");
    assert_object("<s><![CDATA[a < b]]></s>", "{s: \"a < b\"}!tags");
}

#[test]
fn prose_and_missing_closing_tags_are_reported() {
    assert_object("Sure: <a>1</a>", "{a: 1}!prose!tags");
    assert_object("<p><a>1<b>2</b></p>", "{a: 1<b>2</b>!unclosed}!tags");
    assert_object("<p><a>1</a><b>2", "{a: 1, b: 2!unclosed}!unclosed!tags");
    assert_object("<a>1</b></a>", "{a: 1</b>}!tags");
}

#[test]
fn elements_of_one_name_are_a_list() {
    assert_list("<l><i>1</i><i>2</i></l>", "[1, 2]!tags");
    assert_list("<i>1</i><i>2</i>", "[1, 2]!tags");
    assert_list("<l><i>1</i></l>", "[1]!tags");
    assert_list("<a>1</a><b>2</b>", "none");
}

#[test]
fn depth_is_bounded() {
    assert_object(&"<a>".repeat(100_000), "none");
}
