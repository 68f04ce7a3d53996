use dsrs::module::named_predictors;
use dsrs::{BestOfN, Ctx, Module, Predict, Signature};

#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

/// Its predictors are findable; nothing says what it does.
#[derive(Module)]
struct Brief {
    answer: Predict<Qa>,
}

async fn ask(ctx: &Ctx, brief: Brief) {
    let _ = named_predictors(&brief);
    let _ = brief.call(ctx, QaInput { question: "?".into() }).await;
}

fn best(brief: Brief) {
    let _ = BestOfN::new(brief, 3, 1.0, |_, _| 1.0);
}

fn main() {}
