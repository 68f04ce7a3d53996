//! Typed modules optimized and evaluated in process, with typed examples and closures as metrics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::facet::Facet;
use dsrs::graph::Program;
use dsrs::lm::{
    Budget, BudgetAccount, BudgetedReplies, EmbeddingModel, Lm, LmErrorKind, Model, Models,
    NoStore, ScriptedAnswer, ScriptedLm, Usage,
};
use dsrs::optimize::{
    BootstrapFewShot, BootstrapRandomSearch, Candidate, CompileError, CompileReport, Copro,
    EarlyStop, Evaluator, Example, ExampleSets, Gepa, KnnFewShot, LabeledFewShot,
    LocalProgramBuilder, MAX_UNMEASURED, Metric, MiproEffort, MiproV2, NoopListener, Optimizer,
    ProgressEvent, Simba, StateOptimizer, Task, TypedExample, TypedExamples, Workbench, compile,
    create_optimizer, evaluate, optimize, optimizers,
};
use dsrs::predict::{LmOverrides, PredictError};
use dsrs::problem::{At, Problems};
use dsrs::strategy::StoredEnv;
use dsrs::value::Payload;
use dsrs::{ChainOfThought, Ctx, Module, Predict, Prediction, Signature};
use dsrs_synthetic::{SyntheticEmbedder, SyntheticLm, SyntheticTask};
use tokio_util::sync::CancellationToken;

/// Find what the question is about.
#[derive(Signature)]
struct Find {
    #[input]
    letter: String,
    #[input]
    question: String,
    #[output]
    facts: String,
}

/// Answer the question.
#[derive(Signature)]
struct Reply {
    #[input]
    facts: String,
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// A client that is no part of the program.
#[derive(Debug, Default)]
struct Client {
    calls: AtomicUsize,
}

/// The task `orders` of the synthetic LM, with a client in the module.
#[derive(Clone, Module)]
struct Orders {
    find: Predict<Find>,
    answer: Predict<Reply>,
    client: Arc<Client>,
}

impl Orders {
    fn new() -> Self {
        Self { find: Predict::new(), answer: Predict::new(), client: Arc::default() }
    }
}

impl Module for Orders {
    type Input = FindInput;
    type Output = ReplyOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: FindInput,
    ) -> Result<Prediction<ReplyOutput>, PredictError> {
        self.client.calls.fetch_add(1, Ordering::Relaxed);
        let found = self.find.call(ctx, input.clone()).await?;
        let facts = found.facts.clone();
        self.answer.call(ctx, ReplyInput { facts, question: input.question }).await
    }
}

type Order = TypedExample<FindInput, ReplyOutput>;

fn orders(count: usize) -> Vec<Order> {
    let rows = SyntheticTask::named("orders").unwrap().rows(1, count).into_iter();
    let text = |fields: &dsrs::value::Fields, name: &str| fields[name].as_str().unwrap().to_owned();
    let typed = rows.map(|row| {
        let letter = text(&row.inputs, "letter");
        let input = FindInput { letter, question: text(&row.inputs, "question") };
        TypedExample::new(input, ReplyOutput { answer: text(&row.expected, "answer") })
    });
    typed.collect()
}

fn exact(example: &Order, output: &ReplyOutput) -> bool {
    output.answer == example.expected.answer
}

fn ctx(lm: Arc<dyn Lm>) -> Ctx {
    let vectors = EmbeddingModel::of("vectors", Arc::new(SyntheticEmbedder));
    let models = Models::new([Model::of(Models::DEFAULT, lm)], Some(Models::DEFAULT.into()));
    Ctx::within(models.with_embedding([vectors]).into(), Duration::from_secs(600))
}

fn calls(most: u64) -> Budget {
    Budget { lm_calls: Some(most), ..Budget::default() }
}

async fn compiled(optimizer: Optimizer) -> (Orders, CompileReport) {
    let mut module = Orders::new();
    let examples = TypedExamples::new(orders(30)).valset(orders(70).split_off(30));
    let examples = examples.testset(orders(110).split_off(70));
    let ctx = ctx(Arc::new(SyntheticLm::seeded(1)));
    let report = compile(&ctx, &mut module, examples, exact, optimizer.seed(1)).await;
    (module, report.unwrap())
}

/// Optimizes a module; checks that the report is of it, and that it changed exactly if the gain is certain.
async fn improve<S: StateOptimizer + Default>() -> &'static str {
    let (module, report) = compiled(Optimizer::new(S::default()).budget(calls(1_500))).await;
    let summary = format!("{}: {}, {:?}", S::NAME, report.reason, report.spent);
    println!("{summary}");
    let tuned = |path: &str| report.best.0.get(path).is_some_and(|state| !state.is_default());
    assert!(tuned("find") || tuned("answer"), "{summary}: {:?}", report.best);
    let comparison = report.comparison.expect("the best candidate was measured");
    assert_eq!(report.changed, comparison.certainty().is_ok(), "{summary}");
    let loaded = module.state().unwrap();
    let is_best = loaded
        .0
        .iter()
        .all(|(path, state)| report.best.0.get(path).cloned().unwrap_or_default() == *state);
    assert_eq!(is_best, report.changed, "{summary}");
    assert!(comparison.mean_after > comparison.mean_before, "{summary}");
    assert!(module.client.calls.load(Ordering::Relaxed) > 80, "{summary}: the client is shared");
    S::NAME
}

#[tokio::test]
async fn every_optimizer_of_states_improves_a_typed_module_of_two_predictors() {
    let mut names = vec![
        LabeledFewShot::NAME,
        improve::<BootstrapFewShot>().await,
        improve::<BootstrapRandomSearch>().await,
        improve::<KnnFewShot>().await,
        improve::<Copro>().await,
        improve::<MiproV2>().await,
        improve::<Gepa>().await,
        improve::<Simba>().await,
    ];
    names.sort_unstable();
    let of_states = optimizers().filter(|factory| !factory.changes_graph());
    let of_states = of_states.map(|factory| factory.name());
    // Typed modules have no decisions.
    let of_states = of_states.filter(|name| *name != "threshold_calibration");
    assert_eq!(names, of_states.collect::<Vec<_>>());
}

#[tokio::test]
async fn calls_of_inner_predictors_become_their_demos() {
    let (module, report) = compiled(Optimizer::new(BootstrapFewShot {
        max_labeled_demos: 0,
        ..BootstrapFewShot::default()
    }))
    .await;
    assert!(report.changed, "{}", report.reason);
    let facts = module.find.demos().unwrap();
    assert!(!facts.is_empty() && facts.iter().all(|demo| !demo.output.facts.is_empty()));
}

/// The posted graph of one node, as the engine optimizes it over HTTP.
async fn posted(optimizer: &str, lm: Arc<dyn Lm>, seed: u64) -> (Vec<String>, Vec<String>) {
    let task = SyntheticTask::named("triage").unwrap();
    let document = task.document.replace("sort", "program");
    let document = Payload::from_json(&document).unwrap();
    let program = Arc::new(Program::from_document(&document, &StoredEnv).unwrap());
    let metric = Metric::read(&"exact".into(), &StoredEnv, &program, &At::Root).unwrap();
    let rows = task.rows(1, 120).into_iter();
    let examples: Vec<_> = rows.map(|row| Example::of(row.inputs, row.expected)).collect();
    let sets = ExampleSets::of([Some(&examples), None, None], seed, &mut Problems::new()).unwrap();
    let account = BudgetAccount::open(calls(1_500), Usage::default(), 0.0);
    let bench = Workbench::new(Task {
        base: Candidate::of(&program),
        train: sets.train,
        val: sets.val,
        evaluator: Evaluator {
            models: ctx(lm).run.models.clone(),
            metric: Arc::new(metric),
            budgeted: Some(Arc::new(BudgetedReplies::new(account, Arc::new(NoStore)))),
            timeout: Duration::from_secs(300),
            cancelled: CancellationToken::new(),
            indexes: None,
            call_record: None,
            observer: None,
        },
        builder: Arc::new(LocalProgramBuilder::new(Arc::new(StoredEnv), program)),
        store: Arc::new(NoStore),
        offers: None,
        listener: Arc::new(NoopListener),
        concurrency: 8,
        max_unmeasured: MAX_UNMEASURED,
        seed,
        proposer: LmOverrides::default(),
    });
    let (_, made) = create_optimizer(optimizer, None, &At::Root).unwrap();
    let report = optimize(&bench, made.as_ref(), &sets.held_out).await.unwrap();
    let trials = report.trials.iter();
    let states = trials.clone().map(|trial| trial.candidate.state.to_payload().to_json()).collect();
    (states, trials.map(|trial| format!("{:?}", trial.full)).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Facet)]
#[repr(u8)]
#[facet(rename_all = "snake_case")]
#[allow(dead_code)]
enum Queue {
    Billing,
    Refund,
    Delivery,
    Account,
    Technical,
}

/// Put the message into a queue.
#[derive(Signature)]
struct Triage {
    #[input]
    message: String,
    #[output]
    queue: Queue,
}

#[tokio::test]
async fn a_typed_module_goes_the_way_of_the_same_posted_graph() {
    let lm = || Arc::new(SyntheticLm::seeded(1));
    let rows = SyntheticTask::named("triage").unwrap().rows(1, 120);
    for (name, seed) in [("labeled_few_shot", 1), ("bootstrap_random_search", 2)] {
        let typed: Vec<_> = rows
            .iter()
            .map(|row| {
                let message = row.inputs["message"].as_str().unwrap().to_owned();
                let queue = match row.expected["queue"].as_str().unwrap() {
                    "billing" => Queue::Billing,
                    "refund" => Queue::Refund,
                    "delivery" => Queue::Delivery,
                    "account" => Queue::Account,
                    _ => Queue::Technical,
                };
                TypedExample::new(TriageInput { message }, TriageOutput { queue })
            })
            .collect();
        let right = |example: &TypedExample<_, TriageOutput>, output: &TriageOutput| {
            output.queue == example.expected.queue
        };
        let mut module = Predict::<Triage>::new();
        let ctx = ctx(lm());
        let budget = calls(1_500);
        let report = match name {
            "labeled_few_shot" => {
                let optimizer = Optimizer::new(LabeledFewShot::default()).seed(seed).budget(budget);
                compile(&ctx, &mut module, typed, right, optimizer).await
            }
            _ => {
                let optimizer =
                    Optimizer::new(BootstrapRandomSearch::default()).seed(seed).budget(budget);
                compile(&ctx, &mut module, typed, right, optimizer).await
            }
        };
        let report = report.unwrap();
        let states: Vec<String> = report
            .trials
            .iter()
            .map(|trial| trial.candidate.state.to_payload().to_json())
            .collect();
        let scores: Vec<String> =
            report.trials.iter().map(|trial| format!("{:?}", trial.full)).collect();
        assert_eq!((states, scores), posted(name, lm(), seed).await, "{name}");
    }
}

/// Right if the prompt has a demo, as far as `hit` says for the example.
fn helped_by_demos(hit: impl Fn(usize) -> bool + Send + Sync + 'static) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::by(move |request| {
        let messages: Vec<_> = request.chat.messages().collect();
        let asked = &messages.last().unwrap().content;
        let number: String = asked.chars().filter(char::is_ascii_digit).collect();
        let number: usize = number.parse().unwrap_or_default();
        let answer = if messages.len() > 2 && hit(number) { "yes" } else { "no" };
        format!("[[ ## answer ## ]]\n{answer}")
    }))
}

/// Answer.
#[derive(Signature)]
struct Ask {
    #[input]
    question: String,
    #[output]
    answer: String,
}

fn asked(count: usize) -> Vec<TypedExample<AskInput, AskOutput>> {
    let example = |number: usize| {
        let input = AskInput { question: format!("{number}") };
        TypedExample::new(input, AskOutput { answer: "yes".into() })
    };
    (0..count).map(example).collect()
}

fn agrees(example: &TypedExample<AskInput, AskOutput>, output: &AskOutput) -> bool {
    example.expected.answer == output.answer
}

#[tokio::test]
async fn the_module_changes_only_if_the_gain_is_certain() {
    for (hit, changes, reason) in [
        (1, true, "excludes zero"),
        (usize::MAX, false, "does not exclude zero"),
        (23, false, "does not exclude zero"),
    ] {
        let lm = helped_by_demos(move |number| number % hit == 0 && hit != usize::MAX);
        let mut module = Predict::<Ask>::new();
        let optimizer = Optimizer::new(LabeledFewShot { k: 2 });
        let report = compile(&ctx(lm), &mut module, asked(48), agrees, optimizer).await.unwrap();
        assert_eq!(report.changed, changes, "{hit}: {}", report.reason);
        assert!(report.reason.contains(reason), "{hit}: {}", report.reason);
        assert_eq!(!module.dump_state().is_default(), changes, "{hit}");
        // Who wants the best candidate all the same loads it.
        module.load_state(report.best).unwrap();
    }
}

#[tokio::test]
async fn few_held_out_examples_cannot_show_a_gain() {
    let mut module = Predict::<Ask>::new();
    let lm = helped_by_demos(|_| true);
    let optimizer = Optimizer::new(LabeledFewShot::default());
    let report = compile(&ctx(lm), &mut module, asked(8), agrees, optimizer).await.unwrap();
    assert!(!report.changed && module.dump_state().is_default());
    assert!(report.reason.contains("fewer than 6 examples"), "{}", report.reason);
    assert!(!report.best.0[""].demos.is_empty());
}

#[tokio::test]
async fn a_search_repeats_for_a_seed_and_reports_progress() {
    let phases = Arc::new(Mutex::new(Vec::new()));
    let mut boards = Vec::new();
    for seed in [3, 3, 4] {
        let events = phases.clone();
        let optimizer =
            Optimizer::new(BootstrapFewShot::default()).seed(seed).on_progress(move |progress| {
                if let ProgressEvent::Phase(phase) = progress {
                    events.lock().unwrap().push(phase.to_owned());
                }
            });
        let mut module = Predict::<Ask>::new();
        let lm = helped_by_demos(|_| true);
        let report = compile(&ctx(lm), &mut module, asked(40), agrees, optimizer).await.unwrap();
        boards.push(format!("{:?}", report.best));
    }
    assert_eq!(boards[0], boards[1]);
    assert_ne!(boards[0], boards[2]);
    let phases = phases.lock().unwrap();
    assert_eq!(phases[0], "measuring the original program");
    assert!(phases.iter().any(|phase| phase == "measuring the best candidate"), "{phases:?}");
}

#[tokio::test]
async fn a_spent_budget_and_a_cancelled_context_end_in_a_report() {
    let mut module = Predict::<Ask>::new();
    let lm = helped_by_demos(|_| true);
    let small = Optimizer::new(BootstrapRandomSearch::default()).budget(calls(15));
    let report = compile(&ctx(lm.clone()), &mut module, asked(40), agrees, small).await.unwrap();
    assert!(matches!(report.stopped, Some(EarlyStop::BudgetSpent(_))), "{:?}", report.stopped);
    assert!(report.spent.lm_calls <= 15 && !report.changed);

    let ctx = ctx(lm);
    ctx.run.cancelled.cancel();
    let optimizer = Optimizer::new(LabeledFewShot::default());
    let report = compile(&ctx, &mut module, asked(40), agrees, optimizer).await.unwrap();
    assert_eq!((report.stopped, report.changed), (Some(EarlyStop::Cancelled), false));
}

#[tokio::test]
async fn settings_and_examples_that_do_not_fit_are_refused_together_before_any_call() {
    #[derive(Clone, Facet)]
    struct Wrong {
        answer: u32,
    }
    let lm = helped_by_demos(|_| true);
    let wrong = |number: u32| {
        TypedExample::new(AskInput { question: format!("{number}") }, Wrong { answer: number })
    };
    let mut module = Predict::<Ask>::new();
    let optimizer = Optimizer::new(MiproV2 {
        auto: Some(MiproEffort::Light),
        num_candidates: Some(3),
        ..MiproV2::default()
    });
    let examples = [wrong(1), wrong(2), wrong(3), wrong(4)];
    let refused = compile(&ctx(lm.clone()), &mut module, examples, |_, _| 1.0, optimizer).await;
    let Err(CompileError::Invalid(problems)) = refused else { panic!("{refused:?}") };
    let pointers: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    assert!(pointers.contains(&"/trainset/0/expected/answer"), "{pointers:?}");
    assert!(pointers.contains(&"/trainset/3/expected/answer"), "{pointers:?}");
    assert!(pointers.iter().any(|pointer| pointer.starts_with("/config")), "{pointers:?}");
    let optimizer = Optimizer::new(LabeledFewShot::default());
    let refused = compile(&ctx(lm.clone()), &mut module, asked(3), agrees, optimizer).await;
    assert!(refused.unwrap_err().to_string().contains("too few"));
    assert!(lm.requests().is_empty());
}

/// What is expected of an answer with reasoning: a part of its outputs, and a fact for the metric.
#[derive(Clone, Debug, Facet)]
struct Part {
    answer: Option<String>,
    difficulty: u8,
}

#[tokio::test]
async fn an_example_may_expect_a_part_of_the_outputs_and_give_the_metric_more() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let said: String = request.chat.messages().map(|message| &*message.content).collect();
        let asks = said.contains("[[ ## improved_instruction ## ]]");
        match asks {
            true => {
                "[[ ## diagnosis ## ]]\nIt says no.\n\n[[ ## improved_instruction ## ]]\nSay yes."
                    .to_owned()
            }
            false => "[[ ## reasoning ## ]]\nwhy\n\n[[ ## answer ## ]]\nno".to_owned(),
        }
    }));
    let examples = (0..40).map(|number| {
        let answer = (number % 2 == 0).then(|| "yes".to_owned());
        let input = AskInput { question: format!("{number}") };
        TypedExample::new(input, Part { answer, difficulty: number })
    });
    let mut module = ChainOfThought::<Ask>::new();
    let optimizer =
        Optimizer::new(Gepa { max_iterations: 2, ..Gepa::default() }).budget(calls(200));
    let score = |example: &TypedExample<AskInput, Part>,
                 output: &dsrs::WithReasoning<AskOutput>| {
        assert!(example.expected.answer.is_none() || output.answer == "no");
        (0.5, format!("difficulty {} of 39", example.expected.difficulty))
    };
    let examples: Vec<_> = examples.collect();
    let report = compile(&ctx(lm.clone()), &mut module, examples, score, optimizer).await.unwrap();
    assert!((report.baseline - 0.5).abs() < f64::EPSILON);
    // The feedback of the closure reaches the LM that reflects.
    let reflects = lm
        .requests()
        .iter()
        .any(|request| request.chat.messages().any(|message| message.content.contains(" of 39")));
    assert!(reflects, "{:?}", report.trials.len());
}

#[tokio::test]
async fn an_evaluation_scores_every_example_in_order_and_failures_as_zero() {
    let lm = Arc::new(ScriptedLm::by(|request| {
        let asked = request.chat.messages().last().unwrap().content.to_string();
        match asked.contains("ques") && asked.contains('3') {
            true => ScriptedAnswer::fail(LmErrorKind::Refused, "refused"),
            false => "[[ ## answer ## ]]\nyes".into(),
        }
    }));
    let devset = asked(5);
    let module = Predict::<Ask>::new();
    let ctx = ctx(lm);
    let found = evaluate(&ctx, &module, &devset, |example, output: &AskOutput| {
        (output.answer == example.expected.answer, example.input.question.clone())
    });
    let found = found.concurrency(3).await;
    let scores: Vec<f64> = found.examples.iter().map(|example| example.score.value).collect();
    assert_eq!(scores, [1.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(found.examples[4].score.feedback.as_deref(), Some("4"));
    assert!(found.examples[3].output.is_err());
    assert!((found.mean.mean - 0.8).abs() < 1e-9 && found.usage.lm_calls >= 4);
}
