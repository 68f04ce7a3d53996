use dsrs::{BestOfN, Ctx, Predict, PredictError, Signature};

#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

fn main() {
    let limit = String::from("Turku");
    let owns = async move |_: &Ctx, _: &QaInput, output: &QaOutput| {
        Ok::<_, PredictError>(output.answer == limit)
    };
    let _ = BestOfN::judged(Predict::<Qa>::new(), 3, 1.0, owns);
}
