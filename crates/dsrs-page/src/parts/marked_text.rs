//! A text with every repair of the parser marked in it, and the list of the repairs. The parser reports what it read,
//! not where; each repair is found again in the text. May not know where text and report come from.

use dsrs::coerce::LeniencyKind;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::parts::json::json_value;

/// The most bytes of a text in which repairs are marked; a longer text is shown without marks.
const MOST_MARKED: usize = 200_000;

/// A repair, as reports have it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Repair {
    field: Option<String>,
    path: String,
    kind: String,
    read: String,
    became: Value,
    times: Option<u64>,
}

pub(crate) fn repairs(report: &str) -> Vec<Repair> {
    serde_json::from_str(report).unwrap_or_default()
}

/// A part of the text that was repaired; `numbers` are the positions of its repairs in the list, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    start: usize,
    end: usize,
    numbers: Vec<usize>,
}

/// The text with its marks. A mark names its repairs by number.
pub(crate) fn marked_text(text: &str, repairs: &[Repair]) -> Markup {
    let marks = if text.len() <= MOST_MARKED { marks(text, repairs) } else { Vec::new() };
    html! { div.marked.text.mono { (nested(text, 0, text.len(), &marks, repairs)) } }
}

/// The repairs, each with what was read and what it became.
pub(crate) fn repair_list(repairs: &[Repair]) -> Markup {
    html! {
        ol.repairs {
            @for (index, repair) in repairs.iter().enumerate() {
                li {
                    span.repair-number { (index + 1) }
                    div {
                        p { b { (repair.kind) } " " span.muted { (meaning(&repair.kind)) }
                            @if let Some(times) = repair.times { span.muted { " (" (times) " times)" } } }
                        @if !repair.place().is_empty() { p.small { "at " code { (repair.place()) } } }
                        p.small { code { (repair.read) } " → " code.json { (json_value(&repair.became)) } }
                    }
                }
            }
        }
    }
}

fn meaning(kind: &str) -> &'static str {
    LeniencyKind::ALL
        .iter()
        .find(|known| known.as_str() == kind)
        .map_or("", |known| known.meaning())
}

impl Repair {
    /// The field and the path in it.
    fn place(&self) -> String {
        let field = self.field.as_deref().unwrap_or_default();
        let dot = if field.is_empty() || self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        format!("{field}{dot}{}", self.path)
    }
}

/// The marks that nest: none crosses another. Repairs of one place are one mark.
fn marks(text: &str, repairs: &[Repair]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for (index, repair) in repairs.iter().enumerate() {
        let read = repair.read.strip_suffix('…').unwrap_or(&repair.read);
        let is_taken = |start: usize, end: usize| {
            let same_kind = |number: &usize| {
                repairs.get(number - 1).is_some_and(|other| other.kind == repair.kind)
            };
            marks.iter().any(|mark| {
                (mark.start, mark.end) == (start, end) && mark.numbers.iter().any(same_kind)
            })
        };
        let places =
            text.match_indices(read).take(64).map(|(start, found)| (start, start + found.len()));
        let mut places = places.filter(|(start, end)| start < end);
        let first = places.clone().next();
        let Some((start, end)) = places.find(|(start, end)| !is_taken(*start, *end)).or(first)
        else {
            continue;
        };
        let known = marks.iter().position(|mark| (mark.start, mark.end) == (start, end));
        if let Some(mark) = known.and_then(|known| marks.get_mut(known)) {
            mark.numbers.push(index + 1);
        } else if !marks.iter().any(|mark| crosses(mark, start, end)) {
            marks.push(Mark { start, end, numbers: vec![index + 1] });
        }
    }
    marks.sort_by_key(|mark| (mark.start, std::cmp::Reverse(mark.end)));
    marks
}

fn crosses(mark: &Mark, start: usize, end: usize) -> bool {
    let (a, b) = if mark.start <= start {
        ((mark.start, mark.end), (start, end))
    } else {
        ((start, end), (mark.start, mark.end))
    };
    a.0 < b.0 && b.0 < a.1 && a.1 < b.1
}

/// The part of a text from `start` to `end`, with the marks within it, which are sorted by their start.
fn nested(text: &str, start: usize, end: usize, marks: &[Mark], repairs: &[Repair]) -> Markup {
    let mut pieces = Vec::new();
    let (mut at, mut rest) = (start, marks);
    while let Some((mark, behind)) = rest.split_first() {
        let inner = behind.iter().take_while(|other| other.start < mark.end).count();
        let (inside, outside) = behind.split_at(inner);
        pieces.push(html! {
            (text.get(at..mark.start).unwrap_or_default())
            (marked(mark, &nested(text, mark.start, mark.end, inside, repairs), repairs))
        });
        (at, rest) = (mark.end, outside);
    }
    html! { @for piece in &pieces { (piece) } (text.get(at..end).unwrap_or_default()) }
}

fn marked(mark: &Mark, content: &Markup, repairs: &[Repair]) -> Markup {
    let numbers = mark.numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let kinds = mark.numbers.iter().filter_map(|number| repairs.get(number - 1));
    let kinds = kinds.map(|repair| repair.kind.as_str()).collect::<Vec<_>>().join(", ");
    html! { mark title=(kinds) { (content) sup { (numbers) } } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn repair(kind: &str, read: &str) -> Repair {
        serde_json::from_value(json!({"field": null, "path": "", "kind": kind, "read": read, "became": 1, "penalty": 1}))
            .unwrap()
    }

    fn shown(text: &str, repairs: &[Repair]) -> String {
        let html = marked_text(text, repairs).into_string();
        html.replace("<div class=\"marked text mono\">", "").replace("</div>", "")
    }

    #[test]
    fn repairs_are_marked_where_they_were_read_and_repairs_of_one_place_are_one_mark() {
        let repairs =
            [repair("number", "1,200"), repair("kind", "1,200"), repair("unquoted", "{n: 1,200}")];
        assert_eq!(
            shown("So: {n: 1,200}!", &repairs),
            "So: <mark title=\"unquoted\">{n: <mark title=\"number, kind\">1,200<sup>1, 2</sup></mark>}<sup>3</sup></mark>!"
        );
    }

    #[test]
    fn equal_texts_are_marked_one_after_the_other() {
        let repairs = [repair("word", "yes"), repair("word", "yes")];
        assert_eq!(
            shown("yes, yes", &repairs),
            "<mark title=\"word\">yes<sup>1</sup></mark>, <mark title=\"word\">yes<sup>2</sup></mark>"
        );
    }

    #[test]
    fn markup_is_text_and_repairs_that_cross_or_are_missing_are_only_listed() {
        let repairs =
            [repair("a", "<b>x"), repair("b", "x</b>"), repair("c", "gone"), repair("d", "")];
        assert_eq!(
            shown("<b>x</b>", &repairs),
            "<mark title=\"a\">&lt;b&gt;x<sup>1</sup></mark>&lt;/b&gt;"
        );
    }
}
