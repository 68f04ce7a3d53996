//! Typed programs: the result and usage of a call, and states as documents.

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::lm::{Lm, Models, ScriptedLm};
use dsrs::predict::{Demo, PredictState, read_state, state_to_payload};
use dsrs::problem::{At, Problems};
use dsrs::strategy::{DynModule, HostedModule};
use dsrs::value::Payload;
use dsrs::{
    BestOfN, ChainOfThought, Ctx, Module, Predict, Prediction, Signature, TypedDemo, WithReasoning,
};

use crate::story::fields;

fn ctx(lm: &Arc<ScriptedLm>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

/// Answer the question.
#[derive(Signature)]
struct Qa {
    /// what is asked
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Retrieve {
    #[input]
    question: String,
    #[output]
    passages: Vec<String>,
}

#[derive(Signature)]
struct Answer {
    #[input]
    question: String,
    #[input]
    passages: Vec<String>,
    #[output]
    answer: String,
}

#[derive(Facet, Default)]
struct Rag {
    retrieve: Predict<Retrieve>,
    answer: ChainOfThought<Answer>,
}

impl Module for Rag {
    type Input = RetrieveInput;
    type Output = WithReasoning<AnswerOutput>;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: RetrieveInput,
    ) -> Result<Prediction<Self::Output>, dsrs::predict::PredictError> {
        let found = self.retrieve.call(ctx, input.clone()).await?;
        let passages = found.passages.clone();
        self.answer.call(ctx, AnswerInput { question: input.question, passages }).await
    }
}

fn rag_lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering([
        "[[ ## passages ## ]]\n[\"Paris is in France.\"]",
        "[[ ## reasoning ## ]]\nit says so\n\n[[ ## answer ## ]]\nFrance",
    ]))
}

#[tokio::test]
async fn a_call_returns_the_output_with_the_usage_of_all_calls() {
    let lm = rag_lm();
    let ctx = ctx(&lm);
    let result = Rag::default()
        .call(&ctx, RetrieveInput { question: "Where is Paris?".into() })
        .await
        .unwrap();
    assert_eq!((&*result.reasoning, &*result.answer), ("it says so", "France"));
    assert_eq!(result.usage().lm_calls, 2);
    assert!(result.raw().unwrap().contains("## answer ##"));
    assert_eq!(result.spans().len(), 2);
    let spans = result.trace().unwrap().take();
    let names: Vec<_> =
        spans.iter().map(|span| (span.kind, span.predictor.as_deref().unwrap())).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[tokio::test]
async fn an_output_outside_of_the_rust_type_is_retried() {
    #[derive(Signature)]
    struct Age {
        #[output]
        age: u8,
    }
    let lm = Arc::new(ScriptedLm::answering(["[[ ## age ## ]]\n300", "[[ ## age ## ]]\n30"]));
    let result = Predict::<Age>::new().call(&ctx(&lm), AgeInput {}).await.unwrap();
    assert_eq!(result.age, 30);
    let message = lm.requests().remove(1).chat.turns.remove(2).content;
    assert!(message.contains("`age`: 300 is not a value of `u8`"), "{message}");
    let lm = Arc::new(ScriptedLm::always("[[ ## age ## ]]\n300"));
    let error = Predict::<Age>::new().call(&ctx(&lm), AgeInput {}).await.unwrap_err();
    assert_eq!(error.message, "the LM's answer does not fit: `age`: 300 is not a value of `u8`");
}

#[tokio::test]
async fn the_best_attempt_wins_and_a_good_one_ends_the_search() {
    let answers = ["a", "abc", "ab"].map(|text| format!("[[ ## answer ## ]]\n{text}"));
    let lm = Arc::new(ScriptedLm::answering(answers.clone()));
    let best =
        BestOfN::new(Predict::<Qa>::new(), 3, 9.0, |_, out: &QaOutput| out.answer.len() as f64);
    let result = best.call(&ctx(&lm), QaInput { question: "?".into() }).await.unwrap();
    assert_eq!((&*result.answer, result.usage().lm_calls), ("abc", 3));
    let varied: Vec<_> = lm
        .requests()
        .iter()
        .map(|request| (request.params.temperature, request.params.seed))
        .collect();
    assert_eq!(varied, [(None, None), (Some(1.0), Some(1)), (Some(1.0), Some(2))]);

    let lm = Arc::new(ScriptedLm::answering(answers));
    let enough = BestOfN { threshold: 3.0, ..best };
    let result = enough.call(&ctx(&lm), QaInput { question: "?".into() }).await.unwrap();
    assert_eq!((&*result.answer, lm.requests().len()), ("abc", 2));
}

#[test]
fn state_round_trips_and_is_rejected_as_a_whole() {
    let demo = TypedDemo {
        input: QaInput { question: "1 + 1?".into() },
        output: QaOutput { answer: "2".into() },
    };
    let predict = Predict::<Qa>::builder().instruction("Be brief.").demo(&demo).build().unwrap();
    let text = state_to_payload(&predict.dump_state()).to_json();
    let mut problems = Problems::new();
    let state = read_state(&Payload::from_json(&text).unwrap(), &At::Root, &mut problems).unwrap();
    let mut other = Predict::<Qa>::new();
    other.load_state(state).unwrap();
    assert_eq!(other.dump_state(), predict.dump_state());
    assert_eq!(other.demos().unwrap()[0].output.answer, "2");

    let wrong = Demo { input: fields(r#"{"question": 1}"#), output: fields(r#"{"answr": "x"}"#) };
    let state = PredictState {
        instruction: Some("no".into()),
        demos: vec![wrong],
        ..PredictState::default()
    };
    let problems = other.load_state(state).unwrap_err();
    let pointers: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert!(
        pointers.contains(&"/demos/0/input/question")
            && pointers.contains(&"/demos/0/output/answr"),
        "{pointers:?}"
    );
    assert_eq!(other.dump_state(), predict.dump_state());
}

#[tokio::test]
async fn a_typed_module_is_hosted_with_its_predictors() {
    let lm = rag_lm();
    let mut hosted = HostedModule::new(Rag::default(), "").unwrap();
    let paths: Vec<_> = hosted.predictors().into_iter().map(|(path, _)| path.to_owned()).collect();
    assert_eq!(paths, ["retrieve", "answer.predict"]);
    let state = PredictState { instruction: Some("Look it up.".into()), ..PredictState::default() };
    hosted.predictors_mut()[0].1.load_state(state, &At::Root).unwrap();
    let output =
        hosted.forward(&ctx(&lm), fields(r#"{"question": "Where is Paris?"}"#)).await.unwrap();
    assert_eq!(Payload::map(output).to_json(), r#"{"reasoning":"it says so","answer":"France"}"#);
    let system = lm.requests()[0].chat.prefix[0].content.clone();
    assert!(system.contains("Look it up."), "{system}");
}
