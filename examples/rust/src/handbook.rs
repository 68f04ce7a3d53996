//! A program of two predictors with plain Rust between them: the LM thinks of words to look for, a
//! search finds passages, the LM answers from them.

use dsrs::{
    ChainOfThought, Ctx, Module, Predict, PredictError, Prediction, Signature, WithReasoning,
};

/// Name words that a passage which answers the question would hold.
#[derive(Signature)]
pub struct Search {
    /// what a customer asks
    #[input]
    pub question: String,
    /// single words, the most telling first
    #[output]
    pub words: Vec<String>,
}

/// Answer the question from the passages alone.
#[derive(Signature)]
pub struct Answer {
    /// what a customer asks
    #[input]
    pub question: String,
    /// from the handbook
    #[input]
    pub passages: Vec<String>,
    /// for the customer
    #[output]
    pub answer: String,
}

/// The whole program. `derive(Module)` is all it needs for its predictors to be found.
#[derive(Clone, Default, Module)]
pub struct Handbook {
    /// Thinks of words to look for.
    pub search: Predict<Search>,
    /// Answers from what was found.
    pub answer: ChainOfThought<Answer>,
}

impl Module for Handbook {
    type Input = SearchInput;
    type Output = WithReasoning<AnswerOutput>;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: SearchInput,
    ) -> Result<Prediction<Self::Output>, PredictError> {
        let found = self.search.call(ctx, input.clone()).await?;
        let passages = passages(&found.words);
        self.answer.call(ctx, AnswerInput { question: input.question, passages }).await
    }
}

// A server that this crate is linked into knows the strategy `handbook`.
dsrs::register_module!(Handbook as "handbook", "Answers a question from the handbook.");

/// The whole handbook.
pub(crate) const PASSAGES: [&str; 4] = [
    "Parcels that do not arrive within ten days are sent again without charge.",
    "Refunds go to the card that paid, within five working days.",
    "The shop is open from nine to six, on Saturdays until noon.",
    "Gift cards are valid for three years and cannot be paid out.",
];

/// The passages that hold any of the words; all of them when none does.
fn passages(words: &[String]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let holds = |passage: &&str| words.iter().any(|word| passage.to_lowercase().contains(word));
    let found: Vec<String> = PASSAGES.iter().copied().filter(holds).map(str::to_owned).collect();
    if found.is_empty() { PASSAGES.map(str::to_owned).into() } else { found }
}
