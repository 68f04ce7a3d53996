//! What reading an answer costs, for `cargo bench -p dsrs --bench parsing`: time, bytes a second
//! and allocations for clean answers, for messy ones, and for the worst that can come.

#![allow(clippy::expect_used, reason = "a benchmark may fail loudly")]

use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};
use dsrs::adapter::ChatPlan;
use dsrs::coerce::{Leniencies, ParseReport, coerce};
use dsrs::problem::{At, Problems};
use dsrs::signature::read_signature;
use dsrs::types::{Type, TypeScope};
use dsrs::value::Payload;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const MEBIBYTE: usize = 1 << 20;

const CLEAN: &str = "[[ ## reasoning ## ]]\nTwo and two make four, as everyone knows.\n\n\
    [[ ## score ## ]]\n0.75\n\n[[ ## tags ## ]]\n[\"sums\", \"small\"]\n\n[[ ## completed ## ]]";

const MESSY: &str = "Sure! Here is the person you asked for:\n\n```json\n{\n  name: 'Ann O'Hara', \
    // as she spells it\n  \"Age\": \"about 30\",\n  \"mood\": Calm\n  \"tags\": [\"tall\", 'quick',],\n}\n\
    ```\nLet me know if you need more.";

const TYPES: &str = r#"{
    "Mood": {"enum": {"calm": null, "angry": null}},
    "Person": {"class": {
        "name": "str", "age": "int", "mood": "Mood", "tags": "list[str]", "note": "str?"}}}"#;

fn main() {
    divan::main();
}

#[divan::bench]
fn a_clean_answer_of_three_fields(bencher: Bencher<'_, '_>) {
    let plan = plan("\"question -> reasoning, score: float, tags: list[str]\"");
    assert!(plan.parse(CLEAN).expect("an answer").report.is_empty());
    let bencher = bencher.counter(BytesCount::of_str(CLEAN));
    bencher.bench(|| plan.parse(black_box(CLEAN)).is_ok());
}

#[divan::bench]
fn a_messy_answer_of_a_class(bencher: Bencher<'_, '_>) {
    reads(bencher, "Person", MESSY, true);
}

#[divan::bench]
fn a_clean_object_of_a_class(bencher: Bencher<'_, '_>) {
    let text =
        r#"{"name": "Ann", "age": 30, "mood": "calm", "tags": ["tall", "quick"], "note": null}"#;
    reads(bencher, "Person", text, true);
}

#[divan::bench]
fn twenty_thousand_whole_numbers(bencher: Bencher<'_, '_>) {
    let numbers: Vec<String> = (0..20_000).map(|n| (n * 7 % 1000).to_string()).collect();
    reads(bencher, "list[int]", &format!("[{}]", numbers.join(", ")), true);
}

#[divan::bench(args = ["\"\\", "[", "{\"a\":", "{\"", "```", "```\n", "- ", "|", "<a>", "a: ", "a, "])]
fn a_mebibyte_of_one_piece_as_a_class(bencher: Bencher<'_, '_>, piece: &str) {
    reads(bencher, "Person", &piece.repeat(MEBIBYTE / piece.len()), false);
}

#[divan::bench(args = ["\"\\", "[", "{\"a\":", "```\n", "- a\n", "a, "])]
fn a_mebibyte_of_one_piece_as_a_list(bencher: Bencher<'_, '_>, piece: &str) {
    reads(bencher, "list[Person]", &piece.repeat(MEBIBYTE / piece.len()), false);
}

fn reads(bencher: Bencher<'_, '_>, ty: &str, text: &str, fits: bool) {
    let ty = type_of(ty);
    let read = |text| coerce(text, &ty, Leniencies::ALL, &mut ParseReport::default()).is_ok();
    assert_eq!(read(text), fits);
    bencher.counter(BytesCount::of_str(text)).bench(|| read(black_box(text)));
}

fn type_of(ty: &str) -> Type {
    let mut problems = Problems::new();
    let mut scope = scope(&mut problems);
    let ir = scope.read_type(&Payload::str(ty), &At::Root, &mut problems).expect("a type");
    Type::new(ir, scope.finish())
}

fn plan(signature: &str) -> ChatPlan {
    let mut problems = Problems::new();
    let mut scope = scope(&mut problems);
    let text = Payload::from_json(signature).expect("JSON");
    let draft = read_signature(&text, &mut scope, &At::Root, &mut problems);
    ChatPlan::new(Arc::new(draft.expect("a signature").finish(scope.finish())))
}

fn scope(problems: &mut Problems) -> TypeScope {
    TypeScope::read(&Payload::from_json(TYPES).expect("JSON"), &At::Root, problems)
}
