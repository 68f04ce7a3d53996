//! Finding facts: the client of a search index, and an agent that searches on with it.

use std::sync::Arc;

use dsrs::problem::Problems;
use dsrs::strategy::registry;
use dsrs::{Ctx, Data, Module, PredictError, Prediction, ReAct, Signature};

use super::Question;
use crate::index::Index;

/// The name of the strategy.
pub(super) const FIND: &str = "find";

/// Find the facts that answer the question.
#[derive(Signature)]
pub struct Facts {
    /// what a customer asks
    #[input]
    pub question: String,
    /// the passage of the handbook that is nearest to the question
    #[input]
    pub passage: Option<String>,
    /// sentences of the handbook, unchanged
    #[output]
    pub facts: Vec<String>,
}

/// The argument of the tool.
#[derive(Clone, Debug, Data)]
pub struct Word {
    /// one word that the passage contains
    pub word: String,
}

/// Starts with the passage nearest to the question; the agent looks up more.
#[derive(Clone, Module)]
pub struct Find {
    // No part of the program: the search for predictors skips it.
    index: Arc<Index>,
    /// Looks up passages, and picks facts.
    pub agent: ReAct<Facts>,
}

impl Find {
    /// A finder without state.
    ///
    /// # Errors
    /// When the tool of the agent cannot be described to an LM.
    pub fn over(index: Arc<Index>) -> Result<Self, Problems> {
        let searched = index.clone();
        let lookup = move |asked: Word| {
            let index = searched.clone();
            async move { index.search(&asked.word).await }
        };
        let agent = ReAct::builder()
            .tool("lookup", "The passages of the handbook that contain a word.", lookup)
            .max_iters(4)
            .build()?;
        Ok(Self { index, agent })
    }
}

impl Module for Find {
    type Input = Question;
    type Output = FactsOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        asked: Question,
    ) -> Result<Prediction<FactsOutput>, PredictError> {
        let passage = self.index.nearest(&asked.question).await;
        let found = self.agent.call(ctx, FactsInput { question: asked.question, passage }).await?;
        Ok(found.map(|found| found.into_inner()))
    }
}

/// Makes [`Find`] the strategy `find` of this process: of a server that runs graphs with it, and of a
/// program that builds such graphs.
///
/// # Errors
/// When there is a strategy `find` already, or the module cannot be hosted.
pub fn register(index: Arc<Index>) -> Result<(), Problems> {
    let find = Find::over(index)?;
    registry::register(FIND, "Finds facts in the handbook.", move || find.clone())
}
