//! `knn_few_shot`: each call is shown the demos whose inputs are nearest to its own. After DSPy's
//! `KNNFewShot`, which chooses among examples when the program runs and bootstraps on the spot; here
//! the pool is bootstrapped beforehand, and is served as state.

use std::collections::HashMap;
use std::sync::Arc;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use indexmap::{IndexMap, IndexSet};

use crate::adapter::ChatAdapter;
use crate::document::default_settings;
use crate::lm::Vectors;
use crate::optimize::{
    AskError, Candidate, CandidateSearch, EarlyStop, Example, OptimizerRegistration, Rollout,
    StateOptimizer, TrialId, Workbench, demo_of_call, labeled_demo, tunable,
};
use crate::predict::{Demo, NearestDemos};
use crate::signature::SignatureSchema;

/// Stores many demos and shows each call those whose inputs are nearest to its own, by an embedding model. For inputs
/// that differ much from each other; each call of a predictor then also needs a request to the embedding model.
#[derive(Clone, Debug, Facet)]
pub struct KnnFewShot {
    /// Demos that each call shows.
    #[facet(default = 3, dsrs::minimum(1), dsrs::maximum(64))]
    pub k: usize,
    /// The alias of an embedding model; by default the only one.
    pub model: Option<String>,
    /// The most examples of the trainset in the pool.
    #[facet(default = 200, dsrs::minimum(1), dsrs::maximum(2000))]
    pub max_pool: usize,
    /// Whether the program runs on the pool, so that calls of successful runs become demos.
    #[facet(default = true)]
    pub bootstrap: bool,
    /// The score from which a rollout counts as successful.
    #[facet(default = 1.0, dsrs::above(0), dsrs::maximum(1))]
    pub metric_threshold: f64,
}

inventory::submit!(OptimizerRegistration::of::<KnnFewShot>());

impl Default for KnnFewShot {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for KnnFewShot {
    const NAME: &'static str = "knn_few_shot";
}

/// A predictor, and the demo that it has of each example of the pool, if it has one.
struct PredictorPool {
    path: Arc<str>,
    schema: Arc<SignatureSchema>,
    demos: Vec<Option<Demo>>,
}

impl CandidateSearch for KnnFewShot {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.teach(bench).boxed()
    }
}

impl KnnFewShot {
    async fn teach(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let start = bench.candidate(bench.start());
        let mut space = Space::of(bench, self.embedding_model(bench)?);
        let examples = self.pool(bench);
        let known = tunable(&*bench.program(&start).await?).into_iter();
        let labeled = |schema: &SignatureSchema| {
            examples.iter().map(|example| labeled_demo(schema, example)).collect()
        };
        let mut parts: Vec<PredictorPool> = known
            .map(|(path, schema)| PredictorPool { demos: labeled(&schema), path, schema })
            .collect();
        if self.bootstrap {
            self.demonstrate(bench, &start, &examples, &mut parts, &mut space).await?;
        }
        let mut taught = (*start).clone();
        for part in &parts {
            let Some((demos, vectors)) = space.pool(part).await? else { continue };
            let (model, k) = (space.model.clone(), u32::try_from(self.k).unwrap_or(u32::MAX));
            taught = taught.with(&part.path, |state| {
                state.demos = demos;
                state.nearest = Some(NearestDemos { model, k, vectors });
            });
        }
        let origin = format!("the {} nearest of up to {} demos", self.k, examples.len());
        let id = bench.enter(taught, &[bench.start()], origin);
        bench.full(id).await?;
        Ok(id)
    }

    /// The alias of the embedding model.
    fn embedding_model(&self, bench: &Workbench) -> Result<Arc<str>, EarlyStop> {
        if let Some(alias) = &self.model {
            return Ok(alias.as_str().into());
        }
        let models = &bench.task().evaluator.models;
        let able: Vec<&Arc<str>> = models.embedding_models().map(|model| &model.alias).collect();
        let why = match able.as_slice() {
            [only] => return Ok((*only).clone()),
            [] => "no embedding model is configured; configure one (`embedding = true`)".to_owned(),
            several => {
                let names: Vec<_> = several.iter().map(|alias| format!("`{alias}`")).collect();
                format!("name one embedding model in `model`: {}", names.join(", "))
            }
        };
        Err(EarlyStop::Failed(format!("knn_few_shot: {why}").into()))
    }

    /// The examples of the pool, in the order of the trainset.
    fn pool<'b>(&self, bench: &'b Workbench) -> Vec<&'b Example> {
        let mut places: Vec<usize> = (0..bench.train().len()).collect();
        bench.rng("pool").shuffle(&mut places);
        places.truncate(self.max_pool);
        places.sort_unstable();
        places.into_iter().filter_map(|place| bench.train().get(place)).collect()
    }

    /// Runs the program on every example of the pool, with the nearest other examples as demos, and makes
    /// demos of the calls of successful runs.
    async fn demonstrate(
        &self,
        bench: &Workbench,
        student: &Candidate,
        examples: &[&Example],
        parts: &mut [PredictorPool],
        space: &mut Space<'_>,
    ) -> Result<(), EarlyStop> {
        bench.phase("running the program on the pool");
        let mut teachers = vec![student.clone(); examples.len()];
        for part in &*parts {
            let Some((demos, vectors)) = space.pool(part).await? else { continue };
            let places = (0..part.demos.len()).filter(|place| part.demos[*place].is_some());
            for ((own, place), row) in places.enumerate().zip(vectors.rows()) {
                let mut shown = vectors.nearest(row, self.k + 1);
                // Never the example itself.
                shown.retain(|(other, _)| *other != own);
                let shown = shown.iter().take(self.k).rev();
                let shown: Vec<Demo> = shown.map(|(other, _)| demos[*other].clone()).collect();
                if !shown.is_empty() {
                    teachers[place] = teachers[place].with(&part.path, |state| state.demos = shown);
                }
            }
        }
        let tries = teachers.iter().zip(examples).map(|(teacher, example)| async move {
            bench.evaluate(teacher, &[example], None).await
        });
        for (place, tried) in join_all(tries).await.into_iter().enumerate() {
            let good = tried?.rollouts.into_iter().find(|one| one.value() >= self.metric_threshold);
            good.into_iter().for_each(|rollout| take(&rollout, place, parts));
        }
        Ok(())
    }
}

/// Makes demos of a rollout: one of each predictor, of several calls of one the last, which is what
/// the others led to.
fn take(rollout: &Rollout, place: usize, parts: &mut [PredictorPool]) {
    let steps: IndexMap<&Arc<str>, _> =
        rollout.calls.iter().map(|step| (&step.predictor, step)).collect();
    for part in parts {
        let step = steps.get(&part.path);
        if let (Some(step), Some(demo)) = (step, part.demos.get_mut(place)) {
            *demo = Some(demo_of_call(step));
        }
    }
}

/// The known vectors of inputs.
struct Space<'b> {
    bench: &'b Workbench,
    model: Arc<str>,
    known: HashMap<Arc<str>, Arc<[f32]>>,
}

impl<'b> Space<'b> {
    fn of(bench: &'b Workbench, model: Arc<str>) -> Self {
        Self { bench, model, known: HashMap::new() }
    }

    /// The demos of a predictor with their vectors; none where it has no demo.
    async fn pool(
        &mut self,
        part: &PredictorPool,
    ) -> Result<Option<(Vec<Demo>, Vectors)>, EarlyStop> {
        let demos: Vec<Demo> = part.demos.iter().flatten().cloned().collect();
        let texts = demos.iter().map(|demo| ChatAdapter::inputs_text(&part.schema, &demo.input));
        let texts: Vec<Arc<str>> = texts.map(Arc::from).collect();
        if texts.is_empty() {
            return Ok(None);
        }
        self.learn(&texts).await?;
        let rows: Vec<_> = texts.iter().filter_map(|text| self.known.get(text).cloned()).collect();
        let vectors = Vectors::of(&rows).filter(|vectors| vectors.len() == demos.len());
        let vectors = vectors.ok_or_else(|| {
            EarlyStop::Failed(
                format!("the model `{}` returned vectors of several lengths", self.model).into(),
            )
        })?;
        Ok(Some((demos, vectors)))
    }

    async fn learn(&mut self, texts: &[Arc<str>]) -> Result<(), EarlyStop> {
        let new: IndexSet<&Arc<str>> =
            texts.iter().filter(|text| !self.known.contains_key(*text)).collect();
        let new: Vec<Arc<str>> = new.into_iter().cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        let made = self.bench.embed(&self.model, &new).await.map_err(|error| match error {
            AskError::Stop(stop) => stop,
            AskError::Failed(error) => EarlyStop::Failed(error.message.as_str().into()),
        })?;
        self.known.extend(new.into_iter().zip(made.vectors));
        Ok(())
    }
}
