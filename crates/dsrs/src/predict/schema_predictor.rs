//! `SchemaPredictor`: a predictor of a signature that is data. The call path makes its calls.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::call::{self, ToolOffer};
use super::predictor_core::PredictorCore;
use super::step_turns::{StepLayout, StepTurns};
use super::tool_dispatcher::ToolDispatcher;
use super::{AnswerWords, Ctx, Decision, DynPredictor, PredictError, PredictState};
use crate::lm::{LmReply, Message, Prefix, ToolSet};
use crate::problem::{At, Problems};
use crate::reflect::ReflectError;
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// A predictor over a schema.
#[derive(Clone, Debug)]
pub struct SchemaPredictor {
    core: PredictorCore,
}

impl SchemaPredictor {
    /// A predictor without overrides. `path` is its path within its node, shown in traces and
    /// errors.
    #[must_use]
    pub fn new(schema: Arc<SignatureSchema>, path: impl Into<Arc<str>>) -> Self {
        Self { core: PredictorCore::new(schema, path.into()) }
    }

    pub(super) fn with_tools(mut self, tools: ToolDispatcher) -> Self {
        self.core.set_tools(tools);
        self
    }

    /// The same predictor with the names of the tools that an agent around it offers.
    pub(crate) fn with_tool_names(mut self, names: Arc<[Arc<str>]>) -> Self {
        self.core.tool_names = names;
        self
    }

    /// The same predictor, with what its node decides by its outputs.
    pub(crate) fn with_decisions(mut self, decisions: Arc<[Decision]>) -> Self {
        self.core.decisions = decisions;
        self
    }

    /// The same predictor, which reads the evidence of its decisions from the probabilities of tokens.
    pub(crate) fn reading_logprobs(mut self, words: Vec<AnswerWords>) -> Self {
        self.core.evidence = Some(self.core.decisions.iter().cloned().zip(words).collect());
        self
    }

    /// The same predictor, whose steps are turns of the conversation where its model calls tools natively.
    pub(crate) fn with_step_turns(mut self, layout: StepLayout) -> Self {
        self.core.set_steps(layout);
        self
    }

    /// Whether its model calls tools natively.
    ///
    /// # Errors
    /// When it has no model.
    pub(crate) fn calls_tools(&self, ctx: &Ctx) -> Result<bool, PredictError> {
        call::model(&self.core, ctx).map(|model| model.tools)
    }

    /// Its path within its node.
    #[must_use]
    pub const fn path(&self) -> &Arc<str> {
        &self.core.path
    }

    /// Predicts, and converts the outputs with `accept`. If that fails, the LM is asked again with
    /// the error, as for an answer that does not fit the schema.
    ///
    /// # Errors
    /// As [`DynPredictor::forward`].
    pub(crate) async fn forward_as<T>(
        &self,
        ctx: &Ctx,
        input: Fields,
        accept: impl Fn(&Fields) -> Result<T, ReflectError> + Sync,
    ) -> Result<T, PredictError> {
        Ok(self.forward_with(ctx, input, accept).await?.1)
    }

    /// As [`Self::forward_as`], with the outputs themselves, too.
    ///
    /// # Errors
    /// As [`DynPredictor::forward`].
    pub(crate) async fn forward_with<T>(
        &self,
        ctx: &Ctx,
        input: Fields,
        accept: impl Fn(&Fields) -> Result<T, ReflectError> + Sync,
    ) -> Result<(Fields, T), PredictError> {
        let found = call::predict(&self.core, ctx, input, &accept, None).await?;
        Ok((found.fields, found.accepted))
    }

    /// Predicts with tools offered through native tool calls, if the model supports them; the
    /// messages are the same. `read` converts a reply with tool calls to outputs, or says what is
    /// wrong with the calls; the LM is asked again with that error. `words` converts a reply in words that is in no
    /// layout, if it means something; the LM is asked again otherwise.
    ///
    /// # Errors
    /// As [`DynPredictor::forward`].
    pub async fn forward_with_tools(
        &self,
        ctx: &Ctx,
        input: Fields,
        tools: &Arc<ToolSet>,
        read: impl Fn(&LmReply) -> Result<Fields, String> + Sync,
        words: impl Fn(&LmReply) -> Option<Fields> + Sync,
    ) -> Result<Fields, PredictError> {
        let offer = ToolOffer { tools, read: &read, words: &words, turns: None };
        Ok(call::predict(&self.core, ctx, input, &|_| Ok(()), Some(&offer)).await?.fields)
    }

    /// Like [`Self::forward_with_tools`], with the steps so far as turns if the model calls tools natively. Returns the reply,
    /// too, as the next turns need it: each of its calls has an id of its own.
    ///
    /// # Errors
    /// As [`DynPredictor::forward`].
    pub(crate) async fn forward_in_turns(
        &self,
        ctx: &Ctx,
        input: Fields,
        tools: &Arc<ToolSet>,
        turns: Option<&StepTurns>,
        read: impl Fn(&LmReply) -> Result<Fields, String> + Sync,
        words: impl Fn(&LmReply) -> Option<Fields> + Sync,
    ) -> Result<(Fields, LmReply), PredictError> {
        let offer = ToolOffer { tools, read: &read, words: &words, turns };
        let made = call::predict(&self.core, ctx, input, &|_| Ok(()), Some(&offer)).await?;
        Ok((made.fields, made.reply))
    }

    /// The messages that every call starts with: system message and demos. If each call chooses its
    /// demos, the first demos of the pool stand in for them.
    #[must_use]
    pub const fn prefix(&self) -> &Arc<Prefix> {
        &self.core.prefix
    }
}

impl DynPredictor for SchemaPredictor {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.core.plan.schema()
    }

    fn state(&self) -> &PredictState {
        &self.core.state
    }

    fn tools(&self) -> &[Arc<str>] {
        &self.core.tool_names
    }

    fn decisions(&self) -> &[Decision] {
        &self.core.decisions
    }

    fn load_state(&mut self, state: PredictState, at: &At<'_>) -> Result<(), Problems> {
        self.core.load_state(state, at)
    }

    fn set_instruction(&mut self, instruction: Option<Arc<str>>) {
        self.core.set_instruction(instruction);
    }

    fn set_path(&mut self, path: Arc<str>) {
        self.core.path = path;
    }

    fn render(&self, input: &Fields) -> Vec<Message> {
        self.core.prefix.iter().cloned().chain([self.core.plan.user_message(input)]).collect()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            Ok(call::predict(&self.core, ctx, input, &|_| Ok(()), None).await?.fields)
        })
    }
}
