//! A help desk: a program that is built of modules. [`Find`] has a client and an agent with a tool,
//! [`Reply`] has predictors only.
//!
//! The difference matters to a server: [`Reply`] can be derived as a graph ([`graph::project`]), because
//! its predictors are all that it is. [`Find`] has code that no graph contains, so the server hosts it
//! as the strategy `find`.

mod find;
pub mod graph;
mod reply;

use std::sync::Arc;

use dsrs::problem::Problems;
use dsrs::{Ctx, Data, Module, PredictError, Prediction};

pub use find::{Facts, FactsInput, FactsOutput, Find, Word, register};
pub use reply::{Draft, DraftInput, DraftOutput, Polish, PolishInput, PolishOutput, Reply};

use crate::index::Index;

/// What a customer asks.
#[derive(Clone, Debug, Data)]
pub struct Question {
    /// what a customer asks
    pub question: String,
}

/// Finds facts, then replies with them.
#[derive(Clone, Module)]
pub struct Desk {
    /// Finds facts in the handbook.
    pub find: Find,
    /// Replies with the facts.
    pub reply: Reply,
}

impl Desk {
    /// A desk without state.
    ///
    /// # Errors
    /// When the tool of the agent cannot be described to an LM.
    pub fn over(index: Arc<Index>) -> Result<Self, Problems> {
        Ok(Self { find: Find::over(index)?, reply: Reply::default() })
    }
}

impl Module for Desk {
    type Input = Question;
    type Output = PolishOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        asked: Question,
    ) -> Result<Prediction<PolishOutput>, PredictError> {
        let facts = self.find.call(ctx, asked.clone()).await?.into_output().facts;
        self.reply.call(ctx, DraftInput { question: asked.question, facts }).await
    }
}
