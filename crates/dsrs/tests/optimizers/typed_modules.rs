//! Optimizers on hosted typed modules: predictors that reason take demos without reasoning, and a
//! candidate that does not fit the Rust types is never the result.

use std::sync::Arc;

use dsrs::facet::Facet;
use dsrs::lm::{Budget, ScriptedLm};
use dsrs::optimize::{CostWeight, Example, TrialId, Workbench};
use dsrs::predict::PredictError;
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, Signature};

use crate::support::{fields, questions, run, task};

#[derive(Signature)]
struct Ask {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[derive(Facet, Default)]
struct Thinker {
    think: ChainOfThought<Ask>,
}

impl Module for Thinker {
    type Input = AskInput;
    type Output = AskOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: AskInput,
    ) -> Result<Prediction<AskOutput>, PredictError> {
        Ok(self.think.call(ctx, input).await?.map(|found| found.inner))
    }
}

dsrs::register_module!(Thinker as "thinker", "Reasons, then answers.");

#[derive(Signature)]
struct Guess {
    #[input]
    question: String,
    #[output]
    answer: u8,
}

#[derive(Facet, Default)]
struct Guesser {
    guess: Predict<Guess>,
}

impl Module for Guesser {
    type Input = GuessInput;
    type Output = GuessOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: GuessInput,
    ) -> Result<Prediction<GuessOutput>, PredictError> {
        self.guess.call(ctx, input).await
    }
}

dsrs::register_module!(Guesser as "guesser", "Guesses a small number.");

const THINKER: &str = r#"{"name": "qa", "nodes": {"qa": {"strategy": "thinker"}}}"#;
const GUESSER: &str = r#"{"name": "qa", "nodes": {"qa": {"strategy": "guesser"}}}"#;

/// An LM that reasons, and knows every third answer, or all after it has seen demos.
fn thinks() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(|request| {
        let said: Vec<_> = request.chat.messages().collect();
        let asked = said.last().unwrap().content.split('q').nth(2).unwrap_or_default();
        let number: String = asked.chars().take_while(char::is_ascii_digit).collect();
        let knows = said.len() > 2 || number.parse::<u32>().is_ok_and(|number| number % 3 == 0);
        let answer = if knows { format!("a{number}") } else { "no idea".to_owned() };
        format!(
            "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]"
        )
    }))
}

#[tokio::test]
async fn optimizers_give_demos_without_reasoning_to_a_hosted_module() {
    for (optimizer, config) in [
        ("labeled_few_shot", r#"{"k": 3}"#),
        ("bootstrap_few_shot", r#"{"max_bootstrapped_demos": 2, "max_labeled_demos": 4}"#),
    ] {
        let task = task(THINKER, thinks(), Budget::default());
        let (report, bench) = run(optimizer, config, task, &questions(40..50)).await;
        let report = report.unwrap();
        assert_ne!(report.best, Workbench::BASE, "{optimizer}");
        let demos = &bench.candidate(report.best).state.0["qa.think.predict"].demos;
        let labeled = demos.iter().filter(|demo| !demo.output.contains_key("reasoning")).count();
        assert!(labeled > 0, "{optimizer}: {demos:?}");
        assert_eq!(report.trials[report.best.0].full.unwrap().mean, 1.0, "{optimizer}");
    }
}

/// Questions with answers that are no `u8`.
fn large() -> Vec<Example> {
    let example = |n: usize| {
        let inputs = fields(&format!(r#"{{"question": "q{n}?"}}"#));
        Example::of(inputs, fields(&format!(r#"{{"answer": {}}}"#, 300 + n)))
    };
    (0..8).map(example).collect()
}

#[tokio::test]
async fn the_one_candidate_of_an_optimizer_is_no_result_if_it_does_not_fit() {
    let lm = Arc::new(ScriptedLm::always("[[ ## answer ## ]]\n1\n\n[[ ## completed ## ]]"));
    let mut task = task(GUESSER, lm, Budget::default());
    (task.train, task.val) = (large(), large());
    let (report, bench) = run("labeled_few_shot", "{}", task, &[]).await;
    let report = report.unwrap();
    assert_eq!(report.best, Workbench::BASE);
    let unfit: Vec<bool> = report.trials.iter().map(|trial| trial.unfit).collect();
    assert_eq!(unfit, [false, true]);
    assert!(bench.best().is_none());
}

#[tokio::test]
async fn a_candidate_that_fails_for_free_does_not_win_by_its_cost() {
    let lm = Arc::new(ScriptedLm::always("[[ ## answer ## ]]\n1\n\n[[ ## completed ## ]]"));
    let mut task = task(GUESSER, lm, Budget::default());
    task.val = large();
    let bench = Workbench::new(task);
    let base = bench.full(Workbench::BASE).await.unwrap();
    bench.weigh_cost(CostWeight::of(0.5, &base));
    let wide = fields(r#"{"answer": 300}"#);
    let unfit = bench.candidate(Workbench::BASE).with("qa.guess", |state| {
        let input = fields(r#"{"question": "q1?"}"#);
        state.demos = vec![dsrs::predict::Demo { input, output: wide }];
    });
    let id = bench.enter(unfit, &[Workbench::BASE], "a demo beyond the Rust type");
    bench.full(id).await.unwrap();
    let objective = |id: TrialId| bench.trial(id).unwrap().full.unwrap().objective;
    assert!(objective(id) > objective(Workbench::BASE));
    assert_eq!(bench.best().map(|best| best.id), Some(Workbench::BASE));
    assert!(!bench.fits(id) && bench.fits(Workbench::BASE));
}
