use dsrs::Signature;

#[derive(Signature)]
struct NoOutput {
    #[input]
    question: String,
}

fn main() {}
