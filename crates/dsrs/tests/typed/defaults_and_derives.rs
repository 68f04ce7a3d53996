//! Defaults of every kind of type, and derives of generated structs on request.

use std::collections::HashSet;

use dsrs::facet::Facet;
use dsrs::reflect::from_payload;
use dsrs::signature::SignatureSchema;
use dsrs::value::Payload;
use dsrs::{Augmentation, Signature, WithReasoning};

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Facet, serde::Serialize, serde::Deserialize,
)]
#[facet(crate = dsrs::facet)]
#[repr(u8)]
enum Currency {
    #[default]
    Usd,
    Eur,
}

#[derive(Signature)]
struct Price {
    #[input]
    text: String,
    #[input]
    #[default = "EUR"]
    currency: String,
    #[input]
    #[default("Eur")]
    read: Currency,
    #[input]
    #[default(Currency::Eur)]
    given: Currency,
    #[input]
    #[default(Currency::default())]
    called: Currency,
    #[input]
    #[default]
    own: Currency,
    #[input]
    #[default(["a", "b"])]
    words: Vec<String>,
    #[input]
    #[default(["Usd", "Eur"])]
    currencies: Vec<Currency>,
    #[input]
    #[default([1, 2])]
    numbers: Vec<u8>,
    #[input]
    #[default(vec![1.5])]
    made: Vec<f64>,
    #[input]
    #[default(Vec::new())]
    empty: Vec<Currency>,
    #[input]
    #[default("maybe")]
    optional: Option<String>,
    #[input]
    #[default = 3]
    count: u8,
    #[output]
    price: f64,
}

#[test]
fn a_default_may_be_of_any_type_of_a_field() {
    let schema = SignatureSchema::try_of::<Price>().unwrap();
    let defaults: Vec<_> = schema
        .inputs
        .iter()
        .filter_map(|field| Some(format!("{} {}", field.name, field.default.as_ref()?.to_json())))
        .collect();
    assert_eq!(
        defaults,
        [
            r#"currency "EUR""#,
            r#"read "Eur""#,
            r#"given "Eur""#,
            r#"called "Usd""#,
            r#"own "Usd""#,
            r#"words ["a","b"]"#,
            r#"currencies ["Usd","Eur"]"#,
            "numbers [1,2]",
            "made [1.5]",
            "empty []",
            r#"optional "maybe""#,
            "count 3",
        ]
    );
    let read: PriceInput = from_payload(&Payload::from_json(r#"{"text": "x"}"#).unwrap()).unwrap();
    assert_eq!(
        (read.currency.as_str(), read.read, read.given),
        ("EUR", Currency::Eur, Currency::Eur)
    );
    assert_eq!((read.called, read.own), (Currency::Usd, Currency::Usd));
    assert_eq!(
        (read.words.concat(), read.currencies.len(), read.numbers),
        ("ab".into(), 2, vec![1, 2])
    );
    assert_eq!(
        (read.made, read.empty.len(), read.optional.as_deref()),
        (vec![1.5], 0, Some("maybe"))
    );
    assert_eq!((read.count, read.text.as_str()), (3, "x"));
}

#[test]
fn a_text_that_is_no_value_of_its_type_is_an_error_of_the_schema() {
    #[derive(Signature)]
    struct Wrong {
        #[input]
        #[default = "Gbp"]
        currency: Currency,
        #[output]
        price: f64,
    }
    let error = SignatureSchema::try_of::<Wrong>().unwrap_err().to_string();
    assert!(error.starts_with("`currency`: ") && error.contains("Gbp"), "{error}");

    #[derive(Signature)]
    struct Late {
        #[output]
        #[default = "Gbp"]
        currency: Currency,
    }
    let error = SignatureSchema::try_of::<Late>().unwrap_err().to_string();
    assert!(error.starts_with("`currency`: ") && error.contains("Gbp"), "{error}");
}

#[derive(Signature)]
#[signature(derive(PartialEq, serde::Serialize, serde::Deserialize), input(derive(Eq, Hash)))]
struct Derived {
    #[input]
    #[serde(rename = "asked")]
    question: String,
    #[output]
    score: f64,
}

#[derive(Augmentation)]
#[augment(output, append, derive(PartialEq, Eq, Hash, serde::Serialize))]
#[allow(dead_code)]
struct Confidence {
    #[default("high")]
    confidence: String,
}

#[test]
fn generated_structs_take_derives_on_request() {
    let one = DerivedInput { question: "?".into() };
    let asked: HashSet<DerivedInput> = [one.clone(), one.clone()].into();
    assert_eq!(asked.len(), 1);
    assert_eq!(serde_json::to_string(&one).unwrap(), r#"{"asked":"?"}"#);
    let read: DerivedOutput = serde_json::from_str(r#"{"score": 0.5}"#).unwrap();
    assert_eq!(read, DerivedOutput { score: 0.5 });
    let with = |text: &str| WithConfidence { inner: 1, confidence: text.into() };
    assert_eq!(with("low"), with("low"));
    assert_eq!(serde_json::to_string(&with("low")).unwrap(), r#"{"inner":1,"confidence":"low"}"#);
    let thought = WithReasoning { reasoning: "so".into(), inner: read };
    assert!(thought == thought.clone());
}
