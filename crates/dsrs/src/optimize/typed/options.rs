//! The optimizers of typed modules with the settings of each: methods with the types of the config that
//! the optimizer reads. A test compares them with the schemas of the optimizers.

use super::Optimizer;
use crate::value::Payload;

/// `labeled_few_shot`: examples as demos.
#[derive(Clone, Copy, Debug)]
pub enum LabeledFewShot {}

/// `bootstrap_few_shot`: the calls of successful runs as demos.
#[derive(Clone, Copy, Debug)]
pub enum BootstrapFewShot {}

/// `bootstrap_random_search`: the best of many sets of such demos.
#[derive(Clone, Copy, Debug)]
pub enum BootstrapRandomSearch {}

/// `knn_few_shot`: the most similar demos for each call.
#[derive(Clone, Copy, Debug)]
pub enum KnnFewShot {}

/// `copro`: instructions, round by round.
#[derive(Clone, Copy, Debug)]
pub enum Copro {}

/// `mipro_v2`: instructions and demos together.
#[derive(Clone, Copy, Debug)]
pub enum MiproV2 {}

/// `gepa`: instructions from reflections on failures.
#[derive(Clone, Copy, Debug)]
pub enum Gepa {}

/// `simba`: rules and demos from runs that went well and badly.
#[derive(Clone, Copy, Debug)]
pub enum Simba {}

/// The optimizers that bootstrap demos.
pub trait Bootstraps {}

impl Bootstraps for BootstrapFewShot {}
impl Bootstraps for BootstrapRandomSearch {}
impl Bootstraps for MiproV2 {}

impl Optimizer<()> {
    /// Gives every predictor random examples of the trainset as demos.
    pub fn labeled_few_shot() -> Optimizer<LabeledFewShot> {
        Optimizer::named("labeled_few_shot")
    }

    /// Runs the module on the trainset; the calls of its predictors in successful runs become demos.
    pub fn bootstrap_few_shot() -> Optimizer<BootstrapFewShot> {
        Optimizer::named("bootstrap_few_shot")
    }

    /// Tries many sets of bootstrapped demos.
    pub fn bootstrap_random_search() -> Optimizer<BootstrapRandomSearch> {
        Optimizer::named("bootstrap_random_search")
    }

    /// Shows each call the demos whose inputs are the most similar. Needs an embedding model.
    pub fn knn_few_shot() -> Optimizer<KnnFewShot> {
        Optimizer::named("knn_few_shot")
    }

    /// Has an LM write instructions, round by round, from the best ones so far.
    pub fn copro() -> Optimizer<Copro> {
        Optimizer::named("copro")
    }

    /// Searches for the best combination of instructions and demos of all predictors.
    pub fn mipro_v2() -> Optimizer<MiproV2> {
        Optimizer::named("mipro_v2")
    }

    /// Evolves instructions by reflection on runs and on the feedback of the metric.
    pub fn gepa() -> Optimizer<Gepa> {
        Optimizer::named("gepa")
    }

    /// Learns rules and demos from examples on which runs differ most.
    pub fn simba() -> Optimizer<Simba> {
        Optimizer::named("simba")
    }
}

impl Optimizer<LabeledFewShot> {
    /// The most demos of each predictor; 16 by default.
    pub fn k(self, demos: usize) -> Self {
        self.with_count("k", demos)
    }
}

impl<K: Bootstraps> Optimizer<K> {
    /// The most demos of each predictor from successful runs; 4 by default.
    pub fn max_bootstrapped_demos(self, demos: usize) -> Self {
        self.with_count("max_bootstrapped_demos", demos)
    }

    /// The most demos of each predictor in total; the rest are labeled examples. 16 by default, 4 of
    /// `mipro_v2`.
    pub fn max_labeled_demos(self, demos: usize) -> Self {
        self.with_count("max_labeled_demos", demos)
    }

    /// Tries of each example; 1 by default. From the second on at temperature 1.
    pub fn max_rounds(self, rounds: usize) -> Self {
        self.with_count("max_rounds", rounds)
    }

    /// The score from which a run counts as successful; 1 by default.
    pub fn metric_threshold(self, score: f64) -> Self {
        self.with("metric_threshold", Payload::Float(score))
    }

    /// The model alias of the teacher; by default each predictor's own.
    pub fn teacher_model(self, alias: &str) -> Self {
        self.with("teacher_model", alias)
    }
}

impl Optimizer<BootstrapRandomSearch> {
    /// Random sets of demos besides the three that are always tried; 16 by default.
    pub fn candidates(self, count: usize) -> Self {
        self.with_count("num_candidate_programs", count)
    }

    /// A candidate that reaches this score ends the search.
    pub fn stop_at_score(self, score: f64) -> Self {
        self.with("stop_at_score", Payload::Float(score))
    }
}

impl Optimizer<KnnFewShot> {
    /// Demos that each call shows; 3 by default.
    pub fn k(self, demos: usize) -> Self {
        self.with_count("k", demos)
    }

    /// The alias of the embedding model; by default the only one.
    pub fn model(self, alias: &str) -> Self {
        self.with("model", alias)
    }

    /// The most examples in the pool; 200 by default.
    pub fn max_pool(self, examples: usize) -> Self {
        self.with_count("max_pool", examples)
    }

    /// Whether the module runs on the pool, so that calls of successful runs become demos; it does by
    /// default.
    pub fn bootstrap(self, on: bool) -> Self {
        self.with("bootstrap", Payload::Bool(on))
    }

    /// The score from which a run counts as successful; 1 by default.
    pub fn metric_threshold(self, score: f64) -> Self {
        self.with("metric_threshold", Payload::Float(score))
    }
}

impl Optimizer<Copro> {
    /// Instructions per predictor and round; 10 by default.
    pub fn breadth(self, instructions: usize) -> Self {
        self.with_count("breadth", instructions)
    }

    /// Rounds; 3 by default.
    pub fn depth(self, rounds: usize) -> Self {
        self.with_count("depth", rounds)
    }

    /// The temperature of proposals; 1.4 by default.
    pub fn init_temperature(self, temperature: f64) -> Self {
        self.with("init_temperature", Payload::Float(temperature))
    }
}

impl Optimizer<MiproV2> {
    /// The effort: `light`, `medium` or `heavy`. Not with [`Self::candidates`] or [`Self::trials`].
    pub fn auto(self, effort: &str) -> Self {
        self.with("auto", effort)
    }

    /// Instructions, and sets of demos, of each predictor, including its current ones.
    pub fn candidates(self, count: usize) -> Self {
        self.with_count("num_candidates", count)
    }

    /// Combinations to try.
    pub fn trials(self, count: usize) -> Self {
        self.with_count("num_trials", count)
    }

    /// Whether combinations are tried on a part of the valset first; by default if it has more than 50
    /// examples.
    pub fn minibatch(self, on: bool) -> Self {
        self.with("minibatch", Payload::Bool(on))
    }

    /// Examples of a minibatch; 35 by default.
    pub fn minibatch_size(self, examples: usize) -> Self {
        self.with_count("minibatch_size", examples)
    }

    /// Minibatches between evaluations on the whole valset; 5 by default.
    pub fn minibatch_full_eval_steps(self, steps: usize) -> Self {
        self.with_count("minibatch_full_eval_steps", steps)
    }

    /// The temperature of the LM that writes instructions; 1 by default.
    pub fn init_temperature(self, temperature: f64) -> Self {
        self.with("init_temperature", Payload::Float(temperature))
    }

    /// Examples of the trainset per request for the summary; 10 by default.
    pub fn view_data_batch_size(self, examples: usize) -> Self {
        self.with_count("view_data_batch_size", examples)
    }

    /// Whether instructions are written from a summary of the trainset; they are by default.
    pub fn data_aware_proposer(self, on: bool) -> Self {
        self.with("data_aware_proposer", Payload::Bool(on))
    }

    /// Whether instructions are written from a description of the program; they are by default.
    pub fn program_aware_proposer(self, on: bool) -> Self {
        self.with("program_aware_proposer", Payload::Bool(on))
    }

    /// Whether instructions are written from demos; they are by default.
    pub fn fewshot_aware_proposer(self, on: bool) -> Self {
        self.with("fewshot_aware_proposer", Payload::Bool(on))
    }

    /// Whether each instruction is written with a different tip; it is by default.
    pub fn tip_aware_proposer(self, on: bool) -> Self {
        self.with("tip_aware_proposer", Payload::Bool(on))
    }
}

impl Optimizer<Gepa> {
    /// The most mutations and merges; 50 by default.
    pub fn max_iterations(self, count: usize) -> Self {
        self.with_count("max_iterations", count)
    }

    /// Examples of the trainset in one reflection; 3 by default.
    pub fn reflection_minibatch_size(self, examples: usize) -> Self {
        self.with_count("reflection_minibatch_size", examples)
    }

    /// Which candidate is mutated: `pareto` (by default) or `current_best`.
    pub fn candidate_selection_strategy(self, strategy: &str) -> Self {
        self.with("candidate_selection_strategy", strategy)
    }

    /// Which predictors a mutation changes: `round_robin` (by default) or `all`.
    pub fn component_selector(self, selector: &str) -> Self {
        self.with("component_selector", selector)
    }

    /// Whether candidates are merged; they are by default.
    pub fn use_merge(self, on: bool) -> Self {
        self.with("use_merge", Payload::Bool(on))
    }

    /// The most merges; 5 by default.
    pub fn max_merge_invocations(self, count: usize) -> Self {
        self.with_count("max_merge_invocations", count)
    }

    /// Whether examples that all have the perfect score are passed over; they are by default.
    pub fn skip_perfect_score(self, on: bool) -> Self {
        self.with("skip_perfect_score", Payload::Bool(on))
    }

    /// The perfect score; 1 by default.
    pub fn perfect_score(self, score: f64) -> Self {
        self.with("perfect_score", Payload::Float(score))
    }

    /// The temperature of reflections; 1 by default.
    pub fn reflection_temperature(self, temperature: f64) -> Self {
        self.with("reflection_temperature", Payload::Float(temperature))
    }
}

impl Optimizer<Simba> {
    /// Examples of a minibatch; 32 by default.
    pub fn bsize(self, examples: usize) -> Self {
        self.with_count("bsize", examples)
    }

    /// Tries of each example, and new candidates of each step; 6 by default.
    pub fn candidates(self, count: usize) -> Self {
        self.with_count("num_candidates", count)
    }

    /// Steps; 8 by default.
    pub fn max_steps(self, steps: usize) -> Self {
        self.with_count("max_steps", steps)
    }

    /// Demos of a predictor before some are dropped; 4 by default, 0 for rules only.
    pub fn max_demos(self, demos: usize) -> Self {
        self.with_count("max_demos", demos)
    }

    /// The most characters of an input in a demo; 100,000 by default.
    pub fn demo_input_field_maxlen(self, characters: usize) -> Self {
        self.with_count("demo_input_field_maxlen", characters)
    }

    /// How often lower-scored candidates are drawn for tries; 0.2 by default.
    pub fn temperature_for_sampling(self, temperature: f64) -> Self {
        self.with("temperature_for_sampling", Payload::Float(temperature))
    }

    /// How often lower-scored candidates are drawn to be changed; 0.2 by default.
    pub fn temperature_for_candidates(self, temperature: f64) -> Self {
        self.with("temperature_for_candidates", Payload::Float(temperature))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::optimize::{create_optimizer, optimizers};
    use crate::problem::At;
    use crate::value::Map;

    fn bootstrapping<K: Bootstraps>(optimizer: Optimizer<K>) -> Optimizer<K> {
        let some = optimizer.max_bootstrapped_demos(2).max_labeled_demos(3).max_rounds(1);
        some.metric_threshold(0.5).teacher_model("default")
    }

    /// Every optimizer with each of its settings set once.
    fn complete() -> Vec<(&'static str, Map)> {
        fn of<K>(optimizer: Optimizer<K>) -> (&'static str, Map) {
            (optimizer.name, optimizer.config)
        }
        let mipro = bootstrapping(Optimizer::mipro_v2()).candidates(2).trials(3).minibatch(true);
        let mipro = mipro.minibatch_size(4).minibatch_full_eval_steps(2).init_temperature(0.5);
        let mipro = mipro.view_data_batch_size(2).data_aware_proposer(false);
        let mipro = mipro.program_aware_proposer(false).fewshot_aware_proposer(false);
        let gepa = Optimizer::gepa().max_iterations(3).reflection_minibatch_size(2);
        let gepa = gepa.candidate_selection_strategy("pareto").component_selector("all");
        let gepa = gepa.use_merge(true).max_merge_invocations(1).skip_perfect_score(true);
        let simba = Optimizer::simba().bsize(4).candidates(2).max_steps(1).max_demos(1);
        let simba = simba.demo_input_field_maxlen(10).temperature_for_sampling(0.1);
        let random = bootstrapping(Optimizer::bootstrap_random_search());
        let knn = Optimizer::knn_few_shot().k(2).model("default").max_pool(3).bootstrap(false);
        vec![
            of(Optimizer::labeled_few_shot().k(2)),
            of(bootstrapping(Optimizer::bootstrap_few_shot())),
            of(random.candidates(2).stop_at_score(0.9)),
            of(knn.metric_threshold(0.4)),
            of(Optimizer::copro().breadth(2).depth(1).init_temperature(0.4)),
            of(mipro.tip_aware_proposer(false)),
            of(gepa.perfect_score(0.9).reflection_temperature(0.3)),
            of(simba.temperature_for_candidates(0.1)),
        ]
    }

    #[test]
    fn every_optimizer_of_states_has_a_method_for_every_setting() {
        let complete = complete();
        let names: BTreeSet<&str> = complete.iter().map(|(name, _)| *name).collect();
        let registered = optimizers().filter(|factory| !factory.changes_graph());
        assert_eq!(names, registered.map(|factory| factory.name()).collect());
        for (name, config) in complete {
            let factory = optimizers().find(|factory| factory.name() == name).unwrap();
            let schema = factory.config_schema();
            let properties = schema.as_map().unwrap().get("properties").unwrap();
            // `auto` excludes the counts.
            let known = properties.as_map().unwrap().keys().filter(|key| &***key != "auto");
            let known: BTreeSet<&str> = known.map(AsRef::as_ref).collect();
            assert_eq!(config.keys().map(AsRef::as_ref).collect::<BTreeSet<_>>(), known, "{name}");
            let made = create_optimizer(name, Some(&Payload::map(config)), &At::Root);
            assert!(made.is_ok(), "{name}: {:?}", made.err());
        }
    }
}
