//! Models with constrained decoding: the request, the record, and a server that refuses.

use std::sync::Arc;

use dsrs::lm::{
    ConstrainedDecoding, ConstraintForm, DecodingConstraint, LmErrorKind, LmParams, LmRequest,
    Model, Models, ScriptedAnswer, ScriptedLm,
};
use dsrs::predict::{Ctx, DynPredictor, SpanKind};

use crate::story::{fields, over, predictor, signature};

const ANSWER: &str = "[[ ## score ## ]]\n7\n\n[[ ## completed ## ]]";

fn ctx(lm: &Arc<ScriptedLm>, constrain: &Arc<ConstrainedDecoding>) -> Ctx {
    let params = LmParams { max_tokens: Some(80), ..LmParams::default() };
    let constrain = constrain.clone();
    let model = Model { params, constrain, ..Model::of("held", lm.clone()) };
    over(Models::new([model], Some("held".into())))
}

async fn ask(ctx: &Ctx) -> bool {
    let schema = signature("{}", r#""question -> score: int""#);
    let predictor = predictor(&schema, "{}");
    predictor.forward(ctx, fields(r#"{"question": "how many?"}"#)).await.is_ok()
}

/// The constraint status in the spans of requests.
fn recorded(ctx: &Ctx) -> Vec<Option<&'static str>> {
    let spans = ctx.trace().take();
    let requests = spans.iter().filter(|span| span.kind == SpanKind::Lm);
    requests.map(|span| span.constraint.map(|constraint| constraint.as_str())).collect()
}

fn sent(request: &LmRequest) -> &'static str {
    match &request.constraint {
        Some(DecodingConstraint::Gbnf(_)) => "gbnf",
        Some(DecodingConstraint::JsonSchema { .. }) => "json_schema",
        None => "none",
    }
}

#[tokio::test]
async fn a_constraint_is_sent_and_recorded_in_the_trace() {
    for (form, word, answer) in [
        (ConstraintForm::Gbnf, "gbnf", ANSWER),
        (ConstraintForm::JsonSchema, "json_schema", r#"{"score": 7}"#),
    ] {
        let lm = Arc::new(ScriptedLm::always(answer));
        let ctx = ctx(&lm, &Arc::new(ConstrainedDecoding::to(Some(form))));
        assert!(ask(&ctx).await);
        assert_eq!(lm.requests().iter().map(sent).collect::<Vec<_>>(), [word]);
        assert_eq!(recorded(&ctx), [Some(word)]);
    }
}

#[tokio::test]
async fn a_model_without_constraints_gets_none() {
    let lm = Arc::new(ScriptedLm::always(ANSWER));
    let ctx = ctx(&lm, &Arc::default());
    assert!(ask(&ctx).await);
    assert_eq!(lm.requests().iter().map(sent).collect::<Vec<_>>(), ["none"]);
    assert_eq!(recorded(&ctx), [None]);
}

#[tokio::test]
async fn a_refused_constraint_is_not_sent_again() {
    let lm = Arc::new(ScriptedLm::by(|request: &LmRequest| match &request.constraint {
        Some(_) => ScriptedAnswer::fail(LmErrorKind::ConstraintRefused, "unknown field `grammar`")
            .status(400),
        None => ANSWER.into(),
    }));
    let constrain = Arc::new(ConstrainedDecoding::to(Some(ConstraintForm::Gbnf)));
    let first = ctx(&lm, &constrain);
    assert!(ask(&first).await);
    assert_eq!(recorded(&first), [Some("gbnf"), Some("refused")]);
    let second = ctx(&lm, &constrain);
    assert!(ask(&second).await);
    assert_eq!(recorded(&second), [Some("refused")]);
    assert_eq!(lm.requests().iter().map(sent).collect::<Vec<_>>(), ["gbnf", "none", "none"]);
}

#[tokio::test]
async fn a_retry_has_the_same_constraint() {
    let lm = Arc::new(ScriptedLm::answering(["nothing of the kind", ANSWER]));
    let ctx = ctx(&lm, &Arc::new(ConstrainedDecoding::to(Some(ConstraintForm::Gbnf))));
    assert!(ask(&ctx).await);
    assert_eq!(recorded(&ctx), [Some("gbnf"), Some("gbnf")]);
}

#[tokio::test]
async fn a_measured_model_is_constrained_after_an_answer_that_does_not_fit() {
    let misfit = "I would say seven, more or less.";
    let lm = Arc::new(ScriptedLm::answering([misfit, ANSWER, misfit, ANSWER, ANSWER]));
    let measured = Arc::new(ConstrainedDecoding::measured(ConstraintForm::Gbnf));
    let ctx = ctx(&lm, &measured);
    for _ in 0..3 {
        assert!(ask(&ctx).await);
    }
    let requests: Vec<_> = lm.requests().iter().map(sent).collect();
    assert_eq!(requests, ["none", "gbnf", "none", "gbnf", "gbnf"]);
}

#[tokio::test]
async fn a_measured_endpoint_that_fails_on_constraints_in_any_way_answers_without_them() {
    for kind in [LmErrorKind::Provider, LmErrorKind::Refused, LmErrorKind::Malformed] {
        let lm = Arc::new(ScriptedLm::by(move |request: &LmRequest| match &request.constraint {
            Some(_) => ScriptedAnswer::fail(kind, "no endpoint supports these parameters"),
            None => ANSWER.into(),
        }));
        let measured = Arc::new(ConstrainedDecoding::measured(ConstraintForm::JsonSchema));
        measured.record(false, false);
        measured.record(false, false);
        assert!(measured.applies(false));
        let ctx = ctx(&lm, &measured);
        assert!(ask(&ctx).await, "{kind:?}");
        assert!(!measured.applies(false), "constrained answers fail more often: {kind:?}");
    }
}
