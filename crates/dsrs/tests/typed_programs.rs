//! Typed programs: what a call sends, gives back and costs, and that a typed predictor and the same
//! signature posted as data say the same to the byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod story;

use std::sync::Arc;
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::lm::{Lm, Message, Models, Scripted};
use dsrs::predict::{Demo as RawDemo, DynPredictor, PredictState, read_state, state_to_payload};
use dsrs::problem::{At, Problems};
use dsrs::signature::Augmented;
use dsrs::strategy::{BuildEnv, DynModule, HostedModule, registry};
use dsrs::value::Payload;
use dsrs::{
    Augmentation, BestOfN, ChainOfThought, Ctx, Demo, Module, Predict, Predicted, Reasoning,
    Signature, WithReasoning,
};
use story::{fields, signature};

fn ctx(lm: &Arc<Scripted>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    Ctx::within(Models::only(lm).into(), Duration::from_secs(60))
}

struct NoModels;

impl BuildEnv for NoModels {
    fn knows_model(&self, _: &str) -> bool {
        false
    }
}

/// The messages that a typed predictor and a posted node send for the same inputs and state.
fn both(
    typed: &mut dyn DynPredictor,
    posted: (&str, &str, &str),
    state: &str,
    input: &str,
) -> [Vec<Message>; 2] {
    let (strategy, types, spelled) = posted;
    let mut module =
        registry::create(&NoModels, strategy, &signature(types, spelled), None, &At::Root).unwrap();
    let untyped = module.predictors_mut().remove(0).1;
    [render(typed, state, input), render(untyped, state, input)]
}

fn render(predictor: &mut dyn DynPredictor, state: &str, input: &str) -> Vec<Message> {
    predictor.load_state(story::state(state), &At::Root).unwrap();
    predictor.render(&fields(input))
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

const QA: &str = r#"{"instructions": "Answer the question.",
    "inputs": [{"name": "question", "description": "what is asked"}], "outputs": [{"name": "answer"}]}"#;

#[derive(Clone, Debug, Facet)]
struct Person {
    /// in full
    name: String,
    #[facet(dsrs::alias = "years")]
    age: Option<u8>,
}

#[derive(Clone, Debug, Facet)]
#[repr(u8)]
#[allow(dead_code)]
enum Mood {
    Calm,
    /// shouting
    Angry,
}

/// Read the letter.
#[derive(Signature)]
struct Letter<I: Clone + std::fmt::Debug> {
    #[input(flatten)]
    base: I,
    #[input]
    #[format("yaml")]
    known: Vec<Person>,
    #[output]
    sender: Person,
    #[output]
    mood: Mood,
    #[output]
    #[assert("this|length < 4")]
    topics: Vec<String>,
    #[output]
    #[alias = "reply_by"]
    deadline: Option<String>,
}

const LETTER_TYPES: &str = r#"{"Person": {"class": {"name": {"type": "str", "description": "in full"},
                                         "age": {"type": "int?", "alias": "years"}}},
                               "Mood": {"enum": {"Calm": null, "Angry": "shouting"}}}"#;
const LETTER: &str = r#"{"instructions": "Read the letter.",
    "inputs": [{"name": "question", "description": "what is asked"},
               {"name": "known", "type": "list[Person]", "format": "yaml"}],
    "outputs": [{"name": "sender", "type": "Person"}, {"name": "mood", "type": "Mood"},
                {"name": "topics", "type": "list[str]", "constraints": [{"assert": "this|length < 4"}]},
                {"name": "deadline", "type": "str?", "alias": "reply_by"}]}"#;

#[derive(Augmentation)]
#[augment(output, append)]
struct Confidence {
    /// from 0 to 1
    confidence: f64,
}

#[test]
fn typed_and_posted_signatures_send_the_same_bytes() {
    let question = r#"{"question": "2 + 2?"}"#;
    let letter = r#"{"question": "Who?", "known": [{"name": "Ann", "age": 3}]}"#;
    let instructed = r#"{"instruction": "Be brief."}"#;
    let qa_demo = r#"{"demos": [{"input": {"question": "1 + 1?"}, "output": {"answer": "2"}}]}"#;
    let cot_demo = r#"{"demos": [{"input": {"question": "1 + 1?"},
                                  "output": {"reasoning": "one and one", "answer": "2"}}]}"#;
    let confident = QA.replace(r#"{"name": "answer"}"#, r#"{"name": "answer"}, {"name": "confidence", "type": "float", "description": "from 0 to 1"}"#);
    let mut qa = Predict::<Qa>::new();
    let mut cot = ChainOfThought::<Qa>::new();
    let mut two = Predict::<Augmented<Qa, (Reasoning, Confidence)>>::new();
    let mut flat = Predict::<Letter<QaInput>>::new();
    let mut deep = ChainOfThought::<Letter<QaInput>>::new();
    type Render<'r> = &'r mut dyn FnMut() -> [Vec<Message>; 2];
    let cases: [(Render<'_>, &str); 9] = [
        (&mut || both(cell(&mut qa), ("predict", "{}", QA), "{}", question), "predict"),
        (
            &mut || {
                both(cell(&mut Predict::<Qa>::new()), ("predict", "{}", QA), instructed, question)
            },
            "an instruction",
        ),
        (
            &mut || both(cell(&mut Predict::<Qa>::new()), ("predict", "{}", QA), qa_demo, question),
            "a demo",
        ),
        (
            &mut || both(cell(&mut cot.predict), ("chain_of_thought", "{}", QA), "{}", question),
            "reasoning",
        ),
        (
            &mut || {
                both(
                    cell(&mut ChainOfThought::<Qa>::new().predict),
                    ("chain_of_thought", "{}", QA),
                    cot_demo,
                    question,
                )
            },
            "reasoning and a demo",
        ),
        (
            &mut || both(cell(&mut two), ("chain_of_thought", "{}", &confident), "{}", question),
            "two augmentations",
        ),
        (
            &mut || both(cell(&mut flat), ("predict", LETTER_TYPES, LETTER), "{}", letter),
            "nested, flat, constrained",
        ),
        (
            &mut || {
                both(
                    cell(&mut deep.predict),
                    ("chain_of_thought", LETTER_TYPES, LETTER),
                    "{}",
                    letter,
                )
            },
            "nested with reasoning",
        ),
        (
            &mut || {
                both(
                    cell(&mut Predict::<Letter<QaInput>>::new()),
                    ("predict", LETTER_TYPES, LETTER),
                    instructed,
                    letter,
                )
            },
            "nested with an instruction",
        ),
    ];
    let mut told = String::new();
    for (render, name) in cases {
        let [typed, posted] = render();
        assert_eq!(typed, posted, "{name}");
        told.push_str(&format!("=== {name}\n"));
        for message in typed {
            told.push_str(&format!("--- {:?}\n{}\n", message.role, message.content));
        }
    }
    insta::assert_snapshot!(told);
}

/// The predictor behind a path, as an optimizer reaches it.
fn cell<M: Facet<'static>>(module: &mut M) -> &mut dyn DynPredictor {
    dsrs::module::named_predictors_mut(module).unwrap().remove(0).1
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
    ) -> Result<Predicted<Self::Output>, dsrs::predict::PredictError> {
        let found = self.retrieve.call(ctx, input.clone()).await?;
        let passages = found.passages.clone();
        self.answer.call(ctx, AnswerInput { question: input.question, passages }).await
    }
}

fn rag_lm() -> Arc<Scripted> {
    Arc::new(Scripted::answering([
        "[[ ## passages ## ]]\n[\"Paris is in France.\"]",
        "[[ ## reasoning ## ]]\nit says so\n\n[[ ## answer ## ]]\nFrance",
    ]))
}

#[tokio::test]
async fn a_call_gives_the_output_with_what_all_calls_on_the_way_used() {
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
async fn an_answer_that_rust_cannot_hold_is_told_to_the_lm_which_is_asked_again() {
    #[derive(Signature)]
    struct Age {
        #[output]
        age: u8,
    }
    let lm = Arc::new(Scripted::answering(["[[ ## age ## ]]\n300", "[[ ## age ## ]]\n30"]));
    let result = Predict::<Age>::new().call(&ctx(&lm), AgeInput {}).await.unwrap();
    assert_eq!(result.age, 30);
    let told = lm.requests().remove(1).chat.turns.remove(2).content;
    assert!(told.contains("`age`: 300 is no value of `u8`"), "{told}");
    let lm = Arc::new(Scripted::always("[[ ## age ## ]]\n300"));
    let error = Predict::<Age>::new().call(&ctx(&lm), AgeInput {}).await.unwrap_err();
    assert_eq!(error.message, "the LM's answer does not fit: `age`: 300 is no value of `u8`");
}

#[tokio::test]
async fn the_best_of_several_tries_is_taken_and_the_search_stops_when_it_is_good_enough() {
    let answers = ["a", "abc", "ab"].map(|text| format!("[[ ## answer ## ]]\n{text}"));
    let lm = Arc::new(Scripted::answering(answers.clone()));
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

    let lm = Arc::new(Scripted::answering(answers));
    let enough = BestOfN { threshold: 3.0, ..best };
    let result = enough.call(&ctx(&lm), QaInput { question: "?".into() }).await.unwrap();
    assert_eq!((&*result.answer, lm.requests().len()), ("abc", 2));
}

#[test]
fn state_goes_to_json_and_back_and_is_refused_whole() {
    let demo = Demo {
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

    let wrong =
        RawDemo { input: fields(r#"{"question": 1}"#), output: fields(r#"{"answr": "x"}"#) };
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
