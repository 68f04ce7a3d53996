use dsrs::Signature;

#[derive(Clone, Debug, dsrs::facet::Facet)]
#[facet(crate = dsrs::facet)]
#[repr(u8)]
enum Mood {
    Calm,
    Angry,
}

#[derive(Signature)]
struct Triage {
    #[input]
    #[default = Mood::Angry]
    mood: Mood,
    #[input]
    #[default = -3]
    number: i64,
    #[input]
    #[default = vec![1.5]]
    weights: Vec<f64>,
    #[output]
    answer: String,
}

fn main() {}
