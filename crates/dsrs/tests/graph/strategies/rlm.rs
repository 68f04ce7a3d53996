//! `rlm` and `code_act`: predictors, prompts, and what is refused. The tests of `crates/dsrs-sandbox` run their programs.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use dsrs::predict::PredictErrorKind;
use dsrs::strategy::DynModule;

use super::program_of_thought::With;
use super::support::{
    answer, assert_demos_are_seen, create_in, ctx, fields, paths, signature_text,
};

const SIGNATURE: &str = "document, question -> answer: int";

fn module(strategy: &str, config: &str) -> Box<dyn DynModule> {
    let env = With { sandbox: true, stored: false };
    create_in(&env, strategy, SIGNATURE, config).unwrap_or_else(|found| panic!("{found}"))
}

/// The names of the fields of each predictor.
fn fields_of(module: &dyn DynModule) -> Vec<String> {
    let predictors = module.predictors().into_iter();
    let fields = predictors.map(|(_, predictor)| {
        let schema = predictor.schema().clone();
        let all = schema.inputs.iter().chain(&schema.outputs);
        all.map(|field| field.name.to_string()).collect::<Vec<_>>().join(" ")
    });
    fields.collect()
}

/// Why a definition is refused.
fn refused(strategy: &str, signature: &str, config: &str) -> String {
    let env = With { sandbox: true, stored: false };
    create_in(&env, strategy, signature, config).err().expect("it is refused").to_string()
}

#[test]
fn their_predictors_have_the_names_and_fields_of_dspy_and_use_demos() {
    let mut rlm = module("rlm", "{}");
    assert_eq!(signature_text(&*rlm), "document: str, question: str -> answer: int");
    assert_eq!(paths(&*rlm), ["generate_action", "llm_query", "extract"]);
    let expected = [
        "variables_info repl_history iteration reasoning code",
        "prompt response",
        "variables_info repl_history answer",
    ];
    assert_eq!(fields_of(&*rlm), expected);
    assert_demos_are_seen(&mut *rlm);

    let mut act = module("code_act", r#"{"with_trajectory": true}"#);
    let signature = "document: str, question: str -> answer: int, trajectory: str";
    assert_eq!(signature_text(&*act), signature);
    assert_eq!(paths(&*act), ["codeact", "extractor.predict"]);
    let expected = [
        "document question trajectory generated_code finished",
        "document question trajectory reasoning answer",
    ];
    assert_eq!(fields_of(&*act), expected);
    assert_demos_are_seen(&mut *act);
}

#[test]
fn the_instruction_of_rlm_names_functions_outputs_and_limits() {
    let rlm = module("rlm", r#"{"tools": ["calculator"], "max_llm_calls": 7}"#);
    let instruction = rlm.predictors()[0].1.instruction().to_owned();
    for expected in [
        "- `llm_query(prompt)`: ",
        "- `llm_query_batched(prompts)`: ",
        "- `calculator(expression)`: ",
        "- `SUBMIT(answer=…)`: ",
        "- `answer`: int",
        "may send 7 prompts",
    ] {
        assert!(instruction.contains(expected), "{expected}\n{instruction}");
    }
    assert_eq!(rlm.predictors()[0].1.tools(), ["calculator".into()]);
}

#[test]
fn what_cannot_be_a_variable_or_a_function_is_refused() {
    for (strategy, signature, config, expected) in [
        ("rlm", "class -> x", "{}", "the input `class` cannot be a variable in Python"),
        ("rlm", "SUBMIT -> x", "{}", "the input `SUBMIT` has the name of a function"),
        ("rlm", "a -> repl_history", "{}", "`repl_history` is a field that rlm adds"),
        ("rlm", "a -> trajectory", r#"{"with_trajectory": true}"#, "`trajectory` is a field that"),
        (
            "rlm",
            "calculator -> x",
            r#"{"tools": ["calculator"]}"#,
            "the input `calculator` has the name of a function",
        ),
        ("rlm", "a -> x", r#"{"sub_lm": 3}"#, "/config/sub_lm"),
        ("rlm", "a -> x", r#"{"max_iters": 0}"#, "/config/max_iters"),
        ("rlm", "a -> x", r#"{"tools": ["nothing"]}"#, "/config/tools/0"),
        ("code_act", "finished -> x", "{}", "`finished` is a field that code_act adds"),
        ("code_act", "a -> reasoning", "{}", "rename the signature's own field"),
        ("code_act", "a -> x", r#"{"tools": ["calculator", "calculator"]}"#, "two tools are named"),
        ("code_act", "a -> x", r#"{"max_iter": 2}"#, "/config"),
    ] {
        let found = refused(strategy, signature, config);
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}

#[tokio::test]
async fn without_a_sandbox_only_stored_definitions_load_and_they_fail_when_they_run() {
    let inputs = || fields(r#"{"document": "", "question": ""}"#);
    for strategy in ["rlm", "code_act"] {
        let none = With { sandbox: false, stored: false };
        let problems = create_in(&none, strategy, SIGNATURE, "{}").err().unwrap();
        assert_eq!(problems.iter().next().unwrap().pointer, "/strategy");
        let stored = With { sandbox: false, stored: true };
        let module = create_in(&stored, strategy, SIGNATURE, "{}").ok().unwrap();
        let lm = Arc::new(ScriptedLm::always(answer(&[])));
        let error = module.forward(&ctx(&lm), inputs()).await.unwrap_err();
        assert_eq!(error.kind, PredictErrorKind::Sandbox);
        assert_eq!(error.message, "there is no longer a sandbox to run programs in");
        // A sandbox of single programs alone.
        let error = self::module(strategy, "{}").forward(&ctx(&lm), inputs()).await.unwrap_err();
        assert!(error.message.contains("has no sessions"), "{}", error.message);
    }
}
