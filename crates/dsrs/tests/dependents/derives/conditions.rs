use dsrs::{Augmentation, Signature};

#[derive(Signature)]
struct NoExpression {
    #[input]
    #[assert("this >")]
    count: i64,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct OpenText {
    #[input]
    count: i64,
    #[output]
    #[check("this == 'yes", label = "yes")]
    answer: String,
}

#[derive(Signature)]
struct UnknownName {
    #[input]
    #[assert("this > 0", "positive")]
    #[assert("this < limit", "small")]
    count: i64,
    #[output]
    answer: String,
}

#[derive(Augmentation)]
#[augment(output, prepend)]
struct Confidence {
    #[assert("this <= 1)")]
    confidence: f64,
}

fn main() {}
