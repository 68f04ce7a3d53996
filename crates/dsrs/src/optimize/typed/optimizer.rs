//! The settings of an optimization of a typed module: which optimizer, its budget, its seed, who hears
//! of progress. Knows no particular optimizer.

use std::sync::Arc;
use std::time::Duration;

use crate::document::config_of;
use crate::lm::Budget;
use crate::optimize::{
    CandidateSearch, MAX_UNMEASURED, NoopListener, ProgressEvent, ProgressListener, StateOptimizer,
    create_optimizer,
};
use crate::problem::{At, Code, Problem, Problems};
use crate::reflect::ReflectError;
use crate::value::Payload;

/// How a typed module is optimized: by which optimizer, with which budget and seed. `docs/optimizers.md` describes the
/// optimizers.
///
/// Those that change graphs (`strategy_search`) are no [`StateOptimizer`]: the structure of a typed module is Rust code.
/// Host the module in a graph to search for a better one.
///
/// ```
/// use dsrs::lm::Budget;
/// use dsrs::optimize::{MiproV2, Optimizer};
///
/// let settings = MiproV2 { num_candidates: Some(8), num_trials: Some(20), ..MiproV2::default() };
/// let optimizer = Optimizer::new(settings)
///     .seed(3)
///     .budget(Budget { lm_calls: Some(500), ..Budget::default() })
///     .on_progress(|progress| eprintln!("{progress:?}"));
/// # let _ = optimizer;
/// ```
#[must_use]
pub struct Optimizer {
    name: &'static str,
    config: Result<Payload, ReflectError>,
    pub(super) budget: Budget,
    pub(super) seed: u64,
    pub(super) concurrency: usize,
    pub(super) max_unmeasured: f64,
    pub(super) timeout: Option<Duration>,
    pub(super) prompt_model: Option<Arc<str>>,
    pub(super) listener: Arc<dyn ProgressListener>,
}

/// Rollouts at a time.
pub(super) const CONCURRENCY: usize = 8;

impl Optimizer {
    /// An optimization by an optimizer with its settings, which are checked like a config over HTTP.
    pub fn new<S: StateOptimizer>(settings: S) -> Self {
        Self {
            name: S::NAME,
            config: config_of(&settings),
            budget: Budget::default(),
            seed: 0,
            concurrency: CONCURRENCY,
            max_unmeasured: MAX_UNMEASURED,
            timeout: None,
            prompt_model: None,
            listener: Arc::new(NoopListener),
        }
    }

    /// What may be spent: requests, tokens, money, seconds. Nothing is limited by default.
    pub const fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The seed of all random decisions; 0 by default. The same seed on the same examples repeats them.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many rollouts run at a time; 8 by default.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.concurrency = most.max(1);
        self
    }

    /// The share of examples that may stay without a score because the provider, the time or a budget failed; 0.05
    /// by default. If more do, the optimization fails.
    pub const fn max_unmeasured(mut self, share: f64) -> Self {
        self.max_unmeasured = share;
        self
    }

    /// The time limit of the module on one example; five minutes by default.
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// The alias of the model that writes proposals; by default the default model.
    pub fn prompt_model(mut self, alias: impl Into<Arc<str>>) -> Self {
        self.prompt_model = Some(alias.into());
        self
    }

    /// Calls a function with each event. It must not block.
    pub fn on_progress(
        mut self,
        listener: impl Fn(ProgressEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.listener = Arc::new(ProgressFn(listener));
        self
    }

    /// The optimizer.
    ///
    /// # Errors
    /// Settings that do not fit, with pointers below `/config`.
    pub(super) fn create(&self) -> Result<Box<dyn CandidateSearch>, Problems> {
        let place = At::Root.key("config");
        let config = self.config.as_ref().map_err(|error| Problem {
            pointer: place.pointer(),
            code: Code::InvalidConfig,
            detail: error.to_string(),
        })?;
        create_optimizer(self.name, Some(config), &At::Root).map(|(_, optimizer)| optimizer)
    }
}

struct ProgressFn<F>(F);

impl<F: Fn(ProgressEvent<'_>) + Send + Sync> ProgressListener for ProgressFn<F> {
    fn receive(&self, progress: ProgressEvent<'_>) {
        (self.0)(progress);
    }
}
