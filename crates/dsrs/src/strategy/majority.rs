//! `majority`: the answer that most of several attempts agree on (self-consistency, Wang et al. 2022;
//! DSPy's `majority`).

use std::ops::ControlFlow;
use std::sync::Arc;

use facet::Facet;
use indexmap::IndexMap;

use super::attempt::ModuleTarget;
use super::config::WrappedStrategy;
use super::inner_module::{InnerModule, MODULE, check_attempts};
use super::normalize::normal;
use super::registry::StrategyRegistration;
use super::sampling::{Sampling, sample};
use super::wrapper::{MODULE_REFS, Wrapper, WrapperSpec, wrapper};
use super::{BuildEnv, DynModule};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{listed, nearest};
use crate::signature::SignatureSchema;
use crate::value::Fields;

inventory::submit! { StrategyRegistration(&WrapperSpec {
    name: "majority",
    description: "Runs a strategy `n` times at once and returns the answer that most attempts agree on. \
                  For short answers that are right or wrong, best over `chain_of_thought`. Up to `n` \
                  times the LM calls of the wrapped strategy; stops as soon as the majority is certain.",
    predictors: &[MODULE],
    refs: MODULE_REFS,
    create,
}) }

#[derive(Facet)]
struct MajorityConfig {
    /// The strategy to run.
    module: WrappedStrategy,
    /// How many attempts are made.
    #[facet(default = 5, dsrs::minimum(1), dsrs::maximum(100))]
    n: usize,
    /// The output to count. Default: the last.
    field: Option<String>,
    /// The temperature of all attempts. By default the first attempt runs unchanged.
    #[facet(dsrs::minimum(0), dsrs::maximum(2))]
    temperature: Option<f64>,
}

fn create(
    env: &dyn BuildEnv,
    base: &Arc<SignatureSchema>,
    config: MajorityConfig,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let module = InnerModule::build(env, base, &config.module, at)?;
    let field = counted_field(module.schema(), config.field.as_deref(), &at.key("config"));
    match (field, check_attempts(("n", config.n), module.attempts(), at)) {
        (Ok(field), Ok(())) => {
            let sampling = Sampling { count: config.n, temperature: config.temperature };
            Ok(wrapper(MajorityModule { module, sampling, field }))
        }
        (field, count) => {
            let mut problems = field.err().map_or_else(Problems::new, Problems::from);
            problems.append(count.err().unwrap_or_default());
            Err(problems)
        }
    }
}

/// The output whose values are counted.
fn counted_field(
    schema: &SignatureSchema,
    wanted: Option<&str>,
    at: &At<'_>,
) -> Result<Arc<str>, Problem> {
    let Some(wanted) = wanted else {
        return Ok(schema.outputs.last().map_or_else(|| Arc::from(""), |last| last.name.clone()));
    };
    schema.output(wanted).map(|field| field.name.clone()).ok_or_else(|| {
        let known = || schema.outputs.iter().map(|field| field.name.as_ref());
        let hint = nearest(wanted, known())
            .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        let detail = format!("there is no output `{wanted}`; {hint}there are {}", listed(known()));
        Problem { pointer: at.key("field").pointer(), code: Code::UnknownField, detail }
    })
}

struct MajorityModule {
    module: InnerModule,
    sampling: Sampling,
    field: Arc<str>,
}

impl Wrapper for MajorityModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.module.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }

    fn attempts(&self) -> usize {
        self.sampling.count.saturating_mul(self.module.attempts())
    }

    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let tried = ModuleTarget { module: &self.module, input: &input };
        let mut count = VoteCount { open: self.sampling.count, ..VoteCount::default() };
        let end = sample(self.sampling, ctx, &tried, |number, result| {
            count.take(ctx, number, result, |outputs| outputs.get(&self.field).and_then(normal))
        });
        end.await.unwrap_or_else(|| count.finish())
    }
}

/// The votes for one value.
struct ValueVotes<F> {
    count: usize,
    /// The first attempt with this value, and its outputs.
    first: (usize, F),
}

impl<F> ValueVotes<F> {
    fn is_before(&self, other: &Self) -> bool {
        self.count > other.count || (self.count == other.count && self.first.0 < other.first.0)
    }
}

/// The running count of votes.
struct VoteCount<F> {
    /// Attempts that may still vote.
    open: usize,
    votes: IndexMap<String, ValueVotes<F>>,
    /// The first attempt without a value to count.
    silent: Option<(usize, F)>,
    failure: Option<PredictError>,
}

impl<F> Default for VoteCount<F> {
    fn default() -> Self {
        Self { open: 0, votes: IndexMap::new(), silent: None, failure: None }
    }
}

impl<F> VoteCount<F> {
    /// Adds the result of an attempt; breaks once no other value can win.
    fn take(
        &mut self,
        ctx: &Ctx,
        number: usize,
        result: Result<F, PredictError>,
        value: impl Fn(&F) -> Option<String>,
    ) -> ControlFlow<Result<F, PredictError>> {
        self.open -= 1;
        match result {
            Err(error) if ctx.is_fatal(&error) => return ControlFlow::Break(Err(error)),
            Err(error) => self.failure = Some(error),
            Ok(found) => match value(&found) {
                Some(value) => self.vote(value, number, found),
                None if self.silent.as_ref().is_none_or(|(first, _)| number < *first) => {
                    self.silent = Some((number, found));
                }
                None => {}
            },
        }
        match self.certain() {
            Some(winner) => match self.votes.swap_remove_index(winner) {
                Some((_, votes)) => ControlFlow::Break(Ok(votes.first.1)),
                None => ControlFlow::Continue(()),
            },
            None => ControlFlow::Continue(()),
        }
    }

    fn vote(&mut self, value: String, number: usize, found: F) {
        match self.votes.get_mut(&value) {
            None => {
                self.votes.insert(value, ValueVotes { count: 1, first: (number, found) });
            }
            Some(votes) => {
                votes.count += 1;
                if number < votes.first.0 {
                    votes.first = (number, found);
                }
            }
        }
    }

    /// The index of the value that wins whatever the remaining attempts return.
    fn certain(&self) -> Option<usize> {
        let leader = self.leader()?;
        let most = self.votes.get_index(leader)?.1.count;
        let others = self.votes.values().enumerate().filter(|(place, _)| *place != leader);
        let second = others.map(|(_, votes)| votes.count).max().unwrap_or(0);
        (self.open > 0 && most > second + self.open).then_some(leader)
    }

    /// The index of the value with the most votes; of several, the earliest.
    fn leader(&self) -> Option<usize> {
        let places = self.votes.values().enumerate();
        let leader = places.reduce(|best, next| if next.1.is_before(best.1) { next } else { best });
        leader.map(|(place, _)| place)
    }

    fn finish(mut self) -> Result<F, PredictError> {
        let winner = self.leader().and_then(|place| self.votes.swap_remove_index(place));
        let winner = winner.map(|(_, votes)| votes.first).or(self.silent);
        winner.map(|(_, found)| found).ok_or_else(|| {
            let none = || PredictError::new(PredictErrorKind::Reward, "it has no attempts");
            self.failure.unwrap_or_else(none)
        })
    }
}
