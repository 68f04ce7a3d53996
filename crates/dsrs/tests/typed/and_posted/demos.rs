//! Demos may leave outputs out, on both sides: what is there is checked, and shown alike.

use dsrs::graph::from_dspy;
use dsrs::module::named_predictors_mut;
use dsrs::problem::At;
use dsrs::{ChainOfThought, Predict, Signature};

use super::support::{fields, json, places, program, prompt, state, tuned};

/// Answer the question.
#[derive(Signature)]
struct Qa {
    /// what is asked
    #[input]
    question: String,
    #[input]
    #[default = 2]
    sentences: i64,
    #[output]
    answer: String,
    #[output]
    sources: Vec<String>,
}

/// The same signature in a document.
const POSTED: &str = r#"{"name": "g", "nodes": {"qa": {"strategy": "chain_of_thought", "signature": {
    "instructions": "Answer the question.",
    "inputs": [{"name": "question", "description": "what is asked"},
               {"name": "sentences", "type": "int", "default": 2}],
    "outputs": [{"name": "answer"}, {"name": "sources", "type": "list[str]"}]}}}}"#;

/// States, each with whether it fits.
const STATES: [(&str, bool); 10] = [
    (r#"{}"#, true),
    (r#"{"instruction": "Be brief."}"#, true),
    (r#"{"demos": [{"input": {"question": "a"}, "output": {"answer": "b"}}]}"#, true),
    (
        r#"{"demos": [{"input": {"question": "a", "sentences": 1}, "output": {"sources": []}}]}"#,
        true,
    ),
    (r#"{"demos": [{"input": {"question": "a"}, "output": {"reasoning": "so"}}]}"#, true),
    (
        r#"{"demos": [{"input": {"question": "a"},
                       "output": {"sources": ["x"], "answer": "b", "reasoning": "so"}}]}"#,
        true,
    ),
    (r#"{"demos": [{"input": {"question": "a"}, "output": {}}]}"#, false),
    (r#"{"demos": [{"input": {}, "output": {"answer": "b"}}]}"#, false),
    (r#"{"demos": [{"input": {"question": 1}, "output": {"sources": "x"}}]}"#, false),
    (r#"{"demos": [{"input": {"question": "a"}, "output": {"answr": "b"}}]}"#, false),
];

#[test]
fn a_state_that_one_side_takes_the_other_takes_and_shows_alike() {
    let posted = program(POSTED);
    let input = fields(r#"{"question": "Why?", "sentences": 1}"#);
    for (text, fits) in STATES {
        let mut typed = ChainOfThought::<Qa>::new();
        let predictor = named_predictors_mut(&mut typed).unwrap().remove(0).1;
        let taken = predictor.load_state(state(text), &At::Root);
        match (taken, tuned(&posted, "qa.predict", state(text))) {
            (Ok(()), Ok(posted)) => {
                assert!(fits, "{text}");
                let prompts = posted.predictors();
                assert_eq!(prompt(predictor, &input), prompt(prompts[0].1, &input), "{text}");
            }
            (Err(typed), Err(posted)) => {
                assert!(!fits, "{text}");
                assert_eq!(places(&typed, ""), places(&posted, "/qa.predict"), "{text}");
            }
            (typed, posted) => panic!("{text}: {typed:?}, {:?}", posted.err()),
        }
    }
}

#[test]
fn a_demo_without_reasoning_is_no_rust_value_but_stays_in_the_state() {
    let mut typed = ChainOfThought::<Qa>::new();
    let given = state(STATES[2].0);
    typed.predict.load_state(given.clone()).unwrap();
    assert_eq!(typed.predict.dump_state(), given);
    let problems = typed.predict.demos().err().unwrap().to_string();
    assert!(problems.contains("/demos/0/output"), "{problems}");
    assert!(problems.contains("`reasoning`: is missing"), "{problems}");
    typed.predict.load_state(state(STATES[5].0)).unwrap();
    assert_eq!(typed.predict.demos().unwrap()[0].output.answer, "b");
}

#[test]
fn values_beyond_the_rust_type_are_refused_at_their_place() {
    #[derive(Signature)]
    struct Age {
        #[input]
        name: String,
        #[output]
        age: u8,
        #[output]
        shoe: u8,
    }
    let mut typed = Predict::<Age>::new();
    let wide = r#"{"demos": [{"input": {"name": "Ann"}, "output": {"age": 30}},
                             {"input": {"name": "Bo"}, "output": {"shoe": 300}}]}"#;
    let problems = typed.load_state(state(wide)).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "/demos/1/output/shoe: 300 is not a value of `u8` (wrong_type)"
    );
    assert!(typed.dump_state().is_default());
}

#[test]
fn a_dspy_file_without_reasoning_tunes_a_hosted_module() {
    let file = r#"{"ask.answer.predict": {"traces": [], "train": [],
        "demos": [{"question": "a", "reasoning": null, "answer": "b"}],
        "signature": {"instructions": "Reply.", "fields": []}, "lm": null}}"#
        .replace(
            "[]}, \"lm\"",
            r#"[{"prefix": "Question:"}, {"prefix": "Reasoning:"}, {"prefix": "Answer:"}]}, "lm""#,
        );
    let program = program(r#"{"name": "g", "nodes": {"ask": {"strategy": "reasoner"}}}"#);
    let found = from_dspy(&json(&file), &program, &At::Root).unwrap();
    let tuned = program.with_state(&super::support::Env, &found.state, &At::Root).unwrap();
    let predictors = tuned.predictors();
    let demo = &predictors[0].1.state().demos[0];
    assert_eq!((demo.output.len(), demo.output["answer"].as_str()), (1, Some("b")));
}
