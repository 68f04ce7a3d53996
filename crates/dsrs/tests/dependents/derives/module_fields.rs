use std::sync::{Arc, Mutex};

use dsrs::module::named_predictors;
use dsrs::predict::PredictError;
use dsrs::{Ctx, Module, Predict, Prediction, Signature};

#[derive(Signature)]
struct Qa {
    #[output]
    answer: String,
}

/// Holds predictors; nothing says so.
struct Helpers {
    rewrite: Predict<Qa>,
}

/// A module without `#[derive(Module)]`.
struct Step(Vec<Predict<Qa>>);

impl Module for Step {
    type Input = QaInput;
    type Output = QaOutput;

    async fn forward(&self, ctx: &Ctx, input: QaInput) -> Result<Prediction<QaOutput>, PredictError> {
        self.0[0].call(ctx, input).await
    }
}

#[derive(Module)]
#[module(part)]
struct Shared {
    shared: Arc<Predict<Qa>>,
}

#[derive(Module)]
#[module(part)]
struct Locked {
    locked: Vec<Arc<Mutex<Predict<Qa>>>>,
}

#[derive(Module)]
#[module(part)]
struct Unsearchable {
    helpers: Helpers,
}

#[derive(Module)]
#[module(part)]
struct InShared {
    helpers: Arc<Helpers>,
}

#[derive(Module)]
#[module(part)]
struct Steps {
    steps: Vec<Step>,
}

/// No part of a program.
struct Client;

#[derive(Module)]
struct Over<C> {
    client: C,
}

fn main() {
    let _ = named_predictors(&Over { client: Client });
}
