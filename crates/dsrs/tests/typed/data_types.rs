//! `derive(Data)`: types of fields without an attribute of Facet.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::{Models, ScriptedLm};
use dsrs::reflect::{from_payload, to_payload};
use dsrs::signature::SignatureSchema;
use dsrs::value::Payload;
use dsrs::{Ctx, Data, Module, Predict, Signature};

/// How a customer feels.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
enum Mood {
    Calm,
    /// needs an answer today
    #[alias = "furious"]
    Angry,
}

#[derive(Clone, Debug, PartialEq, Data)]
struct Customer {
    /// as in the signature of the mail
    name: String,
    #[alias = "years"]
    #[assert("this < 150", label = "a lifetime")]
    age: Option<u8>,
    #[flatten]
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Data)]
struct Place {
    city: String,
    #[default = "FI"]
    country: String,
}

#[derive(Clone, Debug, PartialEq, Data)]
#[repr(u8)]
enum Contact {
    Mail { address: String },
    Phone(u64),
    None,
}

#[derive(Clone, Debug, PartialEq, Data)]
struct Page<T> {
    items: Vec<T>,
}

/// Read the mail.
#[derive(Signature)]
struct Triage {
    #[input]
    mail: String,
    #[input]
    #[default(Mood::Angry)]
    before: Mood,
    #[output]
    mood: Mood,
    #[output]
    customers: Page<Customer>,
    #[output]
    contact: Contact,
}

#[tokio::test]
async fn an_answer_is_read_as_types_that_derive_data() {
    let lm = Arc::new(ScriptedLm::sections([
        ("mood", "furious"),
        (
            "customers",
            r#"{"items": [{"name": "Ada", "years": 36, "city": "Turku", "country": "FI"}]}"#,
        ),
        ("contact", r#"{"address": "ada@example.org"}"#),
    ]));
    let ctx = Ctx::within(Models::only(lm.clone()).into(), Duration::from_secs(60));
    let asked = TriageInput { mail: "Where is my order?".into(), before: Mood::Calm };
    let found = Predict::<Triage>::new().call(&ctx, asked).await.unwrap();
    assert_eq!(found.mood, Mood::Angry);
    let place = Place { city: "Turku".into(), country: "FI".into() };
    let ada = Customer { name: "Ada".into(), age: Some(36), place };
    assert_eq!(found.customers, Page { items: vec![ada] });
    assert_eq!(found.contact, Contact::Mail { address: "ada@example.org".into() });
    let prompt: String =
        lm.requests()[0].chat.messages().map(|one| one.content.to_string()).collect();
    for part in
        ["needs an answer today", "as in the signature of the mail", "How a customer feels."]
    {
        assert!(prompt.contains(part), "{part} is not in\n{prompt}");
    }
}

#[tokio::test]
async fn asserts_and_defaults_of_a_type_hold() {
    let schema = SignatureSchema::try_of::<Triage>().unwrap();
    assert_eq!(schema.inputs[1].default.as_ref().unwrap().to_json(), r#""Angry""#);
    let lm = Arc::new(ScriptedLm::sections([
        ("mood", "Calm"),
        (
            "customers",
            r#"{"items": [{"name": "Ada", "years": 200, "city": "Turku", "country": "FI"}]}"#,
        ),
        ("contact", "None"),
    ]));
    let ctx = Ctx::within(Models::only(lm).into(), Duration::from_secs(60));
    let asked = TriageInput { mail: "Hello".into(), before: Mood::Calm };
    let error = Predict::<Triage>::new().call(&ctx, asked).await.unwrap_err();
    assert!(error.message.contains("a lifetime"), "{error}");
}

#[test]
fn values_are_data_and_back() {
    let place = Payload::from_json(r#"{"city": "Turku"}"#).unwrap();
    let place: Place = from_payload(&place).unwrap();
    assert_eq!((&*place.city, &*place.country), ("Turku", "FI"));
    let values = [Contact::Phone(7), Contact::None, Contact::Mail { address: "a@b".into() }];
    let written = values.each_ref().map(|value| to_payload(value).unwrap());
    let read = written.each_ref().map(|payload| from_payload::<Contact>(payload).unwrap());
    assert_eq!(read, values);
    let moods = [Mood::Calm, Mood::Angry].map(|mood| to_payload(&mood).unwrap().to_json());
    assert_eq!(moods, [r#""Calm""#, r#""Angry""#]);
}
