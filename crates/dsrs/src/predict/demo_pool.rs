//! Demos chosen for each call: those of a pool whose inputs are nearest to the inputs of the call.
//! The messages of the pool are rendered once. Does not know how vectors are embedded.

use std::sync::Arc;

use super::embed;
use super::trace::SpanId;
use super::{Ctx, NearestDemos, PredictError, PredictErrorKind, PredictState};
use crate::adapter::{ChatAdapter, ChatPlan};
use crate::lm::{Message, Prefix};
use crate::value::{Fields, Payload};

/// Cosines are recorded in multiples of 1 / this.
const LIKENESS: f64 = 1e4;

/// The demos that a predictor chooses from.
#[derive(Debug)]
pub(super) struct DemoPool {
    nearest: NearestDemos,
    system: Message,
    /// The messages of each demo.
    demos: Vec<[Message; 2]>,
}

/// A chosen demo: its index in the pool, and the cosine between its vector and that of the call.
type Chosen = (usize, f64);

impl DemoPool {
    /// The pool of a valid state. `None` if every call shows all demos.
    pub(super) fn of(
        plan: &ChatPlan,
        state: &PredictState,
        instruction: &str,
    ) -> Option<Arc<Self>> {
        let nearest = state.nearest.clone().filter(|_| !state.demos.is_empty())?;
        let demos = state.demos.iter().map(|demo| plan.demo(&demo.input, &demo.output)).collect();
        Some(Arc::new(Self { nearest, system: plan.system(instruction), demos }))
    }

    /// The prefix of a preview: the first demos of the pool, as many as a call shows.
    pub(super) fn first(&self) -> Arc<Prefix> {
        self.prefix(0..self.demos.len().min(self.shown()))
    }

    /// The demos of a call with these inputs, by their indexes.
    pub(super) async fn choose(
        &self,
        plan: &ChatPlan,
        path: &Arc<str>,
        ctx: &Ctx,
        input: &Fields,
    ) -> Result<Vec<usize>, PredictError> {
        let text: Arc<str> = ChatAdapter::inputs_text(plan.schema(), input).into();
        let input = Payload::Str(text.clone());
        let (embedded, span) = embed(ctx, &self.nearest.model, &[text], |span| {
            span.predictor = Some(path.clone());
            span.inputs = Some(Fields::from_iter([(Arc::from("text"), input)]));
        })
        .await?;
        let vector = embedded.vectors.first().map_or(&[][..], |vector| vector);
        self.check(vector)?;
        let mut chosen = self.nearest.vectors.nearest(vector, self.shown());
        // The nearest demo comes last, right before the question.
        chosen.reverse();
        record_choice(ctx, span, &chosen);
        Ok(chosen.into_iter().map(|(demo, _)| demo).collect())
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
            "the embedding model `{alias}` returns vectors of {found} numbers, but those of the demos \
             have {known}: another model made them; set `nearest` again, or to null"
        );
        Err(PredictError::new(PredictErrorKind::UnknownModel { alias: alias.clone() }, message))
    }

    /// The prefix with these demos.
    pub(super) fn prefix(&self, demos: impl IntoIterator<Item = usize>) -> Arc<Prefix> {
        let turns = demos.into_iter().filter_map(|demo| self.demos.get(demo)).flatten();
        Prefix::of([&self.system].into_iter().chain(turns).cloned().collect::<Vec<_>>())
    }
}

/// Records in the trace which demos were chosen, in the order of the prompt.
fn record_choice(ctx: &Ctx, span: SpanId, chosen: &[Chosen]) {
    let choices = chosen.iter().map(|(demo, likeness)| {
        let demo = Payload::Int(i64::try_from(*demo).unwrap_or(i64::MAX));
        let likeness = Payload::Float((likeness * LIKENESS).round() / LIKENESS);
        let members = [("demo", demo), ("likeness", likeness)];
        Payload::map(members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect())
    });
    let choices = Payload::list(choices.collect());
    ctx.trace().amend(span, |span| {
        span.outputs = Some(Fields::from_iter([(Arc::from("nearest"), choices)]));
    });
}
