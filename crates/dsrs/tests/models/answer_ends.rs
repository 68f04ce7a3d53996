//! How an answer ended: cut by a limit, filtered, moved into the reasoning, empty; whole and streamed.

use std::sync::{Arc, Mutex};

use dsrs::lm::{
    LmErrorKind, LmReply, Message, Model, Models, ReplyReasoning, Role, ScriptedAnswer, ScriptedLm,
    ToolCall, Usage,
};
use dsrs::predict::{
    Ctx, DynPredictor, NodeScope, PredictError, PredictErrorKind, RunEvent, RunListener, RunScope,
    SpanKind,
};
use dsrs::value::{Fields, Payload};

use crate::story::{over, predictor, signature};

const SIGNATURE: &str = r#""question -> answer, tags: list[str]""#;
const CUT_TEXT: &str = "[[ ## answer ## ]]\nParis is the cap";
const CUT_LIST: &str = "[[ ## answer ## ]]\nParis\n\n[[ ## tags ## ]]\n[\"city\", \"cap";
const WHOLE: &str =
    "[[ ## answer ## ]]\nParis\n\n[[ ## tags ## ]]\n[\"city\"]\n\n[[ ## completed ## ]]";

/// A reply that ended for this reason.
fn ending(text: &str, reason: &str) -> ScriptedAnswer {
    LmReply { finish_reason: Some(reason.into()), ..LmReply::of(text, "m") }.into()
}

/// A prediction with these settings of its model, on a script.
struct Prediction {
    lm: Arc<ScriptedLm>,
    ctx: Ctx,
    outcome: Result<Fields, PredictError>,
}

async fn predict(settings: &str, answers: Vec<ScriptedAnswer>) -> Prediction {
    predict_with_listener(settings, answers, None).await
}

async fn predict_with_listener(
    settings: &str,
    answers: Vec<ScriptedAnswer>,
    listener: Option<Arc<dyn RunListener>>,
) -> Prediction {
    let lm = Arc::new(ScriptedLm::answering(answers));
    let ctx = listening(Models::only(lm.clone()), listener);
    let outcome = forward(&ctx, settings).await;
    Prediction { lm, ctx, outcome }
}

/// A run with two more attempts after an answer that does not fit.
fn listening(models: Models, listener: Option<Arc<dyn RunListener>>) -> Ctx {
    let ctx = over(models);
    let mut scope = RunScope::new(ctx.run.models.clone(), ctx.run.deadline);
    scope.listener = listener;
    let node = NodeScope { parse_retries: 2, ..(*ctx.node).clone() };
    Ctx::of(Arc::new(scope), node.into(), None)
}

async fn forward(ctx: &Ctx, settings: &str) -> Result<Fields, PredictError> {
    let question = [("question".into(), Payload::str("capital of France?"))];
    let state = format!(r#"{{"lm": {settings}}}"#);
    predictor(&signature("{}", SIGNATURE), &state).forward(ctx, Fields::from_iter(question)).await
}

impl Prediction {
    fn error(&self) -> &PredictError {
        self.outcome.as_ref().unwrap_err()
    }

    fn text(&self, field: &str) -> String {
        self.outcome.as_ref().unwrap()[field].to_json()
    }

    /// The turns of the last request.
    fn last_turns(&self) -> Vec<Message> {
        self.lm.requests().last().unwrap().chat.turns.clone()
    }

    fn report(&self) -> String {
        let spans = self.ctx.trace().take();
        let predictor = spans.iter().find(|span| span.kind == SpanKind::Predictor).unwrap();
        predictor.parse_report.as_ref().map(Payload::to_json).unwrap_or_default()
    }
}

#[tokio::test]
async fn an_answer_that_a_limit_cut_within_an_output_fails_at_once() {
    for (text, field) in [(CUT_TEXT, "answer"), (CUT_LIST, "tags"), ("", "answer")] {
        let prediction = predict(r#"{"max_tokens": 9}"#, vec![ending(text, "length")]).await;
        let error = prediction.error();
        let PredictErrorKind::Incomplete { field: cut, failure } = &error.kind else {
            panic!("{error:?}")
        };
        assert_eq!((error.kind.code(), cut.as_deref()), ("answer_incomplete", Some(field)));
        assert_eq!(&*failure.raw, text);
        assert_eq!(
            error.message,
            format!(
                "the LM's answer is incomplete: `max_tokens` (9) ended it in `{field}`; raise \
                 `max_tokens`, or set `on_length` to `continue` or `accept`"
            )
        );
        assert_eq!(prediction.lm.requests().len(), 1, "a second one would be cut again");
    }
}

#[tokio::test]
async fn an_answer_that_a_limit_cut_behind_its_outputs_is_whole() {
    for text in [WHOLE, "[[ ## answer ## ]]\nParis\n\n[[ ## tags ## ]]\n[\"city\"]\n\n[[ ## comp"] {
        let prediction = predict("{}", vec![ending(text, "max_tokens")]).await;
        assert_eq!(prediction.text("tags"), r#"["city"]"#);
    }
}

#[tokio::test]
async fn a_predictor_may_accept_what_arrived() {
    let accepting = r#"{"on_length": "accept"}"#;
    let prediction = predict(accepting, vec![ending(CUT_LIST, "length")]).await;
    assert_eq!(prediction.text("tags"), r#"["city","cap"]"#);
    assert!(prediction.report().contains(r#""kind":"cut""#), "{}", prediction.report());
    let missing = predict(accepting, vec![ending(CUT_TEXT, "length")]).await;
    assert_eq!(missing.error().kind.code(), "answer_incomplete");
}

#[tokio::test]
async fn a_predictor_may_ask_for_the_rest() {
    let continuing = r#"{"on_length": "continue", "max_tokens": 9}"#;
    let rest = "ital\n\n[[ ## tags ## ]]\n[\"ci";
    let end = "ty\"]\n\n[[ ## completed ## ]]";
    let answers = vec![ending(CUT_TEXT, "length"), ending(rest, "length"), ending(end, "stop")];
    let prediction = predict(continuing, answers).await;
    assert_eq!(prediction.text("answer"), r#""Paris is the capital""#);
    assert_eq!(prediction.text("tags"), r#"["city"]"#);
    let turns = prediction.last_turns();
    assert_eq!(turns.len(), 3);
    assert_eq!(&*turns[1].content, &format!("{CUT_TEXT}{rest}"));

    let endless = predict(continuing, vec![ending(CUT_TEXT, "length"); 9]).await;
    assert_eq!(endless.error().kind.code(), "answer_incomplete");
    assert_eq!(endless.lm.requests().len(), 5);
}

#[tokio::test]
async fn cut_tool_calls_are_never_made() {
    let call = ToolCall { id: "1".into(), name: "find".into(), arguments: r#"{"q": "Par"#.into() };
    let reply = LmReply {
        tool_calls: vec![call],
        finish_reason: Some("length".into()),
        ..LmReply::of("", "m")
    };
    let prediction = predict(r#"{"on_length": "accept"}"#, vec![reply.into()]).await;
    assert!(prediction.error().message.contains("its tool calls"), "{}", prediction.error());
}

#[tokio::test]
async fn reasoning_that_used_the_whole_limit_is_named() {
    let usage = Usage { lm_calls: 1, output_tokens: 64, reasoning_tokens: 64, ..Usage::default() };
    let reply = LmReply { finish_reason: Some("length".into()), usage, ..LmReply::of("", "m") };
    let prediction = predict(r#"{"max_tokens": 64}"#, vec![reply.into()]).await;
    assert_eq!(
        prediction.error().message,
        "the LM's answer is incomplete: reasoning (64 tokens) reached `max_tokens` (64) before the answer \
         began; raise `max_tokens` or lower `reasoning_effort`"
    );
    assert_eq!(prediction.lm.requests().len(), 1);
}

fn thinking(text: &str) -> ScriptedAnswer {
    let reasoning = ReplyReasoning::of(text.to_owned());
    LmReply { reasoning, finish_reason: Some("stop".into()), ..LmReply::of("", "m") }.into()
}

#[tokio::test]
async fn an_answer_that_the_server_took_for_reasoning_is_used() {
    let prediction = predict("{}", vec![thinking(WHOLE)]).await;
    assert_eq!(prediction.text("answer"), r#""Paris""#);
    assert!(prediction.report().contains(r#""kind":"in_reasoning""#), "{}", prediction.report());
    let thoughts = predict("{}", vec![thinking("it may be Paris"); 3]).await;
    assert!(thoughts.error().message.contains("only reasoning"), "{}", thoughts.error());
}

#[tokio::test]
async fn a_filtered_answer_is_not_asked_for_again() {
    let refused = LmReply { refusal: Some("I will not.".into()), ..LmReply::of("", "m") };
    for (answer, said) in [
        (ending("[[ ## answer ## ]]\nPar", "content_filter"), "(`content_filter`)"),
        (ending("", "SAFETY"), "(`SAFETY`)"),
        (ending(WHOLE, "refusal"), "(`refusal`)"),
        (refused.into(), "(`refusal`): I will not."),
    ] {
        let prediction = predict("{}", vec![answer]).await;
        let error = prediction.error();
        assert_eq!(error.kind.code(), "answer_filtered");
        assert!(error.message.ends_with(said), "{error}");
        assert_eq!(prediction.lm.requests().len(), 1);
        let spans = prediction.ctx.trace().take();
        let paid = spans.iter().filter_map(|span| span.usage).map(|usage| usage.lm_calls);
        assert_eq!(paid.sum::<u64>(), 1, "it was paid for");
    }
}

#[tokio::test]
async fn a_filtered_answer_and_a_used_up_quota_leave_the_question_to_the_fallback() {
    let quota = ScriptedAnswer::fail(LmErrorKind::QuotaExhausted, "no credit").status(429);
    for answer in [ending("", "content_filter"), quota.clone()] {
        let first = Arc::new(ScriptedLm::answering([answer]));
        let first = Model { fallback: ["other".into()].into(), ..Model::of("default", first) };
        let other = Model::of("other", Arc::new(ScriptedLm::always(WHOLE)));
        let outputs = forward(&over(Models::new([first, other], None)), "{}").await.unwrap();
        assert_eq!(outputs["answer"], Payload::str("Paris"));
    }
    let alone = predict("{}", vec![quota]).await;
    assert_eq!(alone.error().kind.code(), "provider_quota_exhausted");
    assert_eq!(alone.lm.requests().len(), 1);
}

#[tokio::test]
async fn an_empty_answer_is_never_sent_back_as_a_turn() {
    let answers = vec![ending("", "stop"), ending("  \n", "stop"), ending(WHOLE, "stop")];
    let prediction = predict("{}", answers).await;
    assert_eq!(prediction.text("answer"), r#""Paris""#);
    let requests = prediction.lm.requests();
    for request in &requests {
        let turns = &request.chat.turns;
        assert_eq!(turns.len(), 1);
        assert!(turns[0].role == Role::User && turns[0].content.contains("capital of France?"));
    }
    let lengths: Vec<_> = requests.iter().map(|one| one.chat.turns[0].content.len()).collect();
    assert!(lengths[1] > lengths[0] && lengths[2] == lengths[1], "{lengths:?}");
}

/// The texts of `answer` that a listener receives; a retraction is `<`.
#[derive(Default)]
struct DeltaLog(Mutex<String>);

impl RunListener for DeltaLog {
    fn receive(&self, event: RunEvent<'_>) {
        let mut log = self.0.lock().unwrap();
        match event {
            RunEvent::NodeDelta { field, text, .. } if &**field == "answer" => log.push_str(text),
            RunEvent::NodeRetry { .. } => log.push('<'),
            _ => {}
        }
    }
}

async fn streamed(settings: &str, answers: Vec<ScriptedAnswer>) -> (Prediction, String) {
    let listener = Arc::new(DeltaLog::default());
    let prediction = predict_with_listener(settings, answers, Some(listener.clone())).await;
    let text = listener.0.lock().unwrap().clone();
    (prediction, text)
}

#[tokio::test]
async fn the_rest_of_a_streamed_answer_continues_its_stream() {
    let rest = "ital\n\n[[ ## tags ## ]]\n[]\n\n[[ ## completed ## ]]";
    let answers = || vec![ending(CUT_TEXT, "length"), ending(rest, "stop")];
    let (prediction, text) = streamed(r#"{"on_length": "continue"}"#, answers()).await;
    assert_eq!((prediction.text("tags").as_str(), text.as_str()), ("[]", "Paris is the capital"));

    let again = format!("Paris is the cap{rest}");
    let answers = vec![ending(CUT_TEXT, "length"), ending(&again, "stop")];
    let (prediction, text) = streamed(r#"{"on_length": "continue"}"#, answers).await;
    assert_eq!(prediction.text("answer"), r#""Paris is the capital""#);
    assert!(text.ends_with("<Paris is the capital"), "{text}");

    let (prediction, _) = streamed("{}", vec![ending(CUT_LIST, "length")]).await;
    assert_eq!(prediction.error().kind.code(), "answer_incomplete");
}

#[test]
fn a_reply_keeps_its_refusal_when_it_is_recorded() {
    let reply = LmReply { refusal: Some("no".into()), ..LmReply::of("", "m") };
    assert_eq!(LmReply::from_payload(&reply.to_payload()), Some(reply));
}
