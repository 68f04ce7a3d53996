//! Replying: two predictors, and nothing else that a graph would not contain.

use dsrs::{ChainOfThought, Ctx, Module, Predict, PredictError, Prediction, Signature};

/// Draft a reply to the question from the facts alone.
#[derive(Signature)]
pub struct Draft {
    /// what a customer asks
    #[input]
    pub question: String,
    /// from the handbook
    #[input]
    pub facts: Vec<String>,
    /// a complete reply
    #[output]
    pub draft: String,
}

/// Answer the question with what the draft says.
#[derive(Signature)]
pub struct Polish {
    /// what a customer asks
    #[input]
    pub question: String,
    /// what is true
    #[input]
    pub draft: String,
    /// for the customer
    #[output]
    pub answer: String,
}

/// Drafts a reply and polishes it.
#[derive(Clone, Default, Module)]
pub struct Reply {
    /// Writes the draft.
    pub draft: ChainOfThought<Draft>,
    /// Writes the answer.
    pub polish: Predict<Polish>,
}

impl Module for Reply {
    type Input = DraftInput;
    type Output = PolishOutput;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: DraftInput,
    ) -> Result<Prediction<PolishOutput>, PredictError> {
        let draft = self.draft.call(ctx, input.clone()).await?.draft.clone();
        self.polish.call(ctx, PolishInput { question: input.question, draft }).await
    }
}
