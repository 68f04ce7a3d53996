//! The settings of an optimization of a typed module: which optimizer, its budget, its seed, who hears
//! of progress. Knows optimizers by name only; their own settings are beside this file.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::lm::Budget;
use crate::optimize::{MAX_UNMEASURED, NoopListener, ProgressEvent, ProgressListener};
use crate::value::{Map, Payload};

/// How a typed module is optimized. The type parameter says by which optimizer, and gives it the
/// settings of that one; `docs/optimizers.md` describes them. Unset ones have the same defaults as over
/// HTTP.
///
/// Optimizers that change graphs (`strategy_search`) have no constructor: the structure of a typed
/// module is Rust code. Host the module in a graph to search for a better one.
///
/// ```
/// use dsrs::lm::Budget;
/// use dsrs::optimize::Optimizer;
///
/// let optimizer = Optimizer::mipro_v2()
///     .candidates(8)
///     .trials(20)
///     .seed(3)
///     .budget(Budget { lm_calls: Some(500), ..Budget::default() })
///     .on_progress(|progress| eprintln!("{progress:?}"));
/// # let _ = optimizer;
/// ```
#[must_use]
pub struct Optimizer<K = ()> {
    pub(super) name: &'static str,
    pub(super) config: Map,
    pub(super) budget: Budget,
    pub(super) seed: u64,
    pub(super) concurrency: usize,
    pub(super) max_unmeasured: f64,
    pub(super) timeout: Option<Duration>,
    pub(super) prompt_model: Option<Arc<str>>,
    pub(super) listener: Arc<dyn ProgressListener>,
    kind: PhantomData<fn() -> K>,
}

/// Rollouts at a time.
pub(super) const CONCURRENCY: usize = 8;

impl<K> Optimizer<K> {
    pub(super) fn named(name: &'static str) -> Self {
        Self {
            name,
            config: Map::new(),
            budget: Budget::default(),
            seed: 0,
            concurrency: CONCURRENCY,
            max_unmeasured: MAX_UNMEASURED,
            timeout: None,
            prompt_model: None,
            listener: Arc::new(NoopListener),
            kind: PhantomData,
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
    pub fn on_progress(mut self, hear: impl Fn(ProgressEvent<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Arc::new(ProgressFn(hear));
        self
    }

    /// Sets a member of the config.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Payload>) -> Self {
        self.config.insert(name.into(), value.into());
        self
    }

    /// Sets a count of the config.
    pub(super) fn with_count(self, name: &'static str, count: usize) -> Self {
        self.with(name, Payload::Int(i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

struct ProgressFn<F>(F);

impl<F: Fn(ProgressEvent<'_>) + Send + Sync> ProgressListener for ProgressFn<F> {
    fn hear(&self, progress: ProgressEvent<'_>) {
        (self.0)(progress);
    }
}
