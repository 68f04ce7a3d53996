use dsrs::predict::PredictError;
use dsrs::{Ctx, Module, Predict, Prediction, Signature};

/// A type of a field without any derive.
struct Person {
    name: String,
}

#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    author: Person,
}

#[derive(Signature)]
struct Ask {
    #[output]
    answer: String,
}

/// The output of a module without any derive.
struct Rated {
    rating: u8,
}

#[derive(Module)]
struct Rater {
    ask: Predict<Ask>,
}

impl Module for Rater {
    type Input = AskInput;
    type Output = Rated;

    async fn forward(&self, _: &Ctx, _: AskInput) -> Result<Prediction<Rated>, PredictError> {
        Ok(Prediction::of(Rated { rating: 1 }))
    }
}

fn main() {}
