//! Optimizing a typed module in place: the engine of the optimizers, on clones of the module.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use facet::Facet;
use tokio::time::Instant;

use super::builder::{ModuleBuilder, module_state};
use super::example::engine_example;
use super::metric::{ExamplesById, ModuleScoreFn, engine_metric};
use super::{CompileError, CompileReport, Optimizer, TypedExample, TypedExamples};
use crate::graph::Program;
use crate::lm::{Budget, BudgetAccount, BudgetedReplies, NoStore, Usage};
use crate::module::{Judge, Module, ScoreFn};
use crate::optimize::{
    Candidate, EarlyStop, Evaluator, Example, ExampleSets, Metric, OptimizationReport, Score, Task,
    Workbench, optimize, paired_bootstrap,
};
use crate::predict::{Ctx, LmOverrides};
use crate::problem::{At, Problems};
use crate::signature::Data;

/// The time limit of a module on one example.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Optimizes a module, and changes it only if the gain is certain: if the interval of the gain on
/// held-out examples, which the optimizer never sees, excludes zero. The search, its budget, seed and
/// progress are those of `POST /v1/optimizations`. It works on clones of the module.
///
/// The metric is a closure over the example and the output; it returns a score from 0 to 1, `true` or
/// `false`, or one of these with a text that says what to do better, `(score, feedback)`, which
/// `Gepa` and `Simba` reflect on. [`compile_judged`] takes a metric that calls LMs itself.
///
/// `ctx` gives the models, and ends or cancels the whole optimization; a search that is ended so
/// reports what it found.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::optimize::{LabeledFewShot, Optimizer, TypedExample, compile};
/// use dsrs::{Ctx, Predict, Signature};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// # dsrs::block_on(async {
/// // Answers in digits once it has seen demos.
/// let lm = ScriptedLm::by(|request| {
///     let answer = if request.chat.messages().count() > 2 { "4" } else { "four" };
///     format!("[[ ## answer ## ]]\n{answer}")
/// });
/// let ctx = Ctx::within(Models::only(Arc::new(lm)).into(), Duration::from_secs(600));
///
/// let example = |number: usize| {
///     let input = QAInput { question: format!("4 + {number} - {number}?") };
///     TypedExample::new(input, QAOutput { answer: "4".into() })
/// };
/// let mut qa = Predict::<QA>::new();
/// let trainset: Vec<_> = (0..40).map(example).collect();
/// let exact = |example: &TypedExample<QAInput, QAOutput>, output: &QAOutput| {
///     output.answer == example.expected.answer
/// };
/// let optimizer = Optimizer::new(LabeledFewShot { k: 3 });
/// let report = compile(&ctx, &mut qa, trainset, exact, optimizer).await.unwrap();
/// assert!(report.changed, "{}", report.reason);
/// assert_eq!(qa.demos().unwrap().len(), 3);
/// # });
/// ```
///
/// # Errors
/// Every setting and every example that does not fit, before anything is paid for; and why the work is
/// impossible. The module is unchanged then.
pub async fn compile<M, E, R>(
    ctx: &Ctx,
    module: &mut M,
    trainset: impl Into<TypedExamples<M::Input, E>>,
    metric: impl Fn(&TypedExample<M::Input, E>, &M::Output) -> R + Send + Sync + 'static,
    optimizer: Optimizer,
) -> Result<CompileReport, CompileError>
where
    M: Module + Facet<'static> + Clone + 'static,
    E: Data,
    R: Into<Score>,
{
    compile_by(ctx, module, trainset.into(), ScoreFn::of(metric), optimizer).await
}

/// Like [`compile`], with a [`Judge`] as the metric: it may call LMs, with the models and within the budget
/// of the optimization. An example whose judge fails because of its model is unmeasured.
///
/// # Errors
/// As [`compile`].
pub async fn compile_judged<M, E>(
    ctx: &Ctx,
    module: &mut M,
    trainset: impl Into<TypedExamples<M::Input, E>>,
    judge: impl Judge<TypedExample<M::Input, E>, M::Output> + 'static,
    optimizer: Optimizer,
) -> Result<CompileReport, CompileError>
where
    M: Module + Facet<'static> + Clone + 'static,
    E: Data,
{
    compile_by(ctx, module, trainset.into(), ScoreFn::judged(judge), optimizer).await
}

async fn compile_by<M, E>(
    ctx: &Ctx,
    module: &mut M,
    trainset: TypedExamples<M::Input, E>,
    scoring: ModuleScoreFn<'static, M, E>,
    optimizer: Optimizer,
) -> Result<CompileReport, CompileError>
where
    M: Module + Facet<'static> + Clone + 'static,
    E: Data,
{
    let created = optimizer.create();
    let timeout = optimizer.timeout.unwrap_or(TIMEOUT);
    let builder = ModuleBuilder::new(module.clone(), timeout);
    let program = builder.base();
    let mut problems = Problems::new();
    let prepared = match &program {
        Ok(program) => prepare::<M, E>(program, trainset, optimizer.seed, &mut problems),
        Err(found) => {
            problems.append(found.clone());
            None
        }
    };
    problems.append(created.as_ref().err().cloned().unwrap_or_default());
    problems.or(())?;
    let (Ok(program), Ok(search), Some((sets, examples))) = (program, created, prepared) else {
        return Err(EarlyStop::Failed("there is nothing to optimize".into()).into());
    };
    let metric = engine_metric::<M, E>(examples, scoring);
    let seed = optimizer.seed;
    let (task, held_out) = task(ctx, &program, builder, sets, metric, timeout, optimizer);
    let bench = Workbench::new(task);
    let report = optimize(&bench, search.as_ref(), &held_out).await?;
    conclude(module, &bench, report, seed)
}

/// Examples of the engine by purpose, and their typed counterparts.
type Prepared<M, E> = (ExampleSets, ExamplesById<M, E>);

fn prepare<M: Module, E: Data>(
    program: &Program,
    given: TypedExamples<M::Input, E>,
    seed: u64,
    problems: &mut Problems,
) -> Option<Prepared<M, E>> {
    const SETS: [&str; 3] = ["trainset", "valset", "testset"];
    let schema = program.signature();
    let mut by_id: ExamplesById<M, E> = HashMap::new();
    let mut sets: [Option<Vec<Example>>; 3] = [None, None, None];
    for ((name, given), set) in SETS.into_iter().zip(given.sets).zip(&mut sets) {
        let Some(given) = given else { continue };
        let (root, mut examples) = (At::Root, Vec::with_capacity(given.len()));
        let at = root.key(name);
        for (index, typed) in given.into_iter().enumerate() {
            let example =
                engine_example::<M, E>(&typed, (program, &schema), &at.index(index), problems);
            if let Some(example) = example {
                by_id.insert(example.id.clone(), typed);
                examples.push(example);
            }
        }
        *set = Some(examples);
    }
    if !problems.is_empty() {
        return None;
    }
    let sets = ExampleSets::of(sets.each_ref().map(|set| set.as_deref()), seed, problems)?;
    Some((sets, by_id))
}

fn task<M>(
    ctx: &Ctx,
    program: &Program,
    builder: ModuleBuilder<M>,
    sets: ExampleSets,
    metric: Metric,
    timeout: Duration,
    optimizer: Optimizer,
) -> (Task, Vec<Example>)
where
    M: Module + Facet<'static> + Clone + 'static,
{
    let account = BudgetAccount::open(within(optimizer.budget, ctx), Usage::default(), 0.0);
    let proposer = LmOverrides { model: optimizer.prompt_model, ..LmOverrides::default() };
    let task = Task {
        base: Candidate::of(program),
        train: sets.train,
        val: sets.val,
        evaluator: Evaluator {
            models: ctx.run.models.clone(),
            metric: Arc::new(metric),
            budgeted: Some(Arc::new(BudgetedReplies::new(account, Arc::new(NoStore)))),
            timeout,
            cancelled: ctx.run.cancelled.child_token(),
            indexes: None,
            call_record: None,
            observer: None,
        },
        builder: Arc::new(builder),
        store: Arc::new(NoStore),
        offers: None,
        listener: optimizer.listener,
        concurrency: optimizer.concurrency,
        max_unmeasured: optimizer.max_unmeasured,
        seed: optimizer.seed,
        proposer,
    };
    (task, sets.held_out)
}

/// The budget, with no more time than the context has.
fn within(budget: Budget, ctx: &Ctx) -> Budget {
    let left = ctx.run.deadline.min(ctx.node.deadline).saturating_duration_since(Instant::now());
    let left = left.as_secs_f64();
    Budget { seconds: Some(budget.seconds.map_or(left, |seconds| seconds.min(left))), ..budget }
}

/// Loads the best candidate into the module if its gain is certain.
fn conclude<M: Module + Facet<'static>>(
    module: &mut M,
    bench: &Workbench,
    report: OptimizationReport,
    seed: u64,
) -> Result<CompileReport, CompileError> {
    let (before, after) = report.held_out_scores();
    let is_whole = report.is_complete();
    let is_other = report.best != Workbench::BASE;
    let compared = paired_bootstrap(&before, &after, seed);
    let comparison = (is_other && !before.is_empty()).then_some(compared);
    let verdict = match (&comparison, &report.stopped) {
        (_, Some(EarlyStop::Cancelled)) => Err("the optimization was cancelled".to_owned()),
        _ if !is_other => Err("no candidate is better than the module as it was".to_owned()),
        (Some(found), _) if is_whole => found.certainty(),
        _ => Err("the result was not measured on all held-out examples".to_owned()),
    };
    let best = module_state(&bench.candidate(report.best));
    if verdict.is_ok() {
        module.load_state(best.clone())?;
    }
    let changed = verdict.is_ok();
    let (reason, baseline) = (verdict.unwrap_or_else(|why| why), baseline(&report));
    let OptimizationReport { stopped, trials, spent, .. } = report;
    Ok(CompileReport { changed, reason, best, comparison, baseline, stopped, trials, spent })
}

fn baseline(report: &OptimizationReport) -> f64 {
    let measured = report.held_out.iter().filter_map(|pair| pair.before.as_ref());
    let measured = measured.filter(|rollout| rollout.is_measured());
    let scores: Vec<f64> = measured.map(|rollout| rollout.value()).collect();
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
}
