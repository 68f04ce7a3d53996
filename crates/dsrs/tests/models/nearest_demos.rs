//! Demos chosen for each call by an embedding model: the prompt, invalid states, failures, and the
//! budget.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use dsrs::adapter::ChatAdapter;
use dsrs::lm::{
    Budget, BudgetAccount, BudgetedReplies, Embedder, EmbeddingModel, Embeddings, Gate, Gates,
    Lane, LmError, LmErrorKind, LmReply, Model, Models, Prices, RecordedReply, RecordingError,
    ReplyStore, RequestKey, RequestTrace, ScriptedLm, Usage, Vectors,
};
use dsrs::predict::{
    Ctx, DynPredictor, NearestDemos, PredictErrorKind, PredictState, RunScope, SchemaPredictor,
    Span, SpanKind, SpanStatus, read_state, state_to_payload,
};
use dsrs::problem::{At, Problems};
use dsrs::signature::SignatureSchema;
use dsrs::value::Payload;
use dsrs_synthetic::SyntheticEmbedder;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use crate::story::{fields, json, over, signature};

const DEMOS: &str = r#"[
    {"input": {"message": "Where is my parcel?"}, "output": {"queue": "delivery"}},
    {"input": {"message": "I cannot log in."}, "output": {"queue": "account"}},
    {"input": {"message": "My parcel did not come."}, "output": {"queue": "delivery"}},
    {"input": {"message": "The card was charged twice."}, "output": {"queue": "billing"}}]"#;

fn schema() -> Arc<SignatureSchema> {
    signature("{}", r#""message, shop: str? -> queue""#)
}

/// The demos with their vectors.
async fn state(k: u32) -> PredictState {
    let state = crate::story::state(&format!(r#"{{"demos": {DEMOS}}}"#));
    let texts = state.demos.iter().map(|demo| ChatAdapter::inputs_text(&schema(), &demo.input));
    let texts: Vec<Arc<str>> = texts.map(Arc::from).collect();
    let vectors =
        Vectors::of(&SyntheticEmbedder.embed(&texts, None).await.unwrap().vectors).unwrap();
    PredictState { nearest: Some(NearestDemos { model: "vectors".into(), k, vectors }), ..state }
}

async fn predictor(k: u32) -> SchemaPredictor {
    let mut predictor = SchemaPredictor::new(schema(), "sort");
    predictor.load_state(state(k).await, &At::Root).unwrap();
    predictor
}

fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::always("[[ ## queue ## ]]\ndelivery\n\n[[ ## completed ## ]]"))
}

/// A run over an LM and an embedding model.
fn run(lm: &Arc<ScriptedLm>, embedder: impl Embedder + 'static) -> Ctx {
    let prices = Some(Prices::of(1_000_000.0, 0.0));
    let vectors = EmbeddingModel { prices, ..EmbeddingModel::of("vectors", Arc::new(embedder)) };
    over(Models::new([Model::of("default", lm.clone())], None).with_embedding([vectors]))
}

async fn call(predictor: &SchemaPredictor, ctx: &Ctx, message: &str) -> Result<String, String> {
    let input = json(&format!(r#"{{"message": "{message}", "shop": null}}"#));
    let found = predictor.forward(ctx, input.as_map().unwrap().clone()).await;
    found.map(|outputs| outputs["queue"].to_json()).map_err(|error| error.to_string())
}

/// The prompt of a request and the trace of its run, as readable text.
fn shown(lm: &ScriptedLm, spans: &[Span]) -> String {
    let mut text = String::new();
    for said in lm.requests()[0].chat.messages().skip(1) {
        let _ = writeln!(text, "{:?}: {}\n", said.role, said.content);
    }
    for span in spans {
        let _ = writeln!(text, "{:?} {:?}, below {:?}", span.kind, span.status, span.parent);
        if span.kind == SpanKind::Embedding {
            let json = |fields: &Option<_>| Payload::map(fields.clone().unwrap()).to_json();
            let (inputs, outputs) = (json(&span.inputs), json(&span.outputs));
            let _ = writeln!(text, "  {inputs}\n  {outputs}\n  {:?}", span.usage.unwrap());
        }
    }
    text
}

#[tokio::test]
async fn a_call_shows_the_nearest_demos_with_the_nearest_last() {
    let (lm, predictor) = (lm(), predictor(2).await);
    let ctx = run(&lm, SyntheticEmbedder);
    let answer = call(&predictor, &ctx, "My parcel is late, where is it?").await;
    assert_eq!(answer.unwrap(), r#""delivery""#);
    insta::assert_snapshot!(shown(&lm, &ctx.trace().take()));
}

#[tokio::test]
async fn each_call_chooses_demos_and_prefers_the_first_of_equals() {
    let (lm, predictor) = (lm(), predictor(1).await);
    let ctx = run(&lm, SyntheticEmbedder);
    for message in ["I cannot log in!", "Charged twice, the card?", "Xyzzy 99 qqq"] {
        call(&predictor, &ctx, message).await.unwrap();
    }
    let shown = lm.requests().into_iter().map(|request| {
        let demo = request.chat.messages().nth(1).unwrap().content.to_string();
        demo.lines().nth(1).unwrap().to_owned()
    });
    let shown: Vec<String> = shown.collect();
    assert_eq!(shown[..2], ["I cannot log in.", "The card was charged twice."]);
    let chosen = ctx.trace().take().into_iter().filter_map(|span| {
        (span.kind == SpanKind::Embedding).then(|| Payload::map(span.outputs.unwrap()).to_json())
    });
    let last = chosen.last().unwrap();
    assert!(!last.contains(r#""likeness":1.0"#), "{last}");
}

#[tokio::test]
async fn embeddings_are_counted_with_their_price() {
    let (lm, predictor) = (lm(), predictor(1).await);
    let (ctx, tally) = run(&lm, SyntheticEmbedder).with_tally();
    call(&predictor, &ctx, "one two").await.unwrap();
    let usage = tally.sum().usage;
    // `message: one two` has three words.
    assert_eq!((usage.lm_calls, usage.cost), (2, Some(3.0)));
    assert!(tally.sum().raw.is_some_and(|raw| raw.contains("delivery")));
}

#[tokio::test]
async fn a_state_round_trips_and_is_checked_against_its_demos() {
    let tuned = state(2).await;
    let written = state_to_payload(&tuned).to_json();
    assert_eq!(crate::story::state(&written), tuned);
    assert!(written.contains(r#""nearest":{"model":"vectors","k":2,"dimensions":256,"vectors":""#));

    let one = PredictState { demos: tuned.demos[..1].to_vec(), ..tuned };
    let mut predictor = SchemaPredictor::new(schema(), "sort");
    let refused = predictor.load_state(one, &At::Root.key("sort")).unwrap_err().to_string();
    assert_eq!(
        refused,
        "/sort/nearest/vectors: there are 4 vectors for 1 demos; set `nearest` to one vector for \
         each demo, or to null to show all demos (invalid_value)"
    );
}

#[test]
fn all_problems_of_nearest_are_reported_together() {
    let read = |text: &str| {
        let mut problems = Problems::new();
        read_state(&json(text), &At::Root, &mut problems);
        problems
            .iter()
            .map(|p| format!("{} {} {}\n", p.pointer, p.code, p.detail))
            .collect::<String>()
    };
    let mut text = read(r#"{"nearest": {"k": 0, "dimensions": "2", "vectors": 3, "modle": "v"}}"#);
    text += &read(r#"{"nearest": {"model": "v", "k": 1, "dimensions": 2, "vectors": "AACAfw=="}}"#);
    text += &read(r#"{"nearest": {"model": "v", "k": 1, "dimensions": 1, "vectors": "AACAfw=="}}"#);
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn new_demos_need_new_vectors() {
    let before = state(2).await;
    let patched = |change: &str| {
        let (mut state, mut problems) = (before.clone(), Problems::new());
        state.patch(&json(change), &At::Root, &mut problems);
        (state, problems.to_string())
    };
    let one = r#"{"demos": [{"input": {"message": "a"}, "output": {"queue": "b"}}]}"#;
    assert_eq!(
        patched(one).1,
        "/nearest: other demos need other vectors; set `nearest` to theirs, or to null to show \
         all demos (missing_field)"
    );
    let (all, refused) = patched(&one.replace("{\"demos\"", "{\"nearest\": null, \"demos\""));
    assert_eq!((all.demos.len(), all.nearest, refused.as_str()), (1, None, ""));
    let same = format!(r#"{{"instruction": "Sort.", "demos": {DEMOS}}}"#);
    let (same, refused) = patched(&same);
    assert_eq!((same.nearest, refused.as_str()), (before.nearest.clone(), ""));
    let whole = state_to_payload(&before).to_json();
    assert_eq!(patched(&whole), (before.clone(), String::new()));
}

#[tokio::test]
async fn a_preview_shows_the_first_demos_of_the_pool() {
    let predictor = predictor(2).await;
    let said = predictor.render(&fields(r#"{"message": "The card was charged twice."}"#));
    let shown: Vec<_> = said.iter().map(|said| said.content.lines().nth(1).unwrap_or("")).collect();
    assert_eq!(
        shown[1..],
        [
            "Where is my parcel?",
            "delivery",
            "I cannot log in.",
            "account",
            "The card was charged twice."
        ]
    );
}

/// Fails, or returns vectors of another length.
struct Broken(Option<LmErrorKind>);

impl Embedder for Broken {
    fn embed<'a>(
        &'a self,
        _: &'a [Arc<str>],
        _: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        let failure = self.0.map(|kind| LmError {
            kind,
            message: "no such route".into(),
            status: None,
            retry_after: None,
        });
        let made = Embeddings { vectors: vec![[1.0, 0.0].into()], usage: Usage::default() };
        async move { failure.map_or(Ok(made), Err) }.boxed()
    }
}

#[tokio::test]
async fn a_failing_embedding_model_fails_the_call_by_name() {
    let predictor = predictor(2).await;
    let lm = lm();
    let ctx = run(&lm, Broken(Some(LmErrorKind::Refused)));
    assert_eq!(
        call(&predictor, &ctx, "?").await.unwrap_err(),
        "the embedding model `vectors` failed: no such route"
    );
    let spans = ctx.trace().take();
    let ends: Vec<_> = spans.iter().map(|span| (span.kind, span.status)).collect();
    let failed = SpanStatus::Failed;
    assert_eq!(ends, [(SpanKind::Predictor, failed), (SpanKind::Embedding, failed)]);

    let other = call(&predictor, &run(&lm, Broken(None)), "?").await.unwrap_err();
    assert!(
        other.contains("`vectors` returns vectors of 2 numbers, but those of the demos have 256")
    );
    let none = over(Models::only(lm.clone()));
    let input = fields(r#"{"message": "?", "shop": null}"#);
    let error = predictor.forward(&none, input).await.unwrap_err();
    assert!(matches!(error.kind, PredictErrorKind::UnknownModel { .. }), "{error}");
    assert_eq!(
        error.message,
        "the model `vectors` is not configured; configured embedding models: none"
    );
    assert!(lm.requests().is_empty(), "the LM is asked for nothing");
}

#[tokio::test]
async fn an_empty_pool_sends_no_embedding_request() {
    let text = r#"{"nearest": {"model": "vectors", "k": 1, "dimensions": 2, "vectors": ""}}"#;
    let mut predictor = SchemaPredictor::new(schema(), "sort");
    predictor.load_state(crate::story::state(text), &At::Root).unwrap();
    let lm = lm();
    call(&predictor, &run(&lm, Broken(Some(LmErrorKind::Refused))), "?").await.unwrap();
    assert_eq!(lm.requests()[0].chat.messages().count(), 2);
}

/// The replies paid for, and their usage.
#[derive(Default)]
struct Ledger {
    replies: Mutex<HashMap<RequestKey, LmReply>>,
    paid: Mutex<Vec<Usage>>,
}

impl ReplyStore for Ledger {
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        let found = self.replies.lock().unwrap().get(&key).cloned();
        async { Ok(found) }.boxed()
    }

    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        self.paid.lock().unwrap().push(recorded.usage);
        self.replies.lock().unwrap().extend(recorded.reply.map(|reply| (recorded.key, reply)));
        async { Ok(()) }.boxed()
    }
}

/// The same run with a budget.
fn paid(ctx: &Ctx, budget: Budget, ledger: &Arc<Ledger>) -> Ctx {
    let mut scope = RunScope::new(ctx.run.models.clone(), ctx.run.deadline);
    let account = BudgetAccount::open(budget, Usage::default(), 0.0);
    scope.budgeted = Some(Arc::new(BudgetedReplies::new(account, ledger.clone())));
    Ctx::of(Arc::new(scope), ctx.node.clone(), None)
}

#[tokio::test]
async fn vectors_are_paid_for_once_across_calls_and_restarts() {
    let (lm, predictor, ledger) = (lm(), predictor(1).await, Arc::default());
    let ctx = run(&lm, SyntheticEmbedder);
    let first = paid(&ctx, Budget::default(), &ledger);
    for answer in join_all((0..5).map(|_| call(&predictor, &first, "one two"))).await {
        answer.unwrap();
    }
    // The embedding, then the answer.
    let bought = ledger.paid.lock().unwrap().clone();
    assert_eq!((bought.len(), bought[0].input_tokens, bought[0].cost), (2, 3, Some(3.0)));
    let (again, tally) = paid(&ctx, Budget::default(), &ledger).with_tally();
    call(&predictor, &again, "one two").await.unwrap();
    assert_eq!(ledger.paid.lock().unwrap().len(), 2);
    // The usage is counted all the same.
    assert_eq!((tally.sum().usage.lm_calls, tally.sum().usage.cost), (2, Some(3.0)));
    assert_eq!(lm.requests().len(), 1);
}

#[tokio::test]
async fn embeddings_over_budget_are_not_requested() {
    let (lm, predictor, ledger) = (lm(), predictor(1).await, Arc::default());
    let ctx = run(&lm, SyntheticEmbedder);
    for budget in [
        Budget { lm_calls: Some(0), ..Budget::default() },
        // `message: one two` has 16 bytes, and a message may have 16 more tokens.
        Budget { tokens: Some(31), ..Budget::default() },
        Budget { cost: Some(31.0), ..Budget::default() },
    ] {
        let ctx = paid(&ctx, budget, &ledger);
        let error = call(&predictor, &ctx, "one two").await.unwrap_err();
        assert!(error.starts_with("the budget of `"), "{error}");
        assert!(ctx.run.out_of_budget.load(std::sync::atomic::Ordering::Relaxed));
    }
    assert!(ledger.paid.lock().unwrap().is_empty());
}

#[tokio::test]
async fn embedding_requests_queue_like_any_request() {
    let (lm, predictor) = (lm(), predictor(1).await);
    let gate = Gate::of(1);
    let slow = EmbeddingModel {
        gate: Some(gate.clone()),
        ..EmbeddingModel::of("vectors", Arc::new(SyntheticEmbedder))
    };
    let ctx = over(Models::new([Model::of("default", lm.clone())], None).with_embedding([slow]));
    let lane = Lane::default();
    let held = Gates { lane: &lane, model: Some(&gate), all: None }.pass().await;
    let mut calling = Box::pin(call(&predictor, &ctx, "one"));
    assert!(calling.as_mut().now_or_never().is_none());
    drop(held);
    calling.await.unwrap();
}
