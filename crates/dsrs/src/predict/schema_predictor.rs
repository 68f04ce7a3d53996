//! `SchemaPredictor`: a predictor of a signature that is data. It owns its state and the messages
//! that every call starts with, rendered once when the state changes.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::call::{self, Offer};
use super::demos;
use super::nearest::Pool;
use super::own_tools::OwnTools;
use super::toolbox::Toolbox;
use super::{Ctx, DynPredictor, PredictError, PredictState};
use crate::adapter::ChatPlan;
use crate::lm::{LmReply, Message, Prefix, ToolSet};
use crate::problem::{At, Problems};
use crate::reflect::ReflectError;
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// A predictor over a schema.
#[derive(Clone, Debug)]
pub struct SchemaPredictor {
    pub(super) plan: ChatPlan,
    pub(super) path: Arc<str>,
    pub(super) state: PredictState,
    pub(super) prefix: Arc<Prefix>,
    /// The demos that each call chooses from; none where all are in the prefix.
    pub(super) pool: Option<Arc<Pool>>,
    pub(super) tools: Option<Arc<OwnTools>>,
}

impl SchemaPredictor {
    /// A predictor without overrides. `path` is its path within its node, shown in traces and
    /// errors.
    #[must_use]
    pub fn new(schema: Arc<SignatureSchema>, path: impl Into<Arc<str>>) -> Self {
        let plan = ChatPlan::new(schema);
        let prefix = plan.prefix(&plan.schema().instructions, []);
        let state = PredictState::default();
        Self { plan, path: path.into(), state, prefix, pool: None, tools: None }
    }

    /// The same predictor with tools that the LM may have called before it answers.
    pub(super) fn with_tools(self, tools: Toolbox) -> Self {
        let tools = (!tools.is_empty()).then(|| Arc::new(OwnTools::of(tools)));
        Self { tools, ..self }
    }

    /// Its path within its node.
    #[must_use]
    pub const fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Predicts, and makes of the outputs what `accept` makes of them. Where it refuses them, the LM
    /// is told why and asked again, as for an answer that does not fit the schema.
    ///
    /// # Errors
    /// As [`DynPredictor::forward`].
    pub(crate) async fn forward_as<T>(
        &self,
        ctx: &Ctx,
        input: Fields,
        accept: impl Fn(&Fields) -> Result<T, ReflectError> + Sync,
    ) -> Result<T, PredictError> {
        Ok(call::predict(self, ctx, input, &accept, None).await?.1)
    }

    /// Predicts with tools that the LM is told of, where its model has a way to be told; the messages
    /// are the same. An answer that asks for calls is read by `read`, which says what outputs they
    /// stand for, or what is wrong with them: the LM is told that and asked again.
    ///
    /// # Errors
    /// As [`DynPredictor::forward`].
    pub async fn forward_calling(
        &self,
        ctx: &Ctx,
        input: Fields,
        tools: &Arc<ToolSet>,
        read: impl Fn(&LmReply) -> Result<Fields, String> + Sync,
    ) -> Result<Fields, PredictError> {
        let offer = Offer { tools, read: &read };
        Ok(call::predict(self, ctx, input, &|_| Ok(()), Some(&offer)).await?.0)
    }

    /// What every call starts with: system message and demos. Where each call chooses its demos, the
    /// first ones of the pool stand for them.
    #[must_use]
    pub const fn prefix(&self) -> &Arc<Prefix> {
        &self.prefix
    }
}

impl DynPredictor for SchemaPredictor {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.plan.schema()
    }

    fn state(&self) -> &PredictState {
        &self.state
    }

    fn load_state(&mut self, mut state: PredictState, at: &At<'_>) -> Result<(), Problems> {
        state.demos = demos::admit(self.schema(), &state, at)?;
        let instruction = state.instruction.as_deref().unwrap_or(&self.schema().instructions);
        let pool = Pool::of(&self.plan, &state, instruction);
        let demos = || state.demos.iter().map(|demo| (&demo.input, &demo.output));
        let all = || self.plan.prefix(instruction, demos());
        self.prefix = pool.as_ref().map_or_else(all, |pool| pool.first());
        self.pool = pool;
        self.state = state;
        Ok(())
    }

    fn set_path(&mut self, path: Arc<str>) {
        self.path = path;
    }

    fn render(&self, input: &Fields) -> Vec<Message> {
        self.prefix.iter().cloned().chain([self.plan.ask(input)]).collect()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move { Ok(call::predict(self, ctx, input, &|_| Ok(()), None).await?.0) })
    }
}
