use dsrs::Signature;

#[derive(Signature)]
#[signature(derives(PartialEq))]
struct Misspelled {
    #[output]
    answer: String,
}

#[derive(Signature)]
#[signature(input(PartialEq))]
struct NoDerive {
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Default {
    #[input]
    #[default = 3]
    name: String,
    #[output]
    answer: String,
}

fn main() {}
