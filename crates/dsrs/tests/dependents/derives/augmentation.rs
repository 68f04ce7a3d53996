use dsrs::Augmentation;

#[derive(Augmentation)]
#[augment(output, before)]
struct Place {
    reasoning: String,
}

#[derive(Augmentation)]
struct Generic<T> {
    reasoning: T,
}

fn main() {}
