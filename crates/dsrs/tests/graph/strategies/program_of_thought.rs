//! `program_of_thought`: a program is written, run and repaired, and the outputs are derived from
//! its result.

use std::sync::Arc;

use dsrs::lm::{LmErrorKind, Models, ScriptedAnswer, ScriptedLm};
use dsrs::module::named_predictors;
use dsrs::predict::{Ctx, DynPredictor, PredictErrorKind, SpanKind, SpanStatus};
use dsrs::sandbox::{DIALECT, Sandbox, SandboxError, SandboxFailure, SandboxOutput};
use dsrs::strategy::{BuildEnv, DynModule};
use dsrs::value::{Fields, Payload};
use dsrs::{Module, ProgramOfThought, Signature};
use futures_util::future::{BoxFuture, FutureExt};

use super::support::{
    answer, asked, assert_demos_are_seen, called, create_in, ctx, fields, paths, refused,
    signature_text,
};

pub(crate) const SUM: &str = "numbers: list[int] -> sum: int";

/// Knows the result of each program.
#[derive(Clone)]
struct Known;

impl Sandbox for Known {
    fn run<'a>(
        &'a self,
        code: &'a str,
        inputs: &'a Fields,
    ) -> BoxFuture<'a, Result<SandboxOutput, SandboxError>> {
        let said = |value: Payload| Ok(SandboxOutput { printed: "added\n".into(), value });
        let fails = |kind, message: &str| Err(SandboxError::new(kind, message));
        let hangs = code == "hang()";
        let ran = match code {
            "sum(numbers)" => said(Payload::Int(inputs["numbers"].as_list().unwrap().len() as i64)),
            "while True: pass" => {
                fails(SandboxFailure::Time, "it ran for longer than 5 s, its limit")
            }
            "broken" => fails(SandboxFailure::Broken, "the child cannot be started"),
            _ => fails(SandboxFailure::Raised, "line 1: NameError: name 'sun' is not defined"),
        };
        async move { if hangs { std::future::pending().await } else { ran } }.boxed()
    }
}

/// A server with a sandbox, or without one; of a new graph or of a stored one.
pub(crate) struct With {
    pub(crate) sandbox: bool,
    pub(crate) stored: bool,
}

impl BuildEnv for With {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        self.stored
    }

    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.sandbox.then(|| Arc::new(Known) as Arc<dyn Sandbox>)
    }
}

fn module(config: &str) -> Box<dyn DynModule> {
    let env = With { sandbox: true, stored: false };
    create_in(&env, "program_of_thought", SUM, config).unwrap_or_else(|found| panic!("{found}"))
}

fn program(code: &str) -> String {
    answer(&[("reasoning", "it is a sum"), ("generated_code", code)])
}

fn sum(value: &str) -> String {
    answer(&[("reasoning", "as it came out"), ("sum", value)])
}

fn script(answers: impl IntoIterator<Item = String>) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(answers))
}

fn numbers() -> Fields {
    fields(r#"{"numbers": [1, 2, 3]}"#)
}

#[test]
fn program_of_thought_has_three_predictors_that_use_demos() {
    let mut module = module("{}");
    assert_eq!(signature_text(&*module), "numbers: list[int] -> sum: int");
    let names = ["code_generate.predict", "code_regenerate.predict", "generate_output.predict"];
    assert_eq!(paths(&*module), names);
    let fields = |predictor: &dyn DynPredictor| {
        let schema = predictor.schema().clone();
        let all = schema.inputs.iter().chain(&schema.outputs);
        all.map(|field| field.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    let all: Vec<_> = module.predictors().iter().map(|(_, found)| fields(*found)).collect();
    assert_eq!(
        all,
        [
            "numbers reasoning generated_code",
            "numbers previous_code error reasoning generated_code",
            "numbers final_generated_code code_output reasoning sum"
        ]
    );
    assert_demos_are_seen(&mut *module);
}

#[tokio::test]
async fn a_program_is_written_and_run_and_its_result_shown() {
    let lm = script([program("```python\nsum(numbers)\n```"), sum("6")]);
    let ctx = ctx(&lm);
    let outputs = module("{}").forward(&ctx, numbers()).await.unwrap();
    assert_eq!(Payload::map(outputs).to_json(), r#"{"sum":6}"#);
    let requests = lm.requests();
    assert!(requests[0].chat.prefix[0].content.contains(DIALECT));
    let shown = asked(&requests[1]);
    assert!(shown.contains("[[ ## final_generated_code ## ]]\nsum(numbers)\n"), "{shown}");
    assert!(shown.contains("[[ ## code_output ## ]]\nadded\n3\n"), "{shown}");
    let spans = ctx.trace().take();
    assert_eq!(called(&spans), ["code_generate.predict", "generate_output.predict"]);
    let tool = spans.iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    assert_eq!((tool.tool.as_deref(), tool.status), (Some("python"), SpanStatus::Succeeded));
}

#[tokio::test]
async fn a_program_that_fails_is_regenerated_with_its_error() {
    let answers =
        [program("sun(numbers)"), program("while True: pass"), program("sum(numbers)"), sum("6")];
    let lm = script(answers);
    let ctx = ctx(&lm);
    module("{}").forward(&ctx, numbers()).await.unwrap();
    let again = asked(&lm.requests()[1]);
    assert!(again.contains("[[ ## previous_code ## ]]\nsun(numbers)\n"), "{again}");
    assert!(again.contains("[[ ## error ## ]]\nline 1: NameError: name 'sun'"), "{again}");
    assert!(asked(&lm.requests()[2]).contains("it ran for longer than 5 s"));
    let spans = ctx.trace().take();
    let ran: Vec<_> = spans.iter().filter(|span| span.kind == SpanKind::Tool).collect();
    let ended: Vec<_> = ran.iter().map(|span| span.status).collect();
    assert_eq!(ended, [SpanStatus::Failed, SpanStatus::Failed, SpanStatus::Succeeded]);
}

#[tokio::test]
async fn an_answer_without_a_program_is_regenerated() {
    let lm = script([program("```python\n```"), program("sum(numbers)"), sum("6")]);
    let ctx = ctx(&lm);
    module("{}").forward(&ctx, numbers()).await.unwrap();
    assert!(asked(&lm.requests()[1]).contains("`generated_code` contains no program"));
    let spans = ctx.trace().take();
    assert_eq!(spans.iter().filter(|span| span.kind == SpanKind::Tool).count(), 1);
}

#[tokio::test]
async fn the_last_error_is_reported_if_no_program_works() {
    let lm = script([program("sun()"), program("sun()")]);
    let error = module(r#"{"max_iters": 2}"#).forward(&ctx(&lm), numbers()).await.unwrap_err();
    assert_eq!(error.kind, PredictErrorKind::Program);
    let expected = "2 programs of the LM failed, the last one: line 1: NameError";
    assert!(error.message.starts_with(expected), "{}", error.message);
    assert_eq!(lm.requests().len(), 2);
}

#[tokio::test]
async fn a_broken_sandbox_is_not_a_failed_program() {
    let lm = script([program("broken")]);
    let error = module("{}").forward(&ctx(&lm), numbers()).await.unwrap_err();
    assert_eq!(error.kind, PredictErrorKind::Sandbox);
    assert_eq!(error.message, "the sandbox failed: the child cannot be started");
}

#[tokio::test]
async fn cancelling_stops_a_program_that_runs() {
    let lm = script([program("hang()")]);
    let ctx = ctx(&lm);
    let cancelled = ctx.run.cancelled.clone();
    let module = module("{}");
    let stop = async {
        while lm.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancelled.cancel();
    };
    let (ran, ()) = tokio::join!(module.forward(&ctx, numbers()), stop);
    assert_eq!(ran.unwrap_err().kind, PredictErrorKind::Cancelled);
}

#[tokio::test]
async fn a_failing_lm_fails_the_node() {
    let lm = Arc::new(ScriptedLm::always(ScriptedAnswer::fail(LmErrorKind::Refused, "no")));
    let error = module("{}").forward(&ctx(&lm), numbers()).await.unwrap_err();
    assert_eq!(error.predictor.as_deref(), Some("code_generate.predict"));
}

#[test]
fn without_a_sandbox_only_stored_definitions_load() {
    let none = With { sandbox: false, stored: false };
    let problems = create_in(&none, "program_of_thought", SUM, "{}").err().unwrap();
    assert_eq!(problems.iter().next().unwrap().pointer, "/strategy");
    let stored = With { sandbox: false, stored: true };
    assert!(create_in(&stored, "program_of_thought", SUM, "{}").is_ok());
}

#[test]
fn invalid_configs_and_signatures_are_refused_at_their_places() {
    let none = refused("program_of_thought", SUM, r#"{"max_iter": 2}"#);
    assert!(none.contains(&"/config invalid_config".to_owned()), "{none:?}");
    let env = With { sandbox: true, stored: false };
    let refused = |base: &str| {
        let problems = create_in(&env, "program_of_thought", base, "{}").err().unwrap();
        problems.to_string()
    };
    assert!(refused("error -> answer").contains("`error` is a field that program_of_thought adds"));
    assert!(refused("question -> reasoning").contains("rename the signature's own field"));
}

#[derive(Signature)]
struct Sum {
    #[input]
    numbers: Vec<i64>,
    #[output]
    sum: i64,
}

#[tokio::test]
async fn the_typed_module_has_the_same_prompts_and_paths() {
    let answers = || [program("sun()"), program("sum(numbers)"), sum("6")];
    let (typed_lm, untyped_lm) = (script(answers()), script(answers()));
    let typed = ProgramOfThought::<Sum>::new(Arc::new(Known)).unwrap();
    let result = typed.call(&ctx(&typed_lm), SumInput { numbers: vec![1, 2, 3] }).await.unwrap();
    assert_eq!((result.sum, result.usage().lm_calls), (6, 3));
    let found = named_predictors(&typed).unwrap();
    let names: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    let untyped = module("{}");
    assert_eq!(names, paths(&*untyped));

    let over =
        Ctx::within(Models::only(untyped_lm.clone()).into(), std::time::Duration::from_secs(600));
    untyped.forward(&over, numbers()).await.unwrap();
    let sent = |lm: &ScriptedLm| -> Vec<String> {
        let requests = lm.requests();
        requests
            .iter()
            .flat_map(|r| r.chat.messages().map(|m| m.content.to_string()).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(sent(&typed_lm), sent(&untyped_lm));
}
