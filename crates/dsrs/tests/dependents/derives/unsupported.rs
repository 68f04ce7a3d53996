use dsrs::Signature;

#[derive(Signature)]
struct Unsupported {
    #[input]
    callback: fn(String) -> String,
    #[input]
    anything: Box<dyn std::fmt::Debug>,
    #[input]
    pointer: Vec<*const u8>,
    #[output]
    answer: String,
}

fn main() {}
