use dsrs::Signature;

#[derive(Signature)]
struct Qa {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Again {
    #[input(flatten)]
    base: QaInput,
    #[input]
    question: String,
    #[output]
    answer: String,
}

fn main() {}
