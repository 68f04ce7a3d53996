//! `knn_few_shot`: pools of demos, and that the nearest help more than any.

use std::sync::Arc;

use dsrs::lm::{
    Budget, Embedder, EmbeddingModel, Embeddings, LmError, LmErrorKind, Model, Models,
    RequestTrace, ScriptedLm,
};
use dsrs::optimize::{EarlyStop, Task, TrialId, Workbench};
use dsrs::predict::{NearestDemos, PredictState};
use dsrs_synthetic::SyntheticEmbedder;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::labeled_few_shot::copies_demos;
use crate::support::{QA, keeps_the_rules, means, models, questions, run, synthetic, task};

#[tokio::test]
async fn near_demos_make_triage_better() {
    keeps_the_rules("knn_few_shot", r#"{"k": 4}"#, "triage", 1_000, 0.2).await;
}

#[tokio::test]
async fn both_nodes_of_a_chain_get_nearest_demos() {
    keeps_the_rules("knn_few_shot", r#"{"k": 4}"#, "orders", 2_000, 0.1).await;
}

#[tokio::test]
async fn as_many_near_demos_do_better_than_demos_by_chance() {
    for seed in 1..=3 {
        let mut after = Vec::new();
        for (optimizer, config) in [
            ("labeled_few_shot", r#"{"k": 4}"#),
            ("knn_few_shot", r#"{"k": 4, "bootstrap": false}"#),
        ] {
            let (task, held_out) = synthetic("triage", seed, Budget::default());
            let (report, _) = run(optimizer, config, task, &held_out).await;
            after.push(means(&report.unwrap()).1);
        }
        println!("seed {seed}: by chance {}, nearest {}", after[0], after[1]);
        assert!(after[1] >= after[0] + 0.05, "seed {seed}: {after:?}");
    }
}

/// The state of the only node after the optimizer.
async fn taught(config: &str, task: Task) -> (PredictState, Workbench) {
    let (report, bench) = run("knn_few_shot", config, task, &questions(40..45)).await;
    assert_eq!(report.unwrap().best, TrialId(1));
    let state = bench.candidate(TrialId(1)).state.0["qa"].clone();
    (state, bench)
}

#[tokio::test]
async fn the_pool_has_max_pool_examples_with_vectors() {
    let lm = copies_demos();
    let config = r#"{"k": 2, "max_pool": 12, "bootstrap": false}"#;
    let (state, bench) = taught(config, task(QA, lm.clone(), Budget::default())).await;
    let NearestDemos { model, k, vectors } = state.nearest.unwrap();
    assert_eq!((&*model, k, vectors.len(), vectors.dimensions()), ("vectors", 2, 12, 256));
    // In the order of the trainset, whatever was selected.
    let asked = state.demos.iter().map(|demo| demo.input["question"].to_json());
    let trainset = questions(0..20);
    let known: Vec<_> = trainset.iter().map(|known| known.inputs["question"].to_json()).collect();
    let places: Vec<_> =
        asked.map(|asked| known.iter().position(|known| *known == asked)).collect();
    assert!(places.len() == 12 && places.is_sorted() && places[0].is_some(), "{places:?}");
    assert_eq!(bench.trials()[1].origin.as_ref(), "the 2 nearest of up to 12 demos");
    // Every call has taken two demos.
    let after = lm.requests().into_iter().filter(|request| request.chat.messages().count() == 6);
    assert_eq!(after.count(), 20 + 5);
    // Paid are the answers before and after, the pool in one batch, and each question.
    let spent = bench.account().unwrap().spent().lm_calls;
    assert_eq!(spent, (5 + 20 + 5) + 1 + (20 + 5));
}

#[tokio::test]
async fn a_successful_rollout_is_a_demo_with_intermediate_outputs() {
    let document = QA.replace("predict", "chain_of_thought");
    // Right where it was shown others, and not for q3.
    let lm = Arc::new(ScriptedLm::by(|request| {
        let said: Vec<_> = request.chat.messages().collect();
        let asked = said.last().unwrap().content.split('q').nth(2).unwrap_or_default();
        let number: String = asked.chars().take_while(char::is_ascii_digit).collect();
        let is_right = said.len() == 6 && number != "3";
        let answer = if is_right { format!("a{number}") } else { "?".to_owned() };
        format!(
            "[[ ## reasoning ## ]]\nafter {number}\n\n[[ ## answer ## ]]\n{answer}\n\n\
             [[ ## completed ## ]]"
        )
    }));
    let task = Task { train: questions(0..6), ..task(&document, lm.clone(), Budget::default()) };
    let (report, bench) = run("knn_few_shot", r#"{"k": 2}"#, task, &[]).await;
    report.unwrap();
    let candidate = bench.candidate(TrialId(1));
    let demos = &candidate.state.0["qa.predict"].demos;
    let reasons = demos.iter().map(|demo| demo.output.get("reasoning").map(|said| said.to_json()));
    let said: Vec<_> = reasons.collect();
    let after = |number: usize| Some(format!("\"after {number}\""));
    assert_eq!(said, [after(0), after(1), after(2), None, after(4), after(5)]);
    // No example was shown itself.
    for request in
        lm.requests().iter().filter(|request| request.chat.messages().count() == 6).take(6)
    {
        let said: Vec<_> = request.chat.messages().map(|said| said.content.clone()).collect();
        let of = |text: &str| text.lines().find(|line| line.starts_with('q')).map(str::to_owned);
        assert!(of(&said[1]) != of(&said[5]) && of(&said[3]) != of(&said[5]), "{said:?}");
    }
}

/// Fails on request.
struct Down;

impl Embedder for Down {
    fn embed<'a>(
        &'a self,
        _: &'a [Arc<str>],
        _: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        let (kind, message) = (LmErrorKind::Refused, "no such route".into());
        async move { Err(LmError { kind, message, status: None, retry_after: None }) }.boxed()
    }
}

/// Why the optimizer cannot work over these models.
async fn stopped(config: &str, models: Models) -> String {
    let mut task = task(QA, copies_demos(), Budget::default());
    task.evaluator.models = Arc::new(models);
    match run("knn_few_shot", config, task, &[]).await.0 {
        Err(EarlyStop::Failed(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_missing_embedding_model_is_reported_with_a_way_out() {
    let lm = || Model::of(Models::DEFAULT, copies_demos());
    let vectors = |alias| EmbeddingModel::of(alias, Arc::new(SyntheticEmbedder));
    let several = Models::new([lm()], None).with_embedding([vectors("small"), vectors("large")]);
    let down =
        Models::new([lm()], None).with_embedding([EmbeddingModel::of("vectors", Arc::new(Down))]);
    assert_eq!(
        [
            stopped("{}", Models::only(copies_demos())).await,
            stopped("{}", several).await,
            stopped("{}", down).await,
            stopped(r#"{"model": "vector"}"#, models(copies_demos())).await,
            stopped(r#"{"model": "default"}"#, models(copies_demos())).await,
        ],
        [
            "knn_few_shot: no embedding model is configured; configure one (`embedding = true`)",
            "knn_few_shot: name one embedding model in `model`: `small`, `large`",
            "the embedding model `vectors` failed: no such route",
            "the model `vector` is not configured; configured embedding models: `vectors`",
            "the model `default` is not an embedding model; configured embedding models: `vectors`",
        ]
    );
}

#[tokio::test]
async fn demos_of_another_optimizer_are_all_shown() {
    let config = r#"{"bootstrap": false}"#;
    let (state, bench) = taught(config, task(QA, copies_demos(), Budget::default())).await;
    let candidate = bench.candidate(TrialId(1));
    let demos = |count: usize| state.demos[..count].to_vec();
    let fewer = candidate.with("qa", |state| state.demos = demos(2));
    assert_eq!((fewer.state.0["qa"].demos.len(), &fewer.state.0["qa"].nearest), (2, &None));
    let same = candidate.with("qa", |state| state.instruction = Some("Be brief.".into()));
    assert_eq!(same.state.0["qa"].nearest, state.nearest);
}
