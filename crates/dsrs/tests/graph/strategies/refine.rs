//! `refine`: advice about an attempt becomes a hint for the next one, and for nothing else.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::module::named_predictors;
use dsrs::predict::{PredictErrorKind, PredictState, SpanKind};
use dsrs::problem::At;
use dsrs::{Ctx, Module, Refine, Signature};
use futures_util::future::join_all;

use super::support::{
    answer, asked, assert_demos_are_seen, build, called, ctx, fields, module, outputs, paths,
    refused, run, run_on, signature_text,
};

const CONFIG: &str = r#"{"module": {"strategy": "predict"}, "n": 3, "threshold": 1,
    "reward": {"expression": "1 / outputs.answer|length"}}"#;

const GRAPH: &str = r#"{"name": "g", "nodes": {"a": {"strategy": "refine",
    "signature": "question -> answer", "retries": 0, "parse_retries": 0, "config":
    {"module": {"strategy": "predict"}, "n": 3, "threshold": 1,
     "reward": {"expression": "1 / outputs.answer|length"}}}}}"#;

const QUESTION: &str = r#"{"question": "2 + 2?"}"#;

fn said(text: &str) -> String {
    answer(&[("answer", text)])
}

fn advised(advice: &str) -> String {
    answer(&[("diagnosis", "too long"), ("advice", advice)])
}

#[test]
fn refine_adds_a_predictor_for_advice() {
    let config = r#"{"module": {"strategy": "chain_of_thought"}, "n": 2, "threshold": 0.5, "reward":
        {"judge": {"signature": "answer -> good: bool", "score": "good"}}}"#;
    let mut refine = module("refine", "question -> answer", config);
    assert_eq!(signature_text(&*refine), "question: str -> reasoning: str, answer: str");
    assert_eq!(paths(&*refine), ["module.predict", "judge", "advice"]);
    assert_demos_are_seen(&mut *refine);
    let parallel = CONFIG.replace("\"n\": 3", "\"n\": 3, \"parallel\": true");
    assert_eq!(refused("refine", "question -> answer", &parallel), ["/config invalid_config"]);
}

#[tokio::test]
async fn advice_is_shown_only_in_the_message_of_the_next_attempt() {
    let lm = [said("It is four"), advised(r#"{"module": "Digits only."}"#), said("4")];
    let lm = Arc::new(ScriptedLm::answering(lm));
    let outcome = run(GRAPH, &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"4"}"#);
    assert_eq!(called(&outcome.spans), ["module", "advice", "module"]);
    assert_eq!(outcome.usage.lm_calls, 3);

    let requests = lm.requests();
    let (first, advice, second) = (&requests[0], &requests[1], &requests[2]);
    assert_eq!(first.chat.prefix, second.chat.prefix);
    assert!(!asked(first).contains("hint"));
    let hint = "[[ ## question ## ]]\n2 + 2?\n\n[[ ## hint ## ]]\nEarlier attempts fell short. For \
                this one:\nDigits only.\n\nNow write `[[ ## answer ## ]]`";
    assert!(asked(second).starts_with(hint), "{}", asked(second));
    for part in [
        "module: inputs `question`; outputs `answer`; instruction:\n  Read `question`, then write `answer`.",
        r#""question": "2 + 2?""#,
        r#""answer": "It is four""#,
        "the Jinja expression `1 / outputs.answer|length`",
        "0.1; the target is at least 1",
    ] {
        assert!(asked(advice).contains(part), "{part}: {}", asked(advice));
    }
}

#[tokio::test]
async fn a_hint_leaves_state_and_demos_as_they_are() {
    let mut refine = module("refine", "question -> answer", CONFIG);
    let demo = r#"{"question": "1 + 1?"}"#;
    let demo = dsrs::predict::Demo { input: fields(demo), output: fields(r#"{"answer": "2"}"#) };
    let state = PredictState { demos: vec![demo], ..PredictState::default() };
    refine.predictors_mut()[0].1.load_state(state.clone(), &At::Root).unwrap();
    let lm = [said("four"), advised(r#"{"module": "Digits only."}"#), said("4")];
    let lm = Arc::new(ScriptedLm::answering(lm));
    refine.forward(&ctx(&lm), fields(QUESTION)).await.unwrap();
    let sent = &lm.requests()[2].chat;
    assert_eq!(sent.prefix.len(), 3);
    assert!(sent.prefix.iter().all(|message| !message.content.contains("Digits only.")));
    assert_eq!(refine.predictors()[0].1.state(), &state);
}

#[tokio::test]
async fn advice_for_no_known_part_is_for_all_parts() {
    let refine = module("refine", "hint -> answer", CONFIG);
    let lm = [said("four"), advised(r#"{"the model": "Digits only."}"#), said("4")];
    let lm = Arc::new(ScriptedLm::answering(lm));
    refine.forward(&ctx(&lm), fields(r#"{"hint": "2 + 2?"}"#)).await.unwrap();
    let second = asked(&lm.requests()[2]);
    assert!(second.contains("[[ ## hint ## ]]\n2 + 2?"), "{second}");
    assert!(second.contains("[[ ## hint_ ## ]]\nEarlier"), "{second}");
}

#[tokio::test]
async fn attempts_continue_without_advice_if_it_fails() {
    let broken = ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404);
    let lm = ScriptedLm::answering([said("four").into(), broken, ScriptedAnswer::from(said("4"))]);
    let lm = Arc::new(lm);
    let outcome = run(GRAPH, &lm, QUESTION).await;
    assert_eq!(outputs(&outcome), r#"{"answer":"4"}"#);
    let advice = outcome.spans.iter().find(|span| span.predictor.as_deref() == Some("advice"));
    assert!(advice.unwrap().error.is_some());
}

#[tokio::test]
async fn a_failed_attempt_keeps_the_previous_advice() {
    let broken = |text: &str| ScriptedAnswer::fail(LmErrorKind::Refused, text).status(404);
    let lm = [said("four"), advised(r#"{"module": "Digits only."}"#)].map(ScriptedAnswer::from);
    let lm = lm.into_iter().chain([broken("once"), broken("twice")]);
    let lm = Arc::new(ScriptedLm::answering(lm));
    let document = GRAPH.replace("\"n\": 3", "\"n\": 3, \"fail_count\": 1");
    let outcome = run(&document, &lm, QUESTION).await;
    let error = outcome.outputs.unwrap_err().error;
    assert_eq!((error.kind, error.message.as_str()), (PredictErrorKind::Lm, "twice"));
    assert!(asked(&lm.requests()[3]).contains("Digits only."));
}

#[tokio::test(start_paused = true)]
async fn a_run_cancelled_during_advice_ends_at_once() {
    let lm = Arc::new(ScriptedLm::answering([
        ScriptedAnswer::from(said("four")),
        ScriptedAnswer::hang(),
    ]));
    let run = run_on(&lm);
    let cancel = run.cancelled.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let outcome = build(GRAPH).execute(&run, fields(QUESTION)).await;
    let error = outcome.outputs.unwrap_err().error;
    assert_eq!(
        (error.kind, error.predictor.as_deref()),
        (PredictErrorKind::Cancelled, Some("advice"))
    );
    assert_eq!(lm.requests().len(), 2);
}

/// What follows `mark` in a text, to the end of the word.
fn after<'t>(mark: &str, text: &'t str) -> Option<&'t str> {
    text.split_once(mark)?.1.split(|c: char| !c.is_ascii_digit()).next()
}

#[tokio::test]
async fn hints_of_a_hundred_runs_at_once_do_not_mix() {
    let lm = Arc::new(ScriptedLm::by(|request: &LmRequest| {
        let asked = asked(request);
        let number = after("number ", &asked).unwrap_or_default().to_owned();
        let wait = Duration::from_millis(1 + number.parse::<u64>().unwrap() % 7);
        let text = if asked.contains("## program ##") {
            advised(&format!(r#"{{"module": "for {number}"}}"#))
        } else if asked.contains("## hint ##") {
            said(after("\nfor ", &asked).unwrap())
        } else {
            said("something long")
        };
        ScriptedAnswer::from(text).after(wait)
    }));
    let document =
        GRAPH.replace("1 / outputs.answer|length", "inputs.question == 'number ' ~ outputs.answer");
    let program = build(&document);
    let runs = join_all((0..100).map(|number| {
        let (program, run) = (&program, run_on(&lm));
        async move {
            let inputs = fields(&format!(r#"{{"question": "number {number}"}}"#));
            let outcome = program.execute(&run, inputs).await;
            (number, outputs(&outcome), outcome.usage.lm_calls)
        }
    }))
    .await;
    for (number, outputs, calls) in runs {
        assert_eq!((outputs, calls), (format!(r#"{{"answer":"{number}"}}"#), 3));
    }
}

#[tokio::test]
async fn refine_within_refine_advises_by_composed_paths() {
    let config = format!(
        r#"{{"module": {{"strategy": "refine", "config": {CONFIG}}}, "n": 2, "threshold": 1,
            "reward": {{"expression": "outputs.answer == '4'"}}}}"#
    );
    let refine = module("refine", "question -> answer", &config);
    assert_eq!(paths(&*refine), ["module.module", "module.advice", "advice"]);
    let outer = r#"{"module.module": "Only digits.", "module.advice": "Be kind."}"#;
    let lm =
        [said("5"), advised(outer), said("four"), advised(r#"{"module": "Shorter."}"#), said("4")];
    let lm = Arc::new(ScriptedLm::answering(lm));
    let ctx = ctx(&lm);
    refine.forward(&ctx, fields(QUESTION)).await.unwrap();
    let names = ["module.module", "advice", "module.module", "module.advice", "module.module"];
    assert_eq!(called(&ctx.trace().take()), names);
    let asked: Vec<_> = lm.requests().iter().map(asked).collect();
    assert!(asked[2].contains("Only digits.") && !asked[2].contains("Shorter."));
    assert!(asked[3].contains("Be kind."), "{}", asked[3]);
    assert!(asked[4].contains("Only digits.\nShorter."), "{}", asked[4]);
}

/// Answer in a word.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[tokio::test]
async fn a_typed_module_is_refined_with_the_same_prompts() {
    let answers =
        || [said("It is four"), advised(r#"{"module.predict": "Digits only."}"#), said("4")];
    let answers = || answers().map(|text| format!("[[ ## reasoning ## ]]\nhm\n\n{text}"));
    let typed = Arc::new(ScriptedLm::answering(answers()));
    let by_length =
        |_: &QaInput, output: &dsrs::WithReasoning<QaOutput>| 1.0 / output.answer.len() as f64;
    let refine = Refine::new(dsrs::ChainOfThought::<Qa>::new(), 3, 1.0, by_length).unwrap();
    let refine = refine.rewarding("the Jinja expression `1 / outputs.answer|length`");
    let found = named_predictors(&refine).unwrap();
    let found: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(found, ["module.predict", "advice"]);
    let ctx: Ctx = ctx(&typed);
    let result = refine.call(&ctx, QaInput { question: "2 + 2?".into() }).await.unwrap();
    assert_eq!((&*result.answer, result.usage().lm_calls), ("4", 3));
    let attempts = ctx.trace().take();
    assert_eq!(attempts.iter().filter(|span| span.kind == SpanKind::Attempt).count(), 2);

    let untyped = Arc::new(ScriptedLm::answering(answers()));
    let qa = r#"{"instructions": "Answer in a word.", "inputs": [{"name": "question", "type": "str"}],
        "outputs": [{"name": "answer", "type": "str"}]}"#;
    let document = GRAPH.replace("\"predict\"", "\"chain_of_thought\"");
    let document = document.replace("\"question -> answer\"", qa);
    run(&document, &untyped, QUESTION).await;
    let said = |lm: &ScriptedLm| -> Vec<String> {
        let texts = |request: &LmRequest| {
            request.chat.messages().map(|message| message.content.to_string()).collect::<String>()
        };
        lm.requests().iter().map(texts).collect()
    };
    assert_eq!(said(&typed), said(&untyped));
}
