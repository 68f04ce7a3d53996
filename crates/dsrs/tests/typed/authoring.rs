//! What an author of typed programs writes by hand: errors, listeners, checks of results, changes of a
//! predictor, registrations.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::graph::Program;
use dsrs::lm::{Lm, LmError, LmErrorKind, Models, ScriptedLm};
use dsrs::predict::{
    DynPredictor, LmOverrides, OrFail, PredictError, PredictErrorKind, PredictState, RunEvent,
    RunScope,
};
use dsrs::strategy::{BuildEnv, registry};
use dsrs::value::Payload;
use dsrs::{BestOfN, Ctx, Module, Predict, Prediction, Signature, TypedDemo};

use crate::story::{fields, json};

fn ctx(lm: &Arc<ScriptedLm>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

/// Answer.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    #[check("this|length < 4", label = "short")]
    answer: String,
}

fn ask(text: &str) -> QaInput {
    QaInput { question: text.into() }
}

fn answers(texts: &[&str]) -> Arc<ScriptedLm> {
    let texts = texts.iter().map(|text| format!("[[ ## answer ## ]]\n{text}"));
    Arc::new(ScriptedLm::answering(texts.collect::<Vec<_>>()))
}

#[derive(Debug)]
struct Offline;

impl fmt::Display for Offline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the index is offline")
    }
}

impl Error for Offline {}

/// What the author's own code does in a run.
type Own = fn() -> Result<String, PredictError>;

#[derive(Module)]
struct Fails {
    own: Own,
    answer: Predict<Qa>,
}

impl Module for Fails {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        _input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        let question = (self.own)()?;
        self.answer.call(ctx, QaInput { question }).await
    }
}

#[tokio::test]
async fn an_authors_own_error_is_a_kind_of_its_own_and_keeps_its_source() {
    let cases: [(Own, &str, bool); 8] = [
        (|| Err("no passage".into()), "no passage", false),
        (|| Err(format!("no passage of {}", 3))?, "no passage of 3", false),
        (|| Ok("x".parse::<i64>()?.to_string()), "invalid digit found in string", true),
        (
            || Ok(String::from_utf8(vec![0xff])?),
            "invalid utf-8 sequence of 1 bytes from index 0",
            true,
        ),
        (|| Err(Box::<dyn Error + Send + Sync>::from(Offline))?, "the index is offline", true),
        (|| Err(Offline).or_fail(), "the index is offline", true),
        (|| Err(Offline).context("cannot search"), "cannot search: the index is offline", true),
        (
            || Ok(serde_json::from_str("{")?),
            "invalid type: map, expected a string at line 1 column 0",
            true,
        ),
    ];
    for (own, message, has_source) in cases {
        let module = Fails { own, answer: Predict::new() };
        let error = module.call(&ctx(&answers(&[])), ask("?")).await.unwrap_err();
        assert_eq!((error.kind.code(), error.message.as_str()), ("module_failed", message));
        assert_eq!(error.kind, PredictErrorKind::Module);
        assert_eq!(error.source().is_some(), has_source, "{message}");
        assert!(!error.kind.is_fatal());
    }
    let module = Fails { own: || Err(Offline).or_fail(), answer: Predict::new() };
    let error = module.call(&ctx(&answers(&[])), ask("?")).await.unwrap_err();
    assert!(error.source().unwrap().is::<Offline>());
}

#[test]
fn an_error_of_a_predictor_stays_as_it_is() {
    let failed = PredictError::new(PredictErrorKind::Timeout, "too slow");
    let boxed: Box<dyn Error + Send + Sync> = failed.clone().into();
    let again = Err::<(), _>(boxed).or_fail().unwrap_err();
    assert_eq!((again.kind, again.message.as_str()), (PredictErrorKind::Timeout, "too slow"));
    let named = Err::<(), _>(failed).context("asking").unwrap_err();
    assert_eq!(
        (named.kind, named.message.as_str()),
        (PredictErrorKind::Timeout, "asking: too slow")
    );
    let limited = LmError {
        kind: LmErrorKind::RateLimited,
        message: "slow down".into(),
        status: Some(429),
        retry_after: Some(Duration::from_secs(2)),
    };
    let limited = PredictError::from(limited);
    let retry_after = Some(Duration::from_secs(2));
    assert_eq!(limited.kind, PredictErrorKind::RateLimited { retry_after });
    assert_eq!(limited.lm_error().unwrap().status, Some(429));
}

#[tokio::test]
async fn failed_checks_are_in_the_result() {
    let lm = answers(&["too long", "42"]);
    let qa = Predict::<Qa>::new();
    let result = qa.call(&ctx(&lm), ask("?")).await.unwrap();
    let failed: Vec<_> = result.failed_checks().collect();
    assert_eq!(failed.len(), 1);
    let check = failed[0];
    assert_eq!(
        (&*check.predictor, &*check.outcome.field, &*check.outcome.label),
        ("Qa", "answer", "short")
    );
    let result = result.map(|output| output.answer);
    assert_eq!(result.failed_checks().count(), 1);

    let result = qa.call(&ctx(&lm), ask("?")).await.unwrap();
    assert_eq!((result.checks().len(), result.failed_checks().count()), (1, 0));
}

/// Asks twice and joins the answers itself.
#[derive(Module, Default)]
struct Twice {
    first: Predict<Qa>,
    second: Predict<Qa>,
}

impl Module for Twice {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        let first = self.first.call(ctx, input.clone()).await?;
        let second = self.second.call(ctx, input).await?;
        let answer = format!("{}{}", first.answer, second.answer);
        Ok(Prediction::of(QaOutput { answer }))
    }
}

#[tokio::test]
async fn the_checks_of_every_predictor_below_are_in_the_result_once() {
    let lm = answers(&["too long", "42"]);
    let result = Twice::default().call(&ctx(&lm), ask("?")).await.unwrap();
    let passed: Vec<_> = result.checks().iter().map(|check| check.outcome.passed).collect();
    assert_eq!(passed, [false, true]);
}

#[tokio::test]
async fn checks_of_an_attempt_that_is_not_the_result_are_not_in_it() {
    let lm = answers(&["too long", "42"]);
    let short = |_: &QaInput, output: &QaOutput| 1.0 / output.answer.len() as f64;
    let best = BestOfN::new(Predict::<Qa>::new(), 2, 1.0, short);
    let result = best.call(&ctx(&lm), ask("?")).await.unwrap();
    assert_eq!((&*result.answer, result.usage().lm_calls), ("42", 2));
    let passed: Vec<_> = result.checks().iter().map(|check| check.outcome.passed).collect();
    assert_eq!(passed, [true]);
}

#[tokio::test]
async fn a_trace_can_be_read_again_and_again() {
    let result = Predict::<Qa>::new().call(&ctx(&answers(&["42"])), ask("?")).await.unwrap();
    let trace = result.trace().unwrap();
    assert_eq!((trace.spans().len(), trace.spans().len()), (2, 2));
    assert_eq!((trace.take().len(), trace.spans().len()), (2, 0));
}

#[tokio::test]
async fn a_closure_listens_to_the_calls_of_its_context() {
    let lm = answers(&["one", "two", "six"]);
    let ctx = ctx(&lm);
    let received: Arc<Mutex<Vec<String>>> = Arc::default();
    let ear = |name: &'static str| {
        let received = received.clone();
        move |event: RunEvent<'_>| {
            if let RunEvent::NodeDelta { field, text, .. } = event {
                received.lock().unwrap().push(format!("{name} {field} {text}"));
            }
        }
    };
    let outer = ctx.listen(ear("outer"));
    let inner = outer.listen(ear("inner"));
    let qa = Predict::<Qa>::new();
    qa.call(&inner, ask("?")).await.unwrap();
    qa.call(&outer, ask("?")).await.unwrap();
    qa.call(&ctx, ask("?")).await.unwrap();
    let received = received.lock().unwrap();
    let text_of = |name: &str| {
        let own = received.iter().filter_map(|line| line.strip_prefix(name));
        own.map(|line| line.trim_start_matches(" answer ")).collect::<String>()
    };
    assert_eq!((text_of("inner"), text_of("outer")), ("one".to_owned(), "onetwo".to_owned()));
}

#[test]
fn instruction_and_demos_change_without_the_rest() {
    let demo = |answer: &str| TypedDemo::<Qa> {
        input: ask("1 + 1?"),
        output: QaOutput { answer: answer.into() },
    };
    let mut qa = Predict::<Qa>::new();
    let lm = LmOverrides { model: Some("small".into()), ..LmOverrides::default() };
    qa.load_state(PredictState { lm: lm.clone(), ..PredictState::default() }).unwrap();
    qa.add_demo(&demo("2")).unwrap();
    qa.set_instruction("Be brief.");
    qa.add_demo(&demo("two")).unwrap();
    let state = qa.dump_state();
    assert_eq!((state.instruction.as_deref(), state.demos.len()), (Some("Be brief."), 2));
    assert_eq!(state.lm, lm);
    let rendered = qa.render(&fields(r#"{"question": "?"}"#));
    assert!(rendered[0].content.contains("Be brief."), "{rendered:?}");
    assert_eq!(rendered.len(), 6);
    qa.reset_instruction();
    assert_eq!((qa.instruction(), qa.demos().unwrap().len()), ("Answer.", 2));

    let handle: &mut dyn DynPredictor =
        dsrs::module::named_predictors_mut(&mut qa).unwrap().remove(0).1;
    handle.set_instruction(Some("Think.".into()));
    let wrong = dsrs::predict::Demo {
        input: fields(r#"{"question": 1}"#),
        output: fields(r#"{"answer": "x"}"#),
    };
    let problems = handle.add_demo(wrong).unwrap_err().to_string();
    assert!(problems.starts_with("/demos/2/input/question: "), "{problems}");
    assert_eq!((qa.instruction(), qa.demos().unwrap().len()), ("Think.", 2));
}

/// A program with a client that is configured at run time.
#[derive(Module)]
struct Rag {
    client: Arc<String>,
    answer: Predict<Qa>,
}

impl Module for Rag {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        if input.question.is_empty() {
            return Err("the question is empty".into());
        }
        let question = format!("{} at {}", input.question, self.client);
        self.answer.call(ctx, QaInput { question }).await
    }
}

struct Env;

impl BuildEnv for Env {
    fn knows_model(&self, _: &str) -> bool {
        true
    }
}

fn run_on(lm: Arc<dyn Lm>) -> Arc<RunScope> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
    Arc::new(RunScope::new(Models::only(lm).into(), deadline))
}

#[tokio::test]
async fn a_configured_module_is_registered_in_one_call() {
    let client = Arc::new("search.example".to_owned());
    let new = move || Rag { client: client.clone(), answer: Predict::new() };
    registry::register("configured_rag", "Answers.", new.clone()).unwrap();
    let graph = json(r#"{"name": "g", "nodes": {"rag": {"strategy": "configured_rag"}}}"#);
    let program = Program::from_document(&graph, &Env).unwrap_or_else(|found| panic!("{found}"));
    let lm = answers(&["42"]);
    let outcome = program.execute(&run_on(lm.clone()), fields(r#"{"question": "Where"}"#)).await;
    assert_eq!(Payload::map(outcome.outputs.unwrap()).to_json(), r#"{"answer":"42"}"#);
    assert!(lm.requests()[0].chat.turns[0].content.contains("Where at search.example"));

    let outcome = program.execute(&run_on(lm), fields(r#"{"question": ""}"#)).await;
    let error = outcome.outputs.unwrap_err().error;
    assert_eq!(
        (error.kind.code(), error.message.as_str()),
        ("module_failed", "the question is empty")
    );

    let taken = registry::register("configured_rag", "Again.", new.clone()).unwrap_err();
    let text =
        "/name: there is a strategy `configured_rag` already; choose another name (duplicate_name)";
    assert_eq!(taken.to_string(), text);
    assert!(registry::register("predict", "Not this one.", new.clone()).is_err());
    let unfit = registry::register("two words", "No name.", new).unwrap_err().to_string();
    assert!(unfit.ends_with("(invalid_name)"), "{unfit}");
    assert_eq!(registry::get("configured_rag").unwrap().description(), "Answers.");
}

#[test]
fn a_module_that_cannot_be_hosted_is_not_registered() {
    type Hidden = Arc<Predict<Qa>>;

    #[derive(Module)]
    struct Lost {
        hidden: Hidden,
    }

    impl Module for Lost {
        type Input = QaInput;
        type Output = QaOutput;

        async fn forward(
            &self,
            ctx: &Ctx,
            input: QaInput,
        ) -> Result<Prediction<QaOutput>, PredictError> {
            self.hidden.call(ctx, input).await
        }
    }

    fn is_searchable<M: Facet<'static>>() {}
    is_searchable::<Lost>();
    let refused = registry::register("lost", "", || Lost { hidden: Arc::default() }).unwrap_err();
    assert!(refused.to_string().contains("`hidden`: `Arc<Predict>`"), "{refused}");
    assert!(registry::get("lost").is_none());
}
