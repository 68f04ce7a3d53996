use dsrs::Data;

#[derive(Clone, Debug, Data)]
enum WithFields {
    Mail { address: String },
    None,
}

#[derive(Clone, Debug, Data)]
enum Numbered {
    One = 1,
    Two = 2,
}

#[derive(Clone, Debug, Data)]
enum Empty {}

#[derive(Clone, Debug, Data)]
struct Borrowed<'a> {
    name: &'a str,
}

#[derive(Clone, Debug, Data)]
struct Attributes {
    #[alias = "two words"]
    name: String,
    #[assert("this >")]
    age: u8,
    callback: fn(String) -> String,
    #[default = Vec::new()]
    words: Vec<String>,
}

#[derive(Clone, Debug, Data)]
enum Single {
    One,
}

fn main() {}
