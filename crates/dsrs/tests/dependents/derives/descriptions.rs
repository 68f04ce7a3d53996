use dsrs::Signature;

#[derive(Signature)]
struct Qa {
    #[input(desc = "what is asked")]
    question: String,
    #[output(desc = "fewer than 5 words")]
    answer: String,
    #[output(description = "from 0 to 1")]
    confidence: f64,
}

fn main() {}
