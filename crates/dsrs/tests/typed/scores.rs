//! What a reward may return, and judges as rewards: async functions and structs that call LMs.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{Lm, Models, ScriptedLm};
use dsrs::{
    BestOfN, Ctx, Judge, Module, Predict, PredictError, Prediction, Refine, Score, Signature,
};

/// Answer.
#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// Grade the answer.
#[derive(Signature)]
struct Grade {
    #[input]
    answer: String,
    #[output]
    grade: f32,
    #[output]
    advice: String,
}

fn ctx(lm: &Arc<ScriptedLm>) -> Ctx {
    let lm: Arc<dyn Lm> = lm.clone();
    Ctx::within(Models::only(lm).into(), Duration::from_secs(600))
}

fn ask() -> QaInput {
    QaInput { question: "Where?".into() }
}

fn answers(texts: &[&str]) -> Arc<ScriptedLm> {
    let texts = texts.iter().map(|text| format!("[[ ## answer ## ]]\n{text}"));
    Arc::new(ScriptedLm::answering(texts.collect::<Vec<_>>()))
}

fn graded(grade: &str, advice: &str) -> String {
    format!("[[ ## grade ## ]]\n{grade}\n[[ ## advice ## ]]\n{advice}")
}

async fn best<R: Into<Score> + 'static>(
    reward: impl Fn(&QaInput, &QaOutput) -> R + Send + Sync + 'static,
) -> String {
    let lm = answers(&["It is Turku", "Turku"]);
    let best = BestOfN::new(Predict::<Qa>::new(), 2, 1.0, reward);
    best.call(&ctx(&lm), ask()).await.unwrap().into_output().answer
}

#[tokio::test]
async fn a_reward_is_a_number_a_bool_or_one_of_them_with_a_text() {
    let is_short = |output: &QaOutput| output.answer.len() < 6;
    assert_eq!(best(move |_, output| is_short(output)).await, "Turku");
    assert_eq!(best(move |_, output| 1.0_f32 / output.answer.len() as f32).await, "Turku");
    assert_eq!(best(move |_, output| (is_short(output), "be brief")).await, "Turku");
    assert_eq!(
        best(move |_, output| (output.answer.len() as f64, String::new())).await,
        "It is Turku"
    );
    let error = {
        let lm = answers(&["Turku"]);
        let best = BestOfN {
            fail_count: Some(0),
            ..BestOfN::new(Predict::<Qa>::new(), 1, 1.0, |_, _| f32::NAN)
        };
        best.call(&ctx(&lm), ask()).await.unwrap_err()
    };
    assert_eq!(error.message, "the reward of an attempt is not a number");
}

#[tokio::test]
async fn the_text_of_a_reward_reaches_the_lm_that_writes_advice() {
    let lm = Arc::new(ScriptedLm::answering([
        "[[ ## answer ## ]]\nIt is Turku",
        "[[ ## diagnosis ## ]]\nlong\n[[ ## advice ## ]]\n{\"module\": \"One word.\"}",
        "[[ ## answer ## ]]\nTurku",
    ]));
    let reward = |_: &QaInput, output: &QaOutput| (output.answer.len() < 6, "name the city alone");
    let refined = Refine::new(Predict::<Qa>::new(), 2, 1.0, reward).unwrap();
    assert_eq!(refined.call(&ctx(&lm), ask()).await.unwrap().answer, "Turku");
    let asked = &lm.requests()[1].chat.turns[0].content;
    assert!(asked.contains("0; the target is at least 1\nname the city alone"), "{asked}");
}

/// Grades with a predictor of its own.
struct Grader {
    grade: Predict<Grade>,
}

impl Judge<QaInput, QaOutput> for Grader {
    async fn judge(
        &self,
        ctx: &Ctx,
        _: &QaInput,
        output: &QaOutput,
    ) -> Result<Score, PredictError> {
        let asked = GradeInput { answer: output.answer.clone() };
        let found = self.grade.call(ctx, asked).await?;
        Ok((found.grade, found.advice.clone()).into())
    }
}

async fn grade(ctx: &Ctx, _: &QaInput, output: &QaOutput) -> Result<f32, PredictError> {
    let asked = GradeInput { answer: output.answer.clone() };
    Ok(Predict::<Grade>::new().call(ctx, asked).await?.grade)
}

#[tokio::test]
async fn a_judge_calls_an_lm_within_the_call_that_it_rewards() {
    let script = [
        "[[ ## answer ## ]]\nIt is Turku".to_owned(),
        graded("0.25", "too long"),
        "[[ ## answer ## ]]\nTurku".to_owned(),
        graded("1.0", "fine"),
    ];
    let lm = Arc::new(ScriptedLm::answering(script.clone()));
    let judged = BestOfN::judged(Predict::<Qa>::new(), 2, 1.0, grade);
    let result = judged.call(&ctx(&lm), ask()).await.unwrap();
    assert_eq!((&*result.answer, result.usage().lm_calls), ("Turku", 4));
    let rewards = result.trace().unwrap().spans();
    let rewards: Vec<_> = rewards.iter().filter_map(|span| span.reward).collect();
    assert_eq!(rewards, [0.25, 1.0]);

    let lm = Arc::new(ScriptedLm::answering(script));
    let grader = Grader { grade: Predict::new() };
    let judged = BestOfN::judged(Predict::<Qa>::new(), 2, 1.0, grader);
    assert_eq!(judged.call(&ctx(&lm), ask()).await.unwrap().answer, "Turku");
}

#[tokio::test]
async fn an_attempt_whose_judge_fails_has_failed() {
    let lm = Arc::new(ScriptedLm::answering([
        "[[ ## answer ## ]]\nTurku".to_owned(),
        "no grade".to_owned(),
        "no grade".to_owned(),
        "[[ ## answer ## ]]\nVaasa".to_owned(),
        graded("0.5", "so"),
    ]));
    let judged = BestOfN::judged(Predict::<Qa>::new(), 2, 1.0, grade);
    assert_eq!(judged.call(&ctx(&lm), ask()).await.unwrap().answer, "Vaasa");
}

/// Blocks where it should await.
struct Blocks(Predict<Qa>);

impl Module for Blocks {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: QaInput,
    ) -> Result<Prediction<QaOutput>, PredictError> {
        dsrs::block_on(self.0.call(ctx, input))
    }
}

#[test]
fn to_block_within_a_runtime_panics_with_the_way_out() {
    let ctx = ctx(&answers(&["Turku"]));
    let blocks = Blocks(Predict::new());
    let call = std::panic::AssertUnwindSafe(|| dsrs::block_on(blocks.call(&ctx, ask())));
    let panic = std::panic::catch_unwind(call).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    for part in ["`.await`", "dsrs::Judge", "spawn_blocking"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}
