//! Judges as metrics of typed modules: async functions and structs that call LMs.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{Budget, BudgetLimit, LmErrorKind, LmRequest, Models, ScriptedAnswer, ScriptedLm};
use dsrs::optimize::{
    EarlyStop, LabeledFewShot, Optimizer, TypedExample, compile_judged, evaluate, evaluate_judged,
};
use dsrs::{Ctx, Judge, Module, Predict, PredictError, Score, Signature};

/// Answer.
#[derive(Signature)]
struct Ask {
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// Grade the answer.
#[derive(Signature)]
struct Grade {
    #[input]
    given: String,
    #[output]
    grade: f32,
}

type Row = TypedExample<AskInput, AskOutput>;

fn rows(count: usize) -> Vec<Row> {
    let row = |number: usize| {
        let input = AskInput { question: format!("{number}") };
        TypedExample::new(input, AskOutput { answer: "yes".into() })
    };
    (0..count).map(row).collect()
}

/// Answers `yes` once there are demos, grades `yes` with 1 and fails to grade what `failure` is for.
fn lm(failure: Option<(LmErrorKind, &'static str)>) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(move |request| {
        let messages: Vec<_> = request.chat.messages().collect();
        let asked = &messages.last().unwrap().content;
        if !asked.contains("## given ##") {
            let answer = if messages.len() > 2 { "yes" } else { "no" };
            return format!("[[ ## answer ## ]]\n{answer}").into();
        }
        match failure {
            Some((kind, text)) => ScriptedAnswer::fail(kind, text),
            None => format!("[[ ## grade ## ]]\n{}", u8::from(asked.contains("yes"))).into(),
        }
    }))
}

fn ctx(lm: Arc<ScriptedLm>) -> Ctx {
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

async fn grade(ctx: &Ctx, _: &Row, output: &AskOutput) -> Result<(f32, String), PredictError> {
    let given = GradeInput { given: output.answer.clone() };
    let found = Predict::<Grade>::new().call(ctx, given).await?;
    Ok((found.grade, format!("graded {}", found.grade)))
}

/// The same with a predictor of its own.
struct Grader {
    grade: Predict<Grade>,
}

impl Judge<Row, AskOutput> for Grader {
    async fn judge(&self, ctx: &Ctx, _: &Row, output: &AskOutput) -> Result<Score, PredictError> {
        let given = GradeInput { given: output.answer.clone() };
        Ok(self.grade.call(ctx, given).await?.grade.into())
    }
}

#[tokio::test]
async fn an_optimization_is_measured_by_an_async_function_that_calls_an_lm() {
    let mut module = Predict::<Ask>::new();
    let optimizer = Optimizer::new(LabeledFewShot { k: 2 });
    let lm_of_both = lm(None);
    let ctx_of_both = ctx(lm_of_both.clone());
    let report = compile_judged(&ctx_of_both, &mut module, rows(48), grade, optimizer).await;
    let report = report.unwrap();
    assert!(report.changed, "{}", report.reason);
    let requests = lm_of_both.requests();
    let is_of_judge = |request: &&LmRequest| {
        request.chat.messages().any(|one| one.content.contains("## grade ##"))
    };
    let judged = requests.iter().filter(is_of_judge).count();
    assert!(
        judged > 0 && report.spent.lm_calls as usize == requests.len(),
        "{judged}: {:?}",
        report.spent
    );

    let mut module = Predict::<Ask>::new();
    let grader = Grader { grade: Predict::new() };
    let optimizer = Optimizer::new(LabeledFewShot { k: 2 });
    let report = compile_judged(&ctx(lm(None)), &mut module, rows(48), grader, optimizer).await;
    assert!(report.unwrap().changed);
}

#[tokio::test]
async fn the_requests_of_a_judge_are_paid_from_the_budget_of_the_optimization() {
    let mut module = Predict::<Ask>::new();
    let budget = Budget { lm_calls: Some(5), ..Budget::default() };
    let optimizer = Optimizer::new(LabeledFewShot { k: 2 }).budget(budget).concurrency(1);
    let report = compile_judged(&ctx(lm(None)), &mut module, rows(48), grade, optimizer).await;
    let report = report.unwrap();
    assert_eq!(report.stopped, Some(EarlyStop::BudgetSpent(BudgetLimit::LmCalls)));
    assert!(report.spent.lm_calls <= 5, "{:?}", report.spent);
}

#[tokio::test]
async fn an_evaluation_by_a_judge_has_scores_texts_and_its_usage() {
    let (ctx, module, devset) = (ctx(lm(None)), Predict::<Ask>::new(), rows(3));
    let found = evaluate_judged(&ctx, &module, &devset, grade).concurrency(2).await;
    assert_eq!((found.mean.mean, found.unmeasured), (0.0, 0));
    assert_eq!(found.examples[2].score.feedback.as_deref(), Some("graded 0"));
    assert_eq!((found.usage.lm_calls, found.judging.lm_calls), (3, 3));

    let prefix = String::from("n");
    let owned = &prefix;
    let borrowed = async |_: &Ctx, _: &Row, output: &AskOutput| {
        Ok::<_, PredictError>(output.answer.starts_with(owned.as_str()))
    };
    assert_eq!(evaluate_judged(&ctx, &module, &devset, borrowed).await.mean.mean, 1.0);
    let number = |_: &Row, output: &AskOutput| output.answer.len() as f32;
    assert_eq!(evaluate(&ctx, &module, &devset, number).await.mean.mean, 1.0, "clamped to 1");
}

#[tokio::test]
async fn a_judge_without_its_model_measures_nothing() {
    let failing = lm(Some((LmErrorKind::Provider, "the model is down")));
    let (ctx, module, devset) = (ctx(failing.clone()), Predict::<Ask>::new(), rows(2));
    let found = evaluate_judged(&ctx, &module, &devset, grade).await;
    assert_eq!((found.unmeasured, found.usage.lm_calls), (2, 2));
    let error = found.examples[0].unjudged.as_ref().unwrap();
    assert!(error.message.contains("the model is down"), "{error}");
    assert!(found.examples[0].output.is_ok());

    let mut module = Predict::<Ask>::new();
    let optimizer = Optimizer::new(LabeledFewShot { k: 2 });
    let ended = compile_judged(&ctx, &mut module, rows(24), grade, optimizer).await;
    assert!(ended.unwrap_err().to_string().contains("the model is down"));
}
