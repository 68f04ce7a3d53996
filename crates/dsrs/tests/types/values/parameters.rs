//! The parameters of predictors as values.

use dsrs::predict::{DynPredictor, PredictState, SchemaPredictor, lift, param_id};
use dsrs::problem::At;
use dsrs::signature::SignatureSchema;
use dsrs::value::unwrap;

#[derive(dsrs::Signature)]
#[instruction = "Answer."]
struct QA {
    #[input]
    question: String,
    #[output]
    answer: String,
}

#[test]
fn a_parameter_is_a_value_with_a_stable_name() {
    let predictor = SchemaPredictor::new(SignatureSchema::of::<QA>(), "");
    let value = lift("reply.predict", &predictor);
    assert_eq!(value.reference().unwrap().to_string(), "param:reply.predict");
    assert_eq!(unwrap(&value).unwrap().to_json(), r#"{"instruction":"Answer.","demos":[]}"#);
    let meta = value.meta().unwrap().to_payload().to_json();
    // The same in every process: a hash of path and content, not of an address or a time.
    assert_eq!(meta, r#"{"param_name":"predict","param_id":"reply.predict@bb380f81331d6c83"}"#);
}

#[test]
fn the_id_of_a_parameter_follows_its_content() {
    let mut predictor = SchemaPredictor::new(SignatureSchema::of::<QA>(), "");
    let own = param_id("triage", &predictor);
    let says =
        |text: &str| PredictState { instruction: Some(text.into()), ..PredictState::default() };
    predictor.load_state(says("Answer briefly."), &At::Root).unwrap();
    assert_ne!(param_id("triage", &predictor), own);
    predictor.load_state(says("Answer."), &At::Root).unwrap();
    assert_eq!(param_id("triage", &predictor), own);
    assert_ne!(param_id("reply", &predictor), own);
}
