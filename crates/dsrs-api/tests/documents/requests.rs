//! Bodies of requests that are used at once: what they say, and the problems of their members, alone and together.

use dsrs::document::{DocumentForm, read_document, schema_of};
use dsrs::problem::Problems;
use dsrs::value::Payload;
use dsrs_api::dataset::{ExpectedOutputs, FromRunsRequest};
use dsrs_api::feedback::FeedbackRequest;
use dsrs_api::key::{KeyLimits, KeyRequest, KeyScope};
use dsrs_api::online_evaluation::OnlineEvaluationRequest;
use dsrs_api::webhook::SecretRotation;
use facet::Facet;
use serde_json::{Value, json};

use crate::places;

fn read<T: Facet<'static>>(body: &Value) -> Result<(T, Problems), Problems> {
    read_document(&Payload::from_json(&body.to_string()).unwrap(), Problems::new())
}

/// The problems of a body.
fn wrong<T: Facet<'static>>(body: &Value) -> Vec<String> {
    match read::<T>(body) {
        Ok((_, problems)) | Err(problems) => places(&problems),
    }
}

fn schema<T: Facet<'static>>() -> Value {
    serde_json::to_value(schema_of::<T>(DocumentForm::New).0).unwrap()
}

#[test]
fn a_key_has_no_limits_unless_its_request_names_some() {
    let body = json!({"name": "ci", "scopes": ["read", "admin"], "limits": null});
    let (key, problems) = read::<KeyRequest>(&body).unwrap();
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(
        (key.scopes, key.limits),
        (vec![KeyScope::Read, KeyScope::Admin], KeyLimits::default())
    );
    assert_eq!((key.workspace, key.expires_at), (None, None));
}

#[test]
fn the_problems_of_a_key_are_those_of_its_scopes_limits_and_end_too() {
    let limits = json!({"runs_per_minute": 0, "cost_per_day": 0, "tokens": 1});
    let body = json!({"name": "ci", "scopes": ["fly"], "expires_at": "soon", "limits": limits});
    assert_eq!(
        wrong::<KeyRequest>(&body),
        [
            "/scopes/0 InvalidValue",
            "/expires_at InvalidValue",
            "/limits/runs_per_minute InvalidValue",
            "/limits/cost_per_day InvalidValue",
            "/limits/tokens UnknownField",
        ]
    );
    let none = json!({"name": "ci", "scopes": []});
    assert_eq!(wrong::<KeyRequest>(&none), ["/scopes InvalidValue"]);
}

#[test]
fn integers_are_within_the_range_of_their_type_and_their_rules() {
    let overlap = |value: Value| read::<SecretRotation>(&json!({"overlap_s": value}));
    assert_eq!(overlap(json!(2.0)).unwrap().0, SecretRotation { overlap_s: 2 });
    assert_eq!(overlap(json!(null)).unwrap().0, SecretRotation { overlap_s: 86_400 });
    for value in [json!(-1), json!(604_801), json!(1e30), json!("2")] {
        assert!(!overlap(value.clone()).unwrap().1.is_empty(), "{value}");
    }
    let of_overlap = &schema::<SecretRotation>()["properties"]["overlap_s"];
    assert_eq!((&of_overlap["minimum"], &of_overlap["format"]), (&json!(0), &json!("int64")));
}

/// The problems of feedback, of its members alone and together.
fn wrong_feedback(body: &Value) -> Vec<String> {
    let (feedback, mut problems) = read::<FeedbackRequest>(body).unwrap();
    feedback.check(&mut problems);
    places(&problems)
}

#[test]
fn feedback_says_something_and_a_score_has_a_name() {
    assert!(wrong_feedback(&json!({"name": "helpful", "score": 1})).is_empty());
    assert!(wrong_feedback(&json!({"comment": "\u{0}", "source": "ci"})).is_empty());
    assert_eq!(wrong_feedback(&json!({})), [" MissingField"]);
    assert_eq!(wrong_feedback(&json!({"score": 0.5})), ["/name MissingField"]);
    assert_eq!(
        wrong_feedback(&json!({"name": "a", "score": 0, "category": "b"})),
        ["/category InvalidValue"]
    );
    assert_eq!(wrong_feedback(&json!({"name": "a", "comment": "b"})), ["/name InvalidValue"]);
    assert_eq!(
        wrong_feedback(&json!({"comment": "b", "source": "online"})),
        ["/source InvalidValue"]
    );
}

#[test]
fn a_member_that_cannot_be_read_is_reported_once() {
    for (member, value) in [("score", json!(2)), ("category", json!("")), ("category", json!(3))] {
        let problems = wrong_feedback(&json!({"name": "a", member: value}));
        assert_eq!(problems.len(), 1, "{member}: {problems:?}");
    }
    assert_eq!(wrong_feedback(&json!({"outputs": []})), ["/outputs WrongType"]);
}

#[test]
fn runs_that_become_examples_are_named_once_by_their_ids() {
    let id = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";
    let (request, _) = read::<FromRunsRequest>(&json!({"runs": [id]})).unwrap();
    assert_eq!(request.expected, ExpectedOutputs::Outputs);
    let body =
        json!({"runs": [id, id, "a"], "expected": "all", "corrections": {id: 3}, "split": ""});
    assert_eq!(
        wrong::<FromRunsRequest>(&body),
        [
            "/runs/2 InvalidValue",
            "/runs/1 DuplicateName",
            "/expected InvalidValue",
            format!("/corrections/{id} WrongType").as_str(),
            "/split InvalidName",
        ]
    );
    let runs = &schema::<FromRunsRequest>()["properties"]["runs"];
    assert_eq!(runs["items"], json!({"type": "string", "format": "uuid"}));
}

#[test]
fn values_that_another_reader_reads_have_the_schema_that_their_member_names() {
    let metrics = &schema::<OnlineEvaluationRequest>()["properties"]["metrics"];
    assert_eq!(metrics["additionalProperties"], json!({"$ref": "#/components/schemas/Metric"}));
    let body = json!({"metrics": {"short": {"expression": "true"}}, "sample": 0});
    assert_eq!(wrong::<OnlineEvaluationRequest>(&body), ["/sample InvalidValue"]);
}
