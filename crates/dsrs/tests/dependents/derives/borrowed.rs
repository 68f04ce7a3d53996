use dsrs::Signature;

#[derive(Signature)]
struct Borrowed<'a> {
    #[input]
    question: &'a str,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Static {
    #[input]
    question: &'static str,
    #[output]
    answer: String,
}

fn main() {}
