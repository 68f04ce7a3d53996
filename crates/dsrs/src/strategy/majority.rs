//! `majority`: several attempts, the answer that most of them give (self-consistency, Wang et al.
//! 2022; DSPy's `majority`).

use std::ops::ControlFlow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use indexmap::IndexMap;

use super::attempt::Untyped;
use super::config::{config_schema, count_schema, member, number, schema, wrapped_schema};
use super::normal::normal;
use super::registry::StrategyRegistration;
use super::sampling::{Sampling, sample, temperature_schema};
use super::wrapped::{MODULE, Wrapped, attempts};
use super::{BuildEnv, DynModule, StrategyFactory, pins};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{listed, nearest};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

const DEFAULT_N: usize = 5;

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "majority"
    }

    fn description(&self) -> &'static str {
        "Makes `n` attempts of a strategy at once and gives the answer that most of them agree on. \
         For short answers that are right or wrong, best over `chain_of_thought`. Up to `n` times the \
         LM calls of the wrapped strategy; stops as soon as the majority is certain."
    }

    fn config_schema(&self) -> Payload {
        config_schema(
            [
                (MODULE, wrapped_schema("the strategy that is tried")),
                ("n", count_schema("how many attempts are made", 1, 100, 5)),
                (
                    "field",
                    schema(
                        r#"{"type": "string", "description": "the output that is counted; the last when it is not said"}"#,
                    ),
                ),
                (
                    "temperature",
                    temperature_schema(
                        "of all attempts; when it is not said, the first is as it would be alone",
                    ),
                ),
            ],
            &[MODULE],
        )
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE]
    }

    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        pins::own_signature(env, config, at)
    }

    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        pins::pinned(env, config)
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let module = Wrapped::read(env, base, config, "", at)?;
        let field = counted_field(module.schema(), member(config, "field"), &at.key("config"));
        let count = attempts(config, ("n", DEFAULT_N), module.attempts(), at);
        match (field, count) {
            (Ok(field), Ok(count)) => {
                let sampling = Sampling { count, temperature: number(config, "temperature") };
                Ok(Box::new(Majority { module, sampling, field }))
            }
            (field, count) => {
                let mut problems = field.err().map_or_else(Problems::new, Problems::from);
                problems.extend(count.err().unwrap_or_default());
                Err(problems)
            }
        }
    }
}

/// The output whose values are counted.
fn counted_field(
    schema: &SignatureSchema,
    wanted: Option<&Payload>,
    at: &At<'_>,
) -> Result<Arc<str>, Problem> {
    let Some(wanted) = wanted.and_then(Payload::as_str) else {
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

struct Majority {
    module: Wrapped,
    sampling: Sampling,
    field: Arc<str>,
}

impl DynModule for Majority {
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

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            let tried = Untyped { module: &self.module, input: &input };
            let mut count = Count { open: self.sampling.count, ..Count::default() };
            let end = sample(self.sampling, ctx, &tried, |number, result| {
                count.take(ctx, number, result, |outputs| outputs.get(&self.field).and_then(normal))
            });
            end.await.unwrap_or_else(|| count.finish())
        })
    }
}

/// The votes for one value.
struct Votes<F> {
    count: usize,
    /// The first attempt that gave it, and its outputs.
    first: (usize, F),
}

impl<F> Votes<F> {
    fn is_before(&self, other: &Self) -> bool {
        self.count > other.count || (self.count == other.count && self.first.0 < other.first.0)
    }
}

/// A count of attempts that goes on.
struct Count<F> {
    /// Attempts that may still vote.
    open: usize,
    votes: IndexMap<String, Votes<F>>,
    /// The first attempt that gave no value to count.
    silent: Option<(usize, F)>,
    failure: Option<PredictError>,
}

impl<F> Default for Count<F> {
    fn default() -> Self {
        Self { open: 0, votes: IndexMap::new(), silent: None, failure: None }
    }
}

impl<F> Count<F> {
    /// Takes the result of an attempt; breaks off when no other value can win any more.
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
                self.votes.insert(value, Votes { count: 1, first: (number, found) });
            }
            Some(votes) => {
                votes.count += 1;
                if number < votes.first.0 {
                    votes.first = (number, found);
                }
            }
        }
    }

    /// The value that wins whatever the open attempts give, by its place.
    fn certain(&self) -> Option<usize> {
        let leader = self.leader()?;
        let most = self.votes.get_index(leader)?.1.count;
        let others = self.votes.values().enumerate().filter(|(place, _)| *place != leader);
        let second = others.map(|(_, votes)| votes.count).max().unwrap_or(0);
        (self.open > 0 && most > second + self.open).then_some(leader)
    }

    /// The value with the most votes, and of several the one that was given first.
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
