//! The synthetic LM at its tasks: answers depend on the request alone, better prompts raise the accuracy
//! by a known amount, and every answer has the requested layout and types.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::{GraphState, Program};
use dsrs::lm::{Lm, Models, Usage};
use dsrs::predict::{DynPredictor, RunScope, SchemaPredictor, SpanKind};
use dsrs::problem::{At, Problems};
use dsrs::signature::SignatureSchema;
use dsrs::strategy::BuildEnv;
use dsrs::value::{Fields, Payload};
use dsrs_synthetic::{SyntheticLm, SyntheticRow, SyntheticTask};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::story::{fields, json, signature};

struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, alias: &str) -> bool {
        alias == "default"
    }
}

fn task(name: &str) -> &'static SyntheticTask {
    SyntheticTask::named(name).unwrap()
}

/// The program of a task with a state.
fn program(document: &str, state: &str) -> Program {
    let program = Program::from_document(&json(document), &Env).unwrap_or_else(|p| panic!("{p}"));
    let mut problems = Problems::new();
    let state = GraphState::read(&json(state), &At::Root, &mut problems).unwrap();
    program.with_state(&Env, &state, &At::Root).unwrap_or_else(|p| panic!("{p}"))
}

async fn outputs(program: &Program, lm: &Arc<SyntheticLm>, inputs: &Fields) -> (Fields, Usage) {
    let lm: Arc<dyn Lm> = lm.clone();
    let models = Arc::new(Models::only(lm));
    let run = Arc::new(RunScope::new(models, Instant::now() + Duration::from_secs(600)));
    let outcome = program.execute(&run, inputs.clone()).await;
    (outcome.outputs.unwrap(), outcome.usage)
}

/// The rows that a program answers correctly, with a state for each row.
async fn right_by(
    name: &str,
    document: &str,
    state: impl Fn(&SyntheticRow) -> String,
) -> BTreeSet<usize> {
    let lm = Arc::new(SyntheticLm::seeded(1));
    let mut right = BTreeSet::new();
    for (number, row) in task(name).rows(1, 200).iter().enumerate() {
        let (found, _) = outputs(&program(document, &state(row)), &lm, &row.inputs).await;
        let is_right = row.expected.iter().all(|(field, value)| found.get(field) == Some(value));
        right.extend(is_right.then_some(number));
    }
    right
}

async fn right(name: &str, state: &str) -> BTreeSet<usize> {
    right_by(name, task(name).document, |_| state.to_owned()).await
}

/// The four rows of other seeds with the most words in common with a row.
fn like(name: &str, row: &SyntheticRow) -> Vec<SyntheticRow> {
    let words = |row: &SyntheticRow| -> BTreeSet<String> {
        let texts = row.inputs.values().filter_map(Payload::as_str);
        texts.flat_map(str::split_whitespace).map(str::to_lowercase).collect()
    };
    let here = words(row);
    let mut rows = task(name).rows(2, 200);
    rows.sort_by_key(|other| std::cmp::Reverse(words(other).intersection(&here).count()));
    rows.truncate(4);
    rows
}

fn demos(rows: &[SyntheticRow]) -> String {
    let demo = |row: &SyntheticRow| {
        let (input, output) =
            (Payload::map(row.inputs.clone()), Payload::map(row.expected.clone()));
        format!(r#"{{"input": {}, "output": {}}}"#, input.to_json(), output.to_json())
    };
    rows.iter().map(demo).collect::<Vec<_>>().join(", ")
}

/// Demos for each node from `count` runs with right outputs.
async fn bootstrapped(name: &str, state: &str, count: usize) -> Vec<String> {
    let program = program(task(name).document, state);
    let mut demos = vec![Vec::new(); program.graph().nodes().count()];
    let models = Arc::new(Models::only(Arc::new(SyntheticLm::seeded(1))));
    for row in task(name).rows(2, 200) {
        let run =
            Arc::new(RunScope::new(models.clone(), Instant::now() + Duration::from_secs(600)));
        let outcome = program.execute(&run, row.inputs.clone()).await;
        if outcome.outputs.unwrap() != row.expected || demos[0].len() == count {
            continue;
        }
        let nodes = outcome.spans.iter().filter(|span| span.kind == SpanKind::Node);
        for (span, demos) in nodes.zip(&mut demos) {
            let of = |fields: &Option<Fields>| Payload::map(fields.clone().unwrap()).to_json();
            let (input, output) = (of(&span.inputs), of(&span.outputs));
            demos.push(format!(r#"{{"input": {input}, "output": {output}}}"#));
        }
    }
    demos.into_iter().map(|demos| demos.join(", ")).collect()
}

const TRIAGE_WORDS: &str =
    "Decide by what the sender wants done. A wish for money back means refund, never billing.";
const SUMS_WORDS: &str =
    "Do one calculation at a time. Write down every number of the text before you calculate.";

#[tokio::test]
async fn triage_improves_with_phrases_and_similar_demos() {
    let name = "triage";
    let bare = right(name, "{}").await;
    let instructed =
        right(name, &format!(r#"{{"sort": {{"instruction": "{TRIAGE_WORDS}"}}}}"#)).await;
    let shown = |row: &SyntheticRow| {
        format!(
            r#"{{"sort": {{"instruction": "{TRIAGE_WORDS}", "demos": [{}]}}}}"#,
            demos(&like(name, row))
        )
    };
    let shown = right_by(name, task(name).document, shown).await;
    let some = format!(r#"{{"sort": {{"demos": [{}]}}}}"#, demos(&task(name).rows(2, 4)));
    let some = right(name, &some).await;
    let wrong = r#"{"sort": {"demos": [
        {"input": {"message": "The search finds no desks although the filter is set to Oslo. A bug? Bo"}, "output": {"queue": "delivery"}},
        {"input": {"message": "Please change my user name to Bo and the home town to Oslo."}, "output": {"queue": "billing"}}]}}"#;
    let misled = right(name, wrong).await;
    let thought =
        right_by(name, &task(name).document.replace("\"predict\"", "\"chain_of_thought\""), |_| {
            "{}".to_owned()
        })
        .await;

    assert!(misled.is_subset(&bare) && bare.is_subset(&instructed) && instructed.is_subset(&shown));
    assert!(bare.is_subset(&some));
    let counts = [&misled, &bare, &thought, &some, &instructed, &shown].map(BTreeSet::len);
    assert_eq!(counts, [46, 79, 86, 112, 125, 184]);
}

#[tokio::test]
async fn sums_improves_with_reasoning() {
    let name = "sums";
    let bare = right(name, "{}").await;
    let instructed =
        right(name, &format!(r#"{{"solve": {{"instruction": "{SUMS_WORDS}"}}}}"#)).await;
    let shown = |row: &SyntheticRow| {
        format!(
            r#"{{"solve": {{"instruction": "{SUMS_WORDS}", "demos": [{}]}}}}"#,
            demos(&like(name, row))
        )
    };
    let shown = right_by(name, task(name).document, shown).await;
    let thinking = task(name).document.replace("\"predict\"", "\"chain_of_thought\"");
    let thought = right_by(name, &thinking, |_| "{}".to_owned()).await;
    let both = right_by(name, &thinking, |_| {
        format!(r#"{{"solve.predict": {{"instruction": "{SUMS_WORDS}"}}}}"#)
    });
    let both = both.await;
    let wrong = r#"{"solve": {"demos": [{"input": {"problem": "Ann is 30 years old, Bo is 4 years younger. How old are they together?"}, "output": {"result": 34}},
        {"input": {"problem": "Ann is 40 years old, Bo is 4 years younger. How old are they together?"}, "output": {"result": 44}}]}}"#;
    let misled = right(name, wrong).await;

    assert!(misled.is_subset(&bare) && bare.is_subset(&instructed) && instructed.is_subset(&shown));
    assert!(bare.is_subset(&thought) && thought.is_subset(&both));
    let counts = [&misled, &bare, &instructed, &shown, &thought, &both].map(BTreeSet::len);
    assert_eq!(counts, [46, 85, 134, 151, 143, 180]);
}

#[tokio::test]
async fn orders_needs_both_instructions() {
    let name = "orders";
    let (find, answer) = (
        r#""find": {"instruction": "Look at the current order only. Put the order's number first."}"#,
        r#""answer": {"instruction": "Use as few words as possible. Always name the unit."}"#,
    );
    let bare = right(name, "{}").await;
    let one = right(name, &format!("{{{find}}}")).await;
    let other = right(name, &format!("{{{answer}}}")).await;
    let both = right(name, &format!("{{{find}, {answer}}}")).await;
    let harmed = right(name, r#"{"answer": {"instruction": "Answer in a full sentence."}}"#).await;
    let shown = bootstrapped(name, &format!("{{{find}, {answer}}}"), 6).await;
    let shown = format!(
        r#"{{{}, {}}}"#,
        find.replace('}', &format!(r#", "demos": [{}]}}"#, shown[0])),
        answer.replace('}', &format!(r#", "demos": [{}]}}"#, shown[1])),
    );
    let shown = right(name, &shown).await;

    assert!(harmed.is_subset(&bare) && bare.is_subset(&one) && bare.is_subset(&other));
    assert!(one.is_subset(&both) && other.is_subset(&both));
    assert!(both.is_subset(&shown));
    let counts = [&harmed, &bare, &one, &other, &both, &shown].map(BTreeSet::len);
    assert_eq!(counts, [63, 82, 114, 105, 150, 175]);
}

#[tokio::test]
async fn the_answer_depends_on_the_request_alone() {
    let rows = task("sums").rows(3, 40);
    let program = program(task("sums").document, "{}");
    let one = Arc::new(SyntheticLm::seeded(5).after(Duration::from_micros(300)));
    let mut at_once =
        futures_util::future::join_all(rows.iter().map(|row| outputs(&program, &one, &row.inputs)))
            .await;
    let other = Arc::new(SyntheticLm::seeded(5));
    for row in rows.iter().rev() {
        assert_eq!(at_once.pop().unwrap(), outputs(&program, &other, &row.inputs).await);
    }
    assert_eq!((one.requests(), other.requests()), (40, 40));
    let usage = outputs(&program, &other, &rows[0].inputs).await.1;
    assert!(usage.lm_calls == 1 && usage.input_tokens > 40 && usage.output_tokens > 8, "{usage:?}");
}

#[tokio::test]
async fn seeds_and_temperatures_redraw_half_of_the_answers() {
    let mut counts = Vec::new();
    let rows = task("triage").rows(1, 200);
    for lm in [
        "{}",
        r#"{"temperature": 0, "seed": 4}"#,
        r#"{"temperature": 1, "seed": 4}"#,
        r#"{"temperature": 1, "seed": 5}"#,
    ] {
        let program = program(task("triage").document, &format!(r#"{{"sort": {{"lm": {lm}}}}}"#));
        let lm = Arc::new(SyntheticLm::seeded(1));
        let mut all = Vec::new();
        for row in &rows {
            all.push(outputs(&program, &lm, &row.inputs).await.0 == row.expected);
        }
        counts.push(all);
    }
    assert_eq!(counts[0], counts[1]);
    let differ =
        |one: &[bool], other: &[bool]| one.iter().zip(other).filter(|(a, b)| a != b).count();
    for (one, other) in [(0, 2), (0, 3), (2, 3)] {
        let differ = differ(&counts[one], &counts[other]);
        assert!((20..90).contains(&differ), "{differ}");
    }
}

#[test]
fn rows_are_unique_and_feedback_depends_on_the_answer() {
    for task in SyntheticTask::all() {
        let rows = task.rows(9, 2000);
        let inputs: BTreeSet<String> =
            rows.iter().map(|row| Payload::map(row.inputs.clone()).to_json()).collect();
        assert_eq!(inputs.len(), 2000, "{}", task.name);
        assert_eq!(task.rows(9, 10), rows[..10]);
        assert_ne!(task.rows(8, 10), rows[..10]);
        assert_eq!(task.feedback(&rows[0], &rows[0].expected), "right");
        let feedback = task.feedback(&rows[0], &fields("{}"));
        let expected = rows[0].expected[0]
            .as_str()
            .map_or_else(|| rows[0].expected[0].to_json(), str::to_owned);
        assert!(feedback.contains(&expected), "{feedback}");
    }
}

/// The outputs of a predictor at the first attempt.
async fn asked(schema: &Arc<SignatureSchema>, seed: u64, input: Fields) -> Fields {
    let lm = Arc::new(SyntheticLm::seeded(seed));
    let predictor = SchemaPredictor::new(schema.clone(), "predictor");
    let found = predictor.forward(&crate::story::ctx(&lm), input).await;
    assert_eq!(lm.requests(), 1, "asked again for {schema:?}");
    found.unwrap()
}

fn texts<const N: usize>(given: [(&str, &str); N]) -> Fields {
    given.into_iter().map(|(name, text)| (name.into(), Payload::str(text))).collect()
}

const PROPOSER: &str = r#"{"instructions": "Write a better instruction.",
    "inputs": [{"name": "program"}, {"name": "feedback"}], "outputs": [{"name": "observations"}, {"name": "proposed_instruction"}]}"#;

#[tokio::test]
async fn a_proposal_uses_the_topics_of_feedback() {
    let schema = signature("{}", PROPOSER);
    let row = &task("triage").rows(1, 1)[0];
    let mut with_words = [0, 0];
    for seed in 0..100 {
        for (index, feedback) in ["right", &row.feedback].into_iter().enumerate() {
            let input =
                texts([("program", "sort: takes message; gives queue"), ("feedback", feedback)]);
            let found = asked(&schema, seed, input).await;
            let proposal = found["proposed_instruction"].as_str().unwrap().to_owned();
            with_words[index] += usize::from(proposal.contains("what the sender wants done"));
        }
    }
    assert!(with_words[0] < 35 && with_words[1] > 80, "{with_words:?}");
}

/// Type expressions that may use the definitions in [`TYPES`].
fn types() -> impl Strategy<Value = String> {
    let plain = [
        "str",
        "int",
        "float",
        "bool",
        "any",
        "Mood",
        "Tree",
        "Chain",
        "'a|b' | 'c // d'",
        "1 | 2 | true",
        "'only'",
        "-3",
    ];
    prop::sample::select(plain.to_vec()).prop_map(str::to_owned).prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|ty| format!("list[{ty}]")),
            inner.clone().prop_map(|ty| format!("dict[str, {ty}]")),
            inner.clone().prop_map(|ty| format!("({ty})?")),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("tuple[{one}, {two}]")),
            (inner.clone(), inner).prop_map(|(one, two)| format!("{one} | list[{two}]")),
        ]
    })
}

const TYPES: &str = r#"{
    "Mood": {"enum": {"calm": "at peace, as in \"om\"", "angry": null}},
    "Tree": {"class": {"label": "str", "children": "list[Tree]"}},
    "Chain": {"class": {"mood": {"type": "Mood", "description": "a // b"}, "next": "Chain?"}}}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn answers_have_the_requested_layout_and_types(
        found in types(), advised in types(), seed in any::<u64>(),
    ) {
        let outputs = [("found", found), ("advice_for_parts", advised)].map(|(name, ty)| {
            format!(r#"{{"name": "{name}", "type": {}}}"#, Payload::str(ty).to_json())
        });
        let spelled = format!(r#"{{"inputs": [{{"name": "text"}}], "outputs": [{}]}}"#, outputs.join(", "));
        let schema = signature(TYPES, &spelled);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let given = runtime.block_on(asked(&schema, seed, texts([("text", "…")])));
        prop_assert_eq!(given.len(), 2);
    }
}

#[tokio::test]
async fn strategies_with_several_calls_are_answered() {
    let document = task("orders").document;
    let nodes = [
        r#""react", "config": {}"#,
        r#""majority", "config": {"n": 3, "module": {"strategy": "predict"}}"#,
        r#""multi_chain_comparison", "config": {"m": 2}"#,
        r#""refine", "config": {"n": 2, "module": {"strategy": "predict"},
            "reward": {"expression": "0.0"}, "threshold": 1.0}"#,
        r#""best_of_n", "config": {"n": 2, "module": {"strategy": "chain_of_thought"},
            "reward": {"judge": {"signature": "answer -> score: float", "score": "score"}}}"#,
    ];
    for node in nodes {
        let changed = document.replacen(
            r#""answer": {"strategy": "predict""#,
            &format!(r#""answer": {{"strategy": {node}"#),
            1,
        );
        assert_ne!(changed, document);
        let program = program(&changed, "{}");
        let lm = Arc::new(SyntheticLm::seeded(1));
        let rows = task("orders").rows(1, 10);
        for row in &rows {
            outputs(&program, &lm, &row.inputs).await;
        }
    }
}
