//! Documents by the shapes of their types: what a body says, what is wrong with it, and that the schema allows what the
//! reader accepts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod requests;

use dsrs::document::{Change, DocumentForm, longest, schema_of};
use dsrs::problem::Problems;
use dsrs::value::Payload;
use dsrs_api::schedule::ScheduleSettings;
use dsrs_api::webhook::{ScoreThreshold, WebhookEvent, WebhookSettings};
use proptest::prelude::*;
use serde_json::{Value, json};

const COMPLETE: &str =
    r#"{"name": "on-call", "url": "https://a.example/x", "events": ["run.failed"]}"#;

fn new(body: &str) -> Result<Change<WebhookSettings>, Problems> {
    Change::read_new(&Payload::from_json(body).unwrap(), Problems::new())
}

fn patch(body: &str) -> Change<WebhookSettings> {
    Change::read_patch(&Payload::from_json(body).unwrap(), Problems::new()).unwrap()
}

fn empty() -> WebhookSettings {
    WebhookSettings {
        name: String::new(),
        url: String::new(),
        description: String::new(),
        events: Vec::new(),
        graph: None,
        score: None,
        enabled: true,
    }
}

fn stored() -> WebhookSettings {
    WebhookSettings {
        name: "on-call".into(),
        url: "https://a.example/x".into(),
        description: "for Ann".into(),
        events: vec![WebhookEvent::ScoreBelow],
        graph: Some("support-reply".into()),
        score: Some(ScoreThreshold { metric: "quality".into(), below: 0.5 }),
        enabled: false,
    }
}

/// The problems as `POINTER CODE`.
fn places(problems: &Problems) -> Vec<String> {
    problems.iter().map(|problem| format!("{} {:?}", problem.pointer, problem.code)).collect()
}

#[test]
fn a_new_document_has_the_defaults_of_what_it_does_not_name() {
    let created = new(COMPLETE).unwrap().apply(&empty()).unwrap();
    let expected = WebhookSettings {
        name: "on-call".into(),
        url: "https://a.example/x".into(),
        events: vec![WebhookEvent::RunFailed],
        ..empty()
    };
    assert_eq!(created, expected);
}

#[test]
fn every_problem_of_a_body_is_reported_with_its_place() {
    let body = r#"{"name": "on call", "url": "ftp://a.example", "events": ["run.failed", "run.failed", "run.begun"],
        "description": 3, "score": {"metric": "", "over": 1}, "enabeld": true}"#;
    assert_eq!(
        places(&new(body).unwrap_err()),
        [
            "/name InvalidName",
            "/url InvalidValue",
            "/description WrongType",
            "/events/2 InvalidValue",
            "/events/1 DuplicateName",
            "/score/metric InvalidValue",
            "/score/below MissingField",
            "/score/over UnknownField",
            "/enabeld UnknownField",
        ]
    );
    assert_eq!(places(&new("{}").unwrap_err()).len(), 3);
    assert_eq!(places(&new("[]").unwrap_err()), [" WrongType"]);
}

#[test]
fn a_body_that_could_be_read_is_checked_further_beside_its_problems() {
    let body = COMPLETE.replace("{", r#"{"description": 3, "#);
    let change = new(&body).unwrap();
    assert_eq!(places(change.problems()), ["/description WrongType"]);
    assert_eq!(change.apply(&empty()).unwrap().name, "on-call");
}

#[test]
fn a_draft_has_what_could_be_read_beside_all_problems() {
    let body = r#"{"name": "a b", "overlap": "queue", "catch_up": 1, "request": []}"#;
    let body = Payload::from_json(body).unwrap();
    let draft = Change::<ScheduleSettings>::read_draft(&body, Problems::new()).unwrap();
    assert!(draft.sets("overlap") && !draft.sets("name") && !draft.sets("request"));
    assert_eq!(
        places(draft.problems()),
        [
            "/name InvalidName",
            "/cron MissingField",
            "/catch_up WrongType",
            "/graph MissingField",
            "/target MissingField",
            "/request WrongType",
        ]
    );
}

#[test]
fn an_empty_list_is_reported_once() {
    assert_eq!(places(patch(r#"{"events": []}"#).problems()), ["/events InvalidValue"]);
    assert_eq!(places(patch(r#"{"events": [3]}"#).problems()), ["/events/0 WrongType"]);
}

#[test]
fn a_change_leaves_what_it_does_not_name() {
    let changed = patch(r#"{"enabled": true, "description": null}"#).apply(&stored()).unwrap();
    assert_eq!(changed, WebhookSettings { enabled: true, ..stored() });
}

#[test]
fn null_is_a_value_only_of_members_that_may_be_null() {
    let change = patch(r#"{"graph": null, "name": null}"#);
    assert!(change.sets("graph") && !change.sets("name"));
    assert_eq!(change.apply(&stored()).unwrap(), WebhookSettings { graph: None, ..stored() });
}

/// The schema of a webhook, and what it refers to.
fn schemas(form: DocumentForm) -> (Value, Value) {
    let (schema, definitions) = schema_of::<WebhookSettings>(form);
    (serde_json::to_value(schema).unwrap(), serde_json::to_value(definitions).unwrap())
}

#[test]
fn the_schema_has_rules_words_and_defaults() {
    let (schema, definitions) = schemas(DocumentForm::New);
    assert_eq!(schema["required"], json!(["name", "url", "events"]));
    assert_eq!(schema["properties"]["url"]["maxLength"], 2048);
    assert_eq!(schema["properties"]["description"]["type"], json!(["string", "null"]));
    assert_eq!(schema["properties"]["events"]["minItems"], 1);
    assert_eq!(definitions["WebhookEventName"]["enum"][4], "score.below");
    let (patch, _) = schemas(DocumentForm::Patch);
    assert_eq!(patch.get("required"), None);
}

#[test]
fn a_form_finds_the_longest_text_of_a_field() {
    let longest = longest::<WebhookSettings>;
    assert_eq!((longest("name"), longest("url"), longest("enabled")), (Some(64), Some(2048), None));
}

/// The schema of new webhooks, with what it refers to.
fn validator() -> jsonschema::Validator {
    let (mut schema, definitions) = schemas(DocumentForm::New);
    schema["components"] = json!({"schemas": definitions});
    jsonschema::validator_for(&schema).unwrap()
}

/// A value of a member, which may fit or not.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..600).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[A-Za-z0-9._ -]{0,70}".prop_map(Value::from),
        "https?://[a-z]{0,9}(\\.example)?/?".prop_map(Value::from),
        Just(json!(["run.failed"])),
        Just(json!(["run.failed", "score.below", "run.failed"])),
        Just(json!([])),
        Just(json!({"metric": "quality", "below": 1})),
        Just(json!({"metric": "", "below": 0.5})),
    ]
}

/// The body of a webhook, of which some members are missing, wrong or unknown.
fn body() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "name",
        "url",
        "events",
        "description",
        "graph",
        "score",
        "enabled",
        "colour",
    ]);
    let changes = prop::collection::vec((name, value(), any::<bool>()), 0..4);
    changes.prop_map(|changes| {
        let mut body: Value = serde_json::from_str(COMPLETE).unwrap();
        let members = body.as_object_mut().unwrap();
        for (name, value, is_removed) in changes {
            match is_removed {
                true => drop(members.remove(name)),
                false => drop(members.insert(name.to_owned(), value)),
            }
        }
        body
    })
}

proptest! {
    #[test]
    fn the_schema_allows_what_the_reader_accepts(body in body()) {
        let read = new(&body.to_string());
        let is_accepted = read.is_ok_and(|change| change.problems().is_empty());
        prop_assert!(!is_accepted || validator().is_valid(&body), "{body}");
    }

    #[test]
    fn a_document_survives_being_read_again(
        name in "[A-Za-z0-9._-]{1,64}",
        description in "[^\\x00]{0,500}",
        graph in prop::option::of("[a-z]{1,9}"),
        below in any::<f32>().prop_filter("finite", |below| below.is_finite()),
        enabled: bool,
    ) {
        let score = Some(ScoreThreshold { metric: "quality".into(), below: below.into() });
        let written = WebhookSettings { name, description, graph, score, enabled, ..stored() };
        let body = dsrs::reflect::to_payload(&written).unwrap();
        let change = Change::<WebhookSettings>::read_new(&body, Problems::new()).unwrap();
        prop_assert!(change.problems().is_empty());
        prop_assert_eq!(change.apply(&empty()).unwrap(), written);
    }
}
