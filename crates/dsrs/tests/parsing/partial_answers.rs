//! Streamed answers: the events, and laws that hold for every way of cutting an answer into chunks.

use std::collections::BTreeMap;

use dsrs::adapter::{AnswerEvent, ChatPlan, ParseError, ParsedOutput};
use dsrs::value::Payload;
use proptest::prelude::*;

use crate::story::{json, signature};

const TYPES: &str = r#"{"Person": {"class": {"name": "str", "age": "int", "tags": "list[str]"}}}"#;

fn plan(outputs: &str) -> ChatPlan {
    ChatPlan::new(signature(TYPES, &format!("{:?}", format!("question -> {outputs}"))))
}

/// An event in short: `field+text`, `field~value so far`, `field=value`.
fn shown(event: &AnswerEvent) -> String {
    match event {
        AnswerEvent::Text { field, text } => format!("{field}+{text}"),
        AnswerEvent::Value { field, value } => format!("{field}~{}", value.to_json()),
        AnswerEvent::Complete { field, value } => format!("{field}={}", value.to_json()),
        AnswerEvent::Invalid(problem) => {
            format!("{}!{}", problem.field.as_deref().unwrap_or_default(), problem.message())
        }
    }
}

/// The events of every chunk, then those of the end.
fn events_of(outputs: &str, chunks: &[&str]) -> Vec<Vec<String>> {
    let mut answer = plan(outputs).stream();
    let mut stories: Vec<Vec<String>> =
        chunks.iter().map(|chunk| answer.push(chunk).iter().map(shown).collect()).collect();
    stories.push(answer.end().0.iter().map(shown).collect());
    stories
}

#[test]
fn a_text_streams_and_is_complete_at_the_next_header() {
    let chunks =
        ["[[ ## answer ## ]]\nPar", "is, of", " course.\n", "\n[[ ## sc", "ore ## ]]\n", "9"];
    let wanted: [&[&str]; 7] = [
        &["answer+Par"],
        &["answer+is, of"],
        &["answer+ course."],
        &[],
        &["answer=\"Paris, of course.\""],
        &["score+9"],
        &[],
    ];
    assert_eq!(events_of("answer, score: int", &chunks), wanted);
}

#[test]
fn text_that_may_be_a_header_a_fence_or_blank_is_withheld() {
    let chunks =
        ["[[ ## answer ## ]]\n**Bold** ", "[[ #", "x ]] and\n", "**[[ ## ", "nobody", " ## \n"];
    let wanted: [&[&str]; 7] =
        [&["answer+**Bold**"], &[], &["answer+ [[ #x ]] and"], &[], &[], &["answer+\n**"], &[]];
    assert_eq!(events_of("answer", &chunks), wanted);
    let proved = ["[[ ## answer ## ]]\nUse [[ ## x\n", "\n", "or y"];
    let wanted: [&[&str]; 4] = [&["answer+Use"], &[], &["answer+ [[ ## x\n\nor y"], &[]];
    assert_eq!(events_of("answer", &proved), wanted);
    let fenced = ["```\n[[ ## answer ## ]]\nls\n```", "\n[[ ## completed ## ]]\n```"];
    let wanted: [&[&str]; 3] = [&["answer+ls"], &["answer=\"ls\""], &[]];
    assert_eq!(events_of("answer", &fenced), wanted);
}

#[test]
fn reasoning_and_possible_drafts_are_withheld() {
    let chunks =
        ["<thi", "nk>[[ ## answer ## ]]\nLyon\n", "</th", "ink>[[ ## answer ## ]]\nPa", "ris"];
    let wanted: [&[&str]; 6] = [&[], &[], &[], &["answer+Pa"], &["answer+ris"], &[]];
    assert_eq!(events_of("answer", &chunks), wanted);
    let draft = [
        "Hm.\n[[ ## answer ## ]]\nLyon\n",
        "[[ ## completed ## ]]\n",
        "</think>\n[[ ## answer ## ]]\nNice",
    ];
    let wanted: [&[&str]; 4] = [&[], &[], &["answer+Nice"], &[]];
    assert_eq!(events_of("answer", &draft), wanted);
}

#[test]
fn text_after_a_possible_degraded_header_is_withheld() {
    let chunks = ["[[ ## note ## ]]\nsee\nsc", "ore: 3", " or so\n[[ ## score ## ]]\n4\n"];
    let wanted: [&[&str]; 4] = [
        &["note+see"],
        &[],
        &["note+\nscore: 3 or so", "note=\"see\\nscore: 3 or so\"", "score+4"],
        &[],
    ];
    assert_eq!(events_of("note, score: int", &chunks), wanted);
}

#[test]
fn partial_values_have_finished_elements_and_members() {
    let chunks = [
        "[[ ## people ## ]]\n[{\"name\": \"Ann\", ",
        "\"age\": 3, \"tags\": [\"a\", \"b",
        "c\"]}, {\"na",
    ];
    let stories = events_of("people: list[Person]", &chunks);
    let values: Vec<_> = stories.concat().into_iter().filter(|shown| shown.contains('~')).collect();
    let wanted = [
        r#"people~[{"name":"Ann"}]"#,
        r#"people~[{"name":"Ann","age":3}]"#,
        r#"people~[{"name":"Ann","age":3,"tags":["a","bc"]}]"#,
    ];
    assert_eq!(values, wanted);
}

#[test]
fn partial_values_leave_out_missing_members() {
    let people = "{\"name\": \"Ann\"}, ".repeat(150);
    let mut answer = plan("people: dict[str, list[Person]]").stream();
    let events = answer.push(&format!("[[ ## people ## ]]\n{{\"a.b[c]\": [{people}"));
    let Some(AnswerEvent::Value { value, .. }) = events.last() else { panic!("{events:?}") };
    let value = value.to_json();
    let found = value.matches("{\"name\":\"Ann\"}").count();
    assert!(found > 100 && found == value.matches("name").count(), "{found} of {value}");
}

#[test]
fn an_invalid_text_is_reported_at_once() {
    let stories = events_of("score: int, note", &["[[ ## score ## ]]\nmany\n[[ ## note ## ]]\n"]);
    assert_eq!(stories[0], ["score+many", "score!expected a whole number, found `many`"]);
}

#[test]
fn a_header_that_is_cut_off_is_withheld() {
    for tail in ["\n[[ ## completed ##\n", " [[ ## note ## ]]\n", "\n[[ ## x\n\n"] {
        let text = format!("[[ ## answer ## ]]\nParis{tail}");
        let shown: Vec<_> = events_of("answer", &[&text]).concat();
        assert_eq!(shown, ["answer+Paris"], "{tail:?}");
    }
}

#[test]
fn the_texts_of_an_object_stream() {
    let chunks = [
        "<think>{</think>```json\n{\"score\"",
        ": {\"x\": \"}\\\"\"}, \"answer\": \"Par",
        "is\\n\\u00e",
        "9 \\ud83d",
        "\\ude00\\",
        "\"\", \"note\": \"n",
        "o\"}\n```",
    ];
    let wanted: [&[&str]; 8] = [
        &[],
        &["answer+Par"],
        &["answer+is\n"],
        &["answer+é "],
        &["answer+😀"],
        &["answer+\"", "note+n"],
        &["note+o"],
        &[],
    ];
    assert_eq!(events_of("score: dict[str, str], answer, note", &chunks), wanted);
}

#[test]
fn streamed_texts_of_an_object_do_not_depend_on_chunks() {
    let text = "{\"a\": \"x\\\\ \\\"y\\\"\\t\\u00fc [[ é\", \"b\": 7, \"c\": [1, 2]}";
    let whole = plan("a, b: int, c: list[int]").parse(text).unwrap();
    let by_bytes: Vec<usize> = (0..text.len()).collect();
    for cuts in [&[][..], &[7, 12, 19][..], &by_bytes] {
        let (shown, finished) = stream(text, cuts);
        assert_eq!(Payload::from(shown["a"].0.as_str()), whole.fields["a"]);
        assert_eq!(finished.as_ref(), Ok(&whole));
    }
}

#[test]
fn a_malformed_object_is_reported_at_its_end() {
    for text in
        ["{answer: \"x\"}", "{\"other\": \"x\"}", "so: {\"answer\": \"x\"}", "{\"answer\": 7}"]
    {
        assert_eq!(events_of("answer, note", &[text])[0], Vec::<String>::new(), "{text}");
    }
}

#[test]
fn an_answer_without_headers_is_reported_at_its_end() {
    assert_eq!(
        events_of("answer", &["Par", "is."]),
        [vec![], vec![], vec!["answer+Paris.".to_owned()]]
    );
}

/// Answers with everything that the parser looks for, in any order.
fn answers() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "[[ ## a ## ]]", "[[ ## b ## ]]", "[[ ## c ## ]]", "[[ ## completed ## ]]",
        ]),
        2 => prop::sample::select(vec![
            "**[[ ## B ## ]]**", "[[ ## x ## ]]", "[[ ##", " ## ]]", "[ ## b ## ]", "b: ", "## c", "**c:** ",
            "{a}", "[[", "]]", "[",
        ]),
        2 => prop::sample::select(vec!["<think>", "</think>", "<thinking>", "</thinking>", "```", "```json", "<"]),
        3 => prop::sample::select(vec!["so it is", "7", "[1, 2", ", 3]", "{\"k\": \"v\"", "}", "é\u{a0}ü", "\"", "- 1"]),
        4 => prop::sample::select(vec!["\n", "\n\n", " ", "\t", "\r\n"]),
    ];
    let tail = prop::sample::select(vec![
        "",
        "",
        "\n[[ ## completed ##\n",
        " [[ ## x ## ]]\n",
        "[[ ## x\n\n",
        "\n[[ #",
        " [[ ## c ## ]]**\n",
    ]);
    (prop::collection::vec(piece, 0..24), tail).prop_map(|(pieces, tail)| pieces.concat() + tail)
}

/// The final events of each output: its text, its value, its best value.
type Streamed = BTreeMap<String, (String, Option<Payload>, Option<Payload>)>;

fn stream(text: &str, cuts: &[usize]) -> (Streamed, Result<ParsedOutput, ParseError>) {
    let mut answer = plan("a, b: int, c: list[int]").stream();
    let mut complete: BTreeMap<String, Payload> = BTreeMap::new();
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut note = |events: Vec<AnswerEvent>| {
        for event in events {
            match event {
                AnswerEvent::Text { field, text } => {
                    assert!(!complete.contains_key(&*field), "text of a complete output");
                    texts.entry(field.to_string()).or_default().push_str(&text);
                }
                AnswerEvent::Complete { field, value } => {
                    assert!(complete.insert(field.to_string(), value).is_none(), "complete twice");
                }
                _ => {}
            }
        }
    };
    let mut from = 0;
    for cut in cuts.iter().copied().chain([text.len()]) {
        let cut = text.floor_char_boundary(cut.max(from));
        note(answer.push(&text[from..cut]));
        from = cut;
    }
    let best = |field: &str| answer.value(field);
    let best: Vec<_> = ["a", "b", "c"].map(best).into_iter().collect();
    let (events, outcome) = answer.end();
    note(events);
    let shown = ["a", "b", "c"].into_iter().zip(best).map(|(field, best)| {
        let text = texts.remove(field).unwrap_or_default();
        (field.to_owned(), (text, complete.remove(field), best))
    });
    (shown.collect(), outcome)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_result_does_not_depend_on_chunks(
        text in answers(),
        cuts in prop::collection::vec(0..200_usize, 0..12),
    ) {
        let whole = plan("a, b: int, c: list[int]").parse(&text);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let by_bytes: Vec<usize> = (0..text.len()).collect();
        let (shown, finished) = stream(&text, &[]);
        prop_assert_eq!(&finished, &whole);
        for cuts in [&cuts, &by_bytes] {
            let (again, finished) = stream(&text, cuts);
            prop_assert_eq!(&again, &shown);
            prop_assert_eq!(&finished, &whole);
        }
        if let Ok(parsed) = &whole {
            for (field, (text, complete, _)) in &shown {
                let value = &parsed.fields[field.as_str()];
                prop_assert!(complete.as_ref().is_none_or(|complete| complete == value));
                if field == "a" && !text.is_empty() {
                    prop_assert_eq!(Payload::from(text.as_str()), value.clone());
                }
            }
        }
    }
}

#[test]
fn a_complete_value_is_final() {
    let text = "[[ ## a ## ]]\nx\n[[ ## b ## ]]\n7\n[[ ## c ## ]]\n[1]\n[[ ## completed ## ]]";
    let (shown, finished) = stream(text, &[]);
    let complete: Vec<_> = shown.into_values().map(|(_, complete, _)| complete.unwrap()).collect();
    assert_eq!(Payload::list(complete), json(r#"["x", 7, [1]]"#));
    assert!(finished.is_ok());
}

/// Long repetitions of layout marks and similar texts.
fn hostile(length: usize) -> Vec<String> {
    let marks = [
        "[[ ##",
        "[[ ## a ## ]]\n",
        "[[ ## x ## ]]\n",
        "[[ ## b ## ]] ",
        "<think>",
        "</think>",
        "<think></think>",
        "a\n[[ ## a ## ]]\nb\n</think>\n",
        "```\n",
        "*",
        " ",
        "<",
    ];
    let under_a_header = ["b: ", "b: x\n", "# b\n", "[", "{a", "\n"];
    let much = |piece: &str| piece.repeat(length / piece.len());
    let headed = |piece: &&str| format!("[[ ## a ## ]]\n{}", much(piece));
    let plain = marks.iter().map(|piece| much(piece));
    plain.chain(marks.iter().chain(&under_a_header).map(headed)).collect()
}

#[test]
fn long_repetitive_answers_are_read_to_their_end() {
    let plan = plan("a, b, c");
    for text in hostile(1 << 17) {
        assert!(plan.parse(&text).is_err(), "{}", &text[..40]);
    }
}

#[test]
fn long_repetitive_answers_are_the_same_byte_by_byte() {
    let plan = plan("a, b, c");
    for text in hostile(1 << 13) {
        let mut answer = plan.stream();
        for at in 0..text.len() {
            answer.push(&text[at..=at]);
        }
        assert_eq!(answer.finish(), plan.parse(&text), "{}", &text[..40]);
    }
}
