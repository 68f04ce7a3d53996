use dsrs::Signature;

#[derive(Signature)]
struct Attributes {
    unmarked: String,
    #[input]
    #[output]
    both: String,
    #[input(flaten)]
    misspelled: String,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Words {
    #[input]
    #[format("xml")]
    text: String,
    #[output]
    answer: String,
}

#[derive(Signature)]
struct Alias {
    #[output]
    #[alias = "two words"]
    answer: String,
}

#[derive(Signature)]
enum NotAStruct {
    One,
}

fn main() {}
