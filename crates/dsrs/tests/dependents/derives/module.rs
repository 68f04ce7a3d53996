use dsrs::Module;

#[derive(Module)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(Module)]
enum Either {
    One,
}

#[derive(Module)]
#[module(skip)]
struct Whole;

#[derive(Module)]
#[module(part)]
struct Words {
    #[module(skp)]
    one: String,
    #[module]
    two: String,
}

#[derive(Module)]
#[repr(C, packed)]
struct Packed {
    one: u8,
}

fn main() {}
