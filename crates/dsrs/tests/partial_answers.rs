//! Answers that arrive in chunks: what is told on the way, and the laws that hold of every way of
//! cutting an answer.

mod story;

use std::collections::BTreeMap;

use dsrs::adapter::{AnswerEvent, ChatPlan, ParseError, ParsedOutput};
use dsrs::value::Payload;
use proptest::prelude::*;
use story::{json, signature};

const TYPES: &str = r#"{"Person": {"class": {"name": "str", "age": "int", "tags": "list[str]"}}}"#;

fn plan(outputs: &str) -> ChatPlan {
    ChatPlan::new(signature(TYPES, &format!("{:?}", format!("question -> {outputs}"))))
}

/// An event in short: `field+text`, `field~value so far`, `field=value`.
fn told(event: &AnswerEvent) -> String {
    match event {
        AnswerEvent::Text { field, text } => format!("{field}+{text}"),
        AnswerEvent::Value { field, value } => format!("{field}~{}", value.to_json()),
        AnswerEvent::Complete { field, value } => format!("{field}={}", value.to_json()),
        AnswerEvent::Misfit(misfit) => {
            format!("{}!{}", misfit.field.as_deref().unwrap_or_default(), misfit.told())
        }
    }
}

/// What every chunk brings, and what the end does.
fn story_of(outputs: &str, chunks: &[&str]) -> Vec<Vec<String>> {
    let mut answer = plan(outputs).listen();
    let mut stories: Vec<Vec<String>> =
        chunks.iter().map(|chunk| answer.push(chunk).iter().map(told).collect()).collect();
    stories.push(answer.end().0.iter().map(told).collect());
    stories
}

#[test]
fn a_text_is_told_as_it_comes_and_complete_once_the_next_header_stands() {
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
    assert_eq!(story_of("answer, score: int", &chunks), wanted);
}

#[test]
fn nothing_is_told_that_may_be_a_header_a_fence_or_blank() {
    let chunks =
        ["[[ ## answer ## ]]\n**Bold** ", "[[ #", "x ]] and\n", "**[[ ## ", "nobody", " ## \n"];
    let wanted: [&[&str]; 7] =
        [&["answer+**Bold**"], &[], &["answer+ [[ #x ]] and"], &[], &[], &["answer+\n**"], &[]];
    assert_eq!(story_of("answer", &chunks), wanted);
    let proved = ["[[ ## answer ## ]]\nUse [[ ## x\n", "\n", "or y"];
    let wanted: [&[&str]; 4] = [&["answer+Use"], &[], &["answer+ [[ ## x\n\nor y"], &[]];
    assert_eq!(story_of("answer", &proved), wanted);
    let fenced = ["```\n[[ ## answer ## ]]\nls\n```", "\n[[ ## completed ## ]]\n```"];
    let wanted: [&[&str]; 3] = [&["answer+ls"], &["answer=\"ls\""], &[]];
    assert_eq!(story_of("answer", &fenced), wanted);
}

#[test]
fn nothing_is_told_of_reasoning_nor_of_what_may_be_a_draft() {
    let chunks =
        ["<thi", "nk>[[ ## answer ## ]]\nLyon\n", "</th", "ink>[[ ## answer ## ]]\nPa", "ris"];
    let wanted: [&[&str]; 6] = [&[], &[], &[], &["answer+Pa"], &["answer+ris"], &[]];
    assert_eq!(story_of("answer", &chunks), wanted);
    let draft = [
        "Hm.\n[[ ## answer ## ]]\nLyon\n",
        "[[ ## completed ## ]]\n",
        "</think>\n[[ ## answer ## ]]\nNice",
    ];
    let wanted: [&[&str]; 4] = [&[], &[], &["answer+Nice"], &[]];
    assert_eq!(story_of("answer", &draft), wanted);
}

#[test]
fn a_text_that_a_worn_down_header_may_end_waits_for_the_missing_output() {
    let chunks = ["[[ ## note ## ]]\nsee\nsc", "ore: 3", " or so\n[[ ## score ## ]]\n4\n"];
    let wanted: [&[&str]; 4] = [
        &["note+see"],
        &[],
        &["note+\nscore: 3 or so", "note=\"see\\nscore: 3 or so\"", "score+4"],
        &[],
    ];
    assert_eq!(story_of("note, score: int", &chunks), wanted);
}

#[test]
fn values_come_with_their_finished_elements_and_members() {
    let chunks = [
        "[[ ## people ## ]]\n[{\"name\": \"Ann\", ",
        "\"age\": 3, \"tags\": [\"a\", \"b",
        "c\"]}, {\"na",
    ];
    let stories = story_of("people: list[Person]", &chunks);
    let values: Vec<_> = stories.concat().into_iter().filter(|told| told.contains('~')).collect();
    let wanted = [
        r#"people~[{"name":"Ann"}]"#,
        r#"people~[{"name":"Ann","age":3}]"#,
        r#"people~[{"name":"Ann","age":3,"tags":["a","bc"]}]"#,
    ];
    assert_eq!(values, wanted);
}

#[test]
fn of_very_many_unfinished_values_every_missing_member_is_left_out() {
    let people = "{\"name\": \"Ann\"}, ".repeat(150);
    let mut answer = plan("people: dict[str, list[Person]]").listen();
    let events = answer.push(&format!("[[ ## people ## ]]\n{{\"a.b[c]\": [{people}"));
    let Some(AnswerEvent::Value { value, .. }) = events.last() else { panic!("{events:?}") };
    let value = value.to_json();
    let found = value.matches("{\"name\":\"Ann\"}").count();
    assert!(found > 100 && found == value.matches("name").count(), "{found} of {value}");
}

#[test]
fn a_text_that_does_not_fit_is_told_at_once() {
    let stories = story_of("score: int, note", &["[[ ## score ## ]]\nmany\n[[ ## note ## ]]\n"]);
    assert_eq!(stories[0], ["score+many", "score!expected a whole number, found `many`"]);
}

#[test]
fn a_header_that_breaks_off_before_the_end_of_its_line_is_not_told() {
    for tail in ["\n[[ ## completed ##\n", " [[ ## note ## ]]\n", "\n[[ ## x\n\n"] {
        let text = format!("[[ ## answer ## ]]\nParis{tail}");
        let told: Vec<_> = story_of("answer", &[&text]).concat();
        assert_eq!(told, ["answer+Paris"], "{tail:?}");
    }
}

#[test]
fn the_texts_of_an_object_are_told_as_they_come() {
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
    assert_eq!(story_of("score: dict[str, str], answer, note", &chunks), wanted);
}

#[test]
fn the_texts_of_an_object_are_its_values_however_it_is_cut() {
    let text = "{\"a\": \"x\\\\ \\\"y\\\"\\t\\u00fc [[ é\", \"b\": 7, \"c\": [1, 2]}";
    let whole = plan("a, b: int, c: list[int]").parse(text).unwrap();
    let by_bytes: Vec<usize> = (0..text.len()).collect();
    for cuts in [&[][..], &[7, 12, 19][..], &by_bytes] {
        let (told, finished) = listen(text, cuts);
        assert_eq!(Payload::from(told["a"].0.as_str()), whole.fields["a"]);
        assert_eq!(finished.as_ref(), Ok(&whole));
    }
}

#[test]
fn what_is_no_object_as_it_should_be_is_not_told_before_its_end() {
    for text in
        ["{answer: \"x\"}", "{\"other\": \"x\"}", "so: {\"answer\": \"x\"}", "{\"answer\": 7}"]
    {
        assert_eq!(story_of("answer, note", &[text])[0], Vec::<String>::new(), "{text}");
    }
}

#[test]
fn an_answer_without_headers_is_told_at_its_end() {
    assert_eq!(
        story_of("answer", &["Par", "is."]),
        [vec![], vec![], vec!["answer+Paris.".to_owned()]]
    );
}

/// Answers that hold everything the reader looks for, in any order.
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

/// What was told of each output in the end: its text, its value, its best value.
type Told = BTreeMap<String, (String, Option<Payload>, Option<Payload>)>;

fn listen(text: &str, cuts: &[usize]) -> (Told, Result<ParsedOutput, ParseError>) {
    let mut answer = plan("a, b: int, c: list[int]").listen();
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
    let told = ["a", "b", "c"].into_iter().zip(best).map(|(field, best)| {
        let text = texts.remove(field).unwrap_or_default();
        (field.to_owned(), (text, complete.remove(field), best))
    });
    (told.collect(), outcome)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_way_of_cutting_comes_to_the_same_and_to_what_the_whole_says(
        text in answers(),
        cuts in prop::collection::vec(0..200_usize, 0..12),
    ) {
        let whole = plan("a, b: int, c: list[int]").parse(&text);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let by_bytes: Vec<usize> = (0..text.len()).collect();
        let (told, finished) = listen(&text, &[]);
        prop_assert_eq!(&finished, &whole);
        for cuts in [&cuts, &by_bytes] {
            let (again, finished) = listen(&text, cuts);
            prop_assert_eq!(&again, &told);
            prop_assert_eq!(&finished, &whole);
        }
        if let Ok(parsed) = &whole {
            for (field, (text, complete, _)) in &told {
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
fn a_value_that_is_complete_is_the_one_at_the_end() {
    let text = "[[ ## a ## ]]\nx\n[[ ## b ## ]]\n7\n[[ ## c ## ]]\n[1]\n[[ ## completed ## ]]";
    let (told, finished) = listen(text, &[]);
    let complete: Vec<_> = told.into_values().map(|(_, complete, _)| complete.unwrap()).collect();
    assert_eq!(Payload::list(complete), json(r#"["x", 7, [1]]"#));
    assert!(finished.is_ok());
}

/// Texts that are much of one thing: marks of the layout and what looks like them.
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
fn much_of_one_thing_is_read_to_its_end() {
    let plan = plan("a, b, c");
    for text in hostile(1 << 17) {
        assert!(plan.parse(&text).is_err(), "{}", &text[..40]);
    }
}

#[test]
fn much_of_one_thing_is_the_same_byte_by_byte() {
    let plan = plan("a, b, c");
    for text in hostile(1 << 13) {
        let mut answer = plan.listen();
        for at in 0..text.len() {
            answer.push(&text[at..=at]);
        }
        assert_eq!(answer.finish(), plan.parse(&text), "{}", &text[..40]);
    }
}
