//! Demos that are chosen for each call: those whose inputs are nearest to the call's, of a pool whose
//! turns are rendered once. Knows vectors, and nothing of how they are made.

use std::sync::Arc;

use super::embedding::embed;
use super::trace::SpanId;
use super::{Ctx, Nearest, PredictError, PredictErrorKind, PredictState};
use crate::adapter::{ChatAdapter, ChatPlan};
use crate::lm::{Message, Prefix};
use crate::value::{Fields, Payload};

/// Cosines are told as whole parts of this.
const LIKENESS: f64 = 1e4;

/// The demos of a predictor, to choose from.
#[derive(Debug)]
pub(super) struct Pool {
    nearest: Nearest,
    system: Message,
    /// The turns of each demo.
    demos: Vec<[Message; 2]>,
}

/// A demo that was chosen: its place in the pool, and the cosine of its vector and the call's.
type Chosen = (usize, f64);

impl Pool {
    /// The pool of a state that fits its schema; none where every call is shown all demos.
    pub(super) fn of(
        plan: &ChatPlan,
        state: &PredictState,
        instruction: &str,
    ) -> Option<Arc<Self>> {
        let nearest = state.nearest.clone().filter(|_| !state.demos.is_empty())?;
        let demos = state.demos.iter().map(|demo| plan.demo(&demo.input, &demo.output)).collect();
        Some(Arc::new(Self { nearest, system: plan.system(instruction), demos }))
    }

    /// What a call starts with that is not made: the first demos of the pool, as many as a call is
    /// shown.
    pub(super) fn first(&self) -> Arc<Prefix> {
        self.prefix(0..self.demos.len().min(self.shown()))
    }

    /// What a call with these inputs starts with.
    pub(super) async fn choose(
        &self,
        plan: &ChatPlan,
        path: &Arc<str>,
        ctx: &Ctx,
        input: &Fields,
    ) -> Result<Arc<Prefix>, PredictError> {
        let text: Arc<str> = ChatAdapter::inputs_alone(plan.schema(), input).into();
        let told = Payload::Str(text.clone());
        let (made, span) = embed(ctx, &self.nearest.model, &[text], |span| {
            span.predictor = Some(path.clone());
            span.inputs = Some(Fields::from_iter([(Arc::from("text"), told)]));
        })
        .await?;
        let vector = made.vectors.first().map_or(&[][..], |vector| vector);
        self.check(vector)?;
        let mut chosen = self.nearest.vectors.nearest(vector, self.shown());
        // The nearest stands right before the question.
        chosen.reverse();
        tell(ctx, span, &chosen);
        Ok(self.prefix(chosen.into_iter().map(|(demo, _)| demo)))
    }

    fn shown(&self) -> usize {
        usize::try_from(self.nearest.k).unwrap_or(usize::MAX)
    }

    fn check(&self, vector: &[f32]) -> Result<(), PredictError> {
        let (known, found) = (self.nearest.vectors.dimensions(), vector.len());
        if known == found {
            return Ok(());
        }
        let alias = &self.nearest.model;
        let message = format!(
            "the embedding model `{alias}` gives vectors of {found} numbers, and those of the demos \
             have {known}: it is not the model that made them; set `nearest` anew, or to null"
        );
        Err(PredictError::new(PredictErrorKind::UnknownModel { alias: alias.clone() }, message))
    }

    fn prefix(&self, demos: impl IntoIterator<Item = usize>) -> Arc<Prefix> {
        let turns = demos.into_iter().filter_map(|demo| self.demos.get(demo)).flatten();
        Prefix::of([&self.system].into_iter().chain(turns).cloned().collect::<Vec<_>>())
    }
}

/// Tells in the trace which demos were chosen, in the order of the prompt.
fn tell(ctx: &Ctx, span: SpanId, chosen: &[Chosen]) {
    let told = chosen.iter().map(|(demo, likeness)| {
        let demo = Payload::Int(i64::try_from(*demo).unwrap_or(i64::MAX));
        let likeness = Payload::Float((likeness * LIKENESS).round() / LIKENESS);
        let members = [("demo", demo), ("likeness", likeness)];
        Payload::map(members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect())
    });
    let told = Payload::list(told.collect());
    ctx.trace().amend(span, |span| {
        span.outputs = Some(Fields::from_iter([(Arc::from("nearest"), told)]));
    });
}
