//! Which model receives a request and when: limits of requests in flight, fallbacks, cached replies.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::lm::{
    ConstrainedDecoding, ConstraintForm, Gate, Lm, LmErrorKind, LmParams, LmReply, Model, Models,
    Prices, ReplyCache, ScriptedAnswer, ScriptedLm, ToolCall, ToolSet, ToolSpec,
};
use dsrs::predict::{
    Ctx, DynPredictor, NodeScope, PredictError, PredictErrorKind, RunEvent, RunListener, RunScope,
    Span, SpanKind,
};
use dsrs::value::{Fields, Payload};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};

use crate::story::{fields, over, predictor, signature};

const GOOD: &str = "[[ ## score ## ]]\n7\n\n[[ ## completed ## ]]";
const BAD: &str = "[[ ## score ## ]]\nmany\n\n[[ ## completed ## ]]";
const SCORE: &str = r#""question -> score: int""#;

async fn ask(ctx: &Ctx, question: &str) -> Result<Fields, PredictError> {
    let question = [("question".into(), Payload::str(question))];
    predictor(&signature("{}", SCORE), "{}").forward(ctx, Fields::from_iter(question)).await
}

fn script(answers: impl IntoIterator<Item = impl Into<ScriptedAnswer>>) -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::answering(answers))
}

fn fail(kind: LmErrorKind) -> ScriptedAnswer {
    ScriptedAnswer::fail(kind, format!("{kind:?} it was"))
}

/// A new run over shared models.
fn run_over(models: &Arc<Models>) -> Ctx {
    Ctx::within(models.clone(), Duration::from_secs(600))
}

/// The requests of a run with their model and status.
fn requests(spans: &[Span]) -> Vec<String> {
    let sent = spans.iter().filter(|span| span.kind == SpanKind::Lm);
    let lines = sent.map(|span| {
        let cached = if span.cached { " kept" } else { "" };
        format!("{} {:?}{cached}", span.model.as_deref().unwrap_or_default(), span.status)
    });
    lines.collect()
}

mod turns {
    use super::*;

    /// Sends `times` concurrent requests; returns the seconds until each was answered.
    async fn answered(ctx: &Ctx, times: usize) -> Vec<u64> {
        let start = Instant::now();
        let one = || async {
            ask(ctx, "how many?").await.unwrap();
            start.elapsed().as_secs()
        };
        join_all((0..times).map(|_| one())).await
    }

    fn slow() -> Arc<dyn Lm> {
        Arc::new(ScriptedLm::always(ScriptedAnswer::from(GOOD).after(Duration::from_secs(1))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_with_one_request_is_served_between_those_of_another() {
        let models = Models::new([Model::of("default", slow())], None);
        let models = Arc::new(models.limited(Some(1), None));
        let (busy, modest) = (run_over(&models), run_over(&models));
        let (many, one) = tokio::join!(answered(&busy, 40), answered(&modest, 1));
        assert_eq!((one, many.last()), (vec![3], Some(&41)));

        let spans = busy.trace().take();
        let waits: Vec<_> =
            spans.iter().filter(|span| span.kind == SpanKind::Lm).map(|span| span.queued).collect();
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(waits.get(..4).unwrap(), [None, seconds(1), seconds(3), seconds(4)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_and_a_run_have_their_own_limits() {
        let narrow = Model { gate: Some(Gate::of(2)), ..Model::of("default", slow()) };
        let models = Arc::new(Models::new([narrow], None));
        assert_eq!(answered(&run_over(&models), 5).await, [1, 1, 2, 2, 3]);

        let models = Models::only(slow()).limited(None, Some(1));
        let models = Arc::new(models);
        let runs = [run_over(&models), run_over(&models)];
        let both = tokio::join!(answered(&runs[0], 3), answered(&runs[1], 2));
        assert_eq!(both, (vec![1, 2, 3], vec![1, 2]));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_counts_against_the_time_of_the_node() {
        let models = Models::only(Arc::new(ScriptedLm::always(ScriptedAnswer::hang())))
            .limited(Some(1), None);
        let models = Arc::new(models);
        let (holds, waits) = (run_over(&models), run_over(&models));
        let cancel = async {
            sleep(Duration::from_secs(5)).await;
            waits.run.cancelled.cancel();
        };
        let late = run_over(&models);
        let (held, cancelled, late, ()) =
            tokio::join!(ask(&holds, "a"), ask(&waits, "b"), ask(&late, "c"), cancel);
        assert_eq!(held.unwrap_err().kind, PredictErrorKind::Timeout);
        assert_eq!(cancelled.unwrap_err().kind, PredictErrorKind::Cancelled);
        assert_eq!(late.unwrap_err().kind, PredictErrorKind::Timeout);
        assert!(requests(&waits.trace().take()).is_empty(), "it was never sent");
    }
}

mod fallbacks {
    use super::*;

    fn falls_back(alias: &str, lm: &Arc<ScriptedLm>, to: &[&str]) -> Model {
        let fallback = to.iter().map(|&alias| alias.into()).collect();
        let model = format!("{alias}-1").into();
        Model { fallback, model, ..Model::of(alias, lm.clone()) }
    }

    /// A run without retries. The first model is the default.
    fn run(models: impl IntoIterator<Item = Model>) -> Ctx {
        let models: Vec<Model> = models.into_iter().collect();
        let default = models.first().map(|model| model.alias.clone());
        let ctx = over(Models::new(models, default));
        let node = NodeScope { retries: 0, ..(*ctx.node).clone() };
        Ctx { node: node.into(), ..ctx }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_model_fails_its_fallback_is_asked_with_its_own_settings() {
        let busy = script([fail(LmErrorKind::Provider), fail(LmErrorKind::RateLimited)]);
        let down = Arc::new(ScriptedLm::always(fail(LmErrorKind::Connection)));
        let good = script([GOOD]);
        let params = |temperature| LmParams { temperature, ..LmParams::default() };
        let first = Model {
            params: params(Some(0.1)),
            constrain: ConstrainedDecoding::to(Some(ConstraintForm::Gbnf)).into(),
            ..falls_back("big", &busy, &["mid", "small"])
        };
        let last = Model { params: params(Some(0.9)), ..falls_back("small", &good, &[]) };
        let ctx = run([first, falls_back("mid", &down, &[]), last]);
        let node = NodeScope { retries: 1, ..(*ctx.node).clone() };
        let ctx = Ctx { node: node.into(), ..ctx };
        assert!(ask(&ctx, "how many?").await.is_ok());
        let (traced, asked) = (requests(&ctx.trace().take()), &good.requests()[0]);
        let failed = ["big-1 Failed", "big-1 Failed", "mid-1 Failed", "mid-1 Failed"];
        assert_eq!(traced, [&failed[..], &["scripted Succeeded"]].concat());
        assert_eq!((asked.params.temperature, asked.constraint.is_none()), (Some(0.9), true));
        assert!(busy.requests()[0].constraint.is_some());
        assert_eq!(busy.requests()[0].params.temperature, Some(0.1));
    }

    #[tokio::test(start_paused = true)]
    async fn only_failures_of_the_model_lead_to_a_fallback() {
        use LmErrorKind::{
            Connection, ContextOverflow, Malformed, Provider, RateLimited, Refused, Timeout,
        };
        for kind in [Connection, ContextOverflow, Malformed, Provider, RateLimited, Timeout] {
            let (bad, good) = (script([fail(kind)]), script([GOOD]));
            let ctx = run([falls_back("a", &bad, &["b"]), falls_back("b", &good, &[])]);
            assert!(ask(&ctx, "how many?").await.is_ok(), "{kind:?}");
        }
        let (bad, good) = (script([fail(Refused)]), script([GOOD]));
        let ctx = run([falls_back("a", &bad, &["b"]), falls_back("b", &good, &[])]);
        assert_eq!(ask(&ctx, "how many?").await.unwrap_err().message, "Refused it was");
        assert!(good.requests().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn misfits_cancellation_and_timeouts_lead_to_no_fallback() {
        let (bad, good) = (script([BAD, BAD]), script([GOOD]));
        let ctx = run([falls_back("a", &bad, &["b"]), falls_back("b", &good, &[])]);
        let error = ask(&ctx, "how many?").await.unwrap_err();
        assert!(matches!(error.kind, PredictErrorKind::Parse { .. }), "{error:?}");

        for late in [true, false] {
            let hung = script([ScriptedAnswer::hang()]);
            let ctx = run([falls_back("a", &hung, &["b"]), falls_back("b", &good, &[])]);
            let stop = async {
                sleep(Duration::from_secs(if late { 610 } else { 5 })).await;
                ctx.run.cancelled.cancel();
            };
            let (outcome, ()) = tokio::join!(ask(&ctx, "how many?"), stop);
            let expected =
                if late { PredictErrorKind::Timeout } else { PredictErrorKind::Cancelled };
            assert_eq!(outcome.unwrap_err().kind, expected);
        }
        assert!(good.requests().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn fallbacks_of_a_fallback_follow_it_and_no_model_is_asked_twice() {
        let lms: Vec<_> =
            (0..4).map(|_| Arc::new(ScriptedLm::always(fail(LmErrorKind::Timeout)))).collect();
        let ctx = run([
            falls_back("a", &lms[0], &["b", "d"]),
            falls_back("b", &lms[1], &["c", "a"]),
            falls_back("c", &lms[2], &["d"]),
            falls_back("d", &lms[3], &[]),
        ]);
        let error = ask(&ctx, "how many?").await.unwrap_err();
        assert_eq!(error.message, ["Timeout it was"; 4].join("; then "));
        let order: Vec<_> = requests(&ctx.trace().take());
        assert_eq!(order, ["a-1 Failed", "b-1 Failed", "c-1 Failed", "d-1 Failed"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_conversation_stays_with_the_model_that_answered() {
        let (bad, good) = (script([fail(LmErrorKind::Provider)]), script([BAD, GOOD]));
        let ctx = run([falls_back("a", &bad, &["b"]), falls_back("b", &good, &[])]);
        assert!(ask(&ctx, "how many?").await.is_ok());
        assert_eq!((bad.requests().len(), good.requests().len()), (1, 2));
        assert!(ask(&ctx, "and now?").await.is_err(), "the next prediction asks the first again");
        assert_eq!(bad.requests().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_without_tools_receives_none() {
        let (bad, good) = (script([fail(LmErrorKind::Provider)]), script([GOOD]));
        let first = Model { tools: true, ..falls_back("a", &bad, &["b"]) };
        let ctx = run([first, falls_back("b", &good, &[])]);
        let parameters = RawValue::from_string(r#"{"type": "object"}"#.into()).unwrap();
        let (name, description) = ("search".into(), "finds".into());
        let offered = ToolSet::of([ToolSpec { name, description, parameters: parameters.into() }]);
        let predictor = predictor(&signature("{}", SCORE), "{}");
        let question = fields(r#"{"question": "how many?"}"#);
        let read = |_: &LmReply| Err("no call is expected".to_owned());
        let outputs =
            predictor.forward_with_tools(&ctx, question, &offered, read, |_| None).await.unwrap();
        assert_eq!(outputs, fields(r#"{"score": 7}"#));
        assert!(bad.requests()[0].tools.is_some() && good.requests()[0].tools.is_none());
    }
}

mod cached {
    use super::*;

    fn caching(lm: &Arc<ScriptedLm>) -> Arc<Models> {
        let model = Model {
            cache: Some(Arc::new(ReplyCache::of(1 << 20, Duration::from_secs(600)))),
            prices: Some(Prices::of(1.0, 2.0)),
            ..Model::of("default", lm.clone())
        };
        Arc::new(Models::new([model], None))
    }

    #[tokio::test]
    async fn a_cached_reply_is_free_and_marked_in_the_trace() {
        let lm = script([GOOD]);
        let models = caching(&lm);
        let first = run_over(&models);
        ask(&first, "how many?").await.unwrap();
        let again = run_over(&models);
        let (counting, tally) = again.with_tally();
        assert_eq!(ask(&counting, "how many?").await.unwrap(), fields(r#"{"score": 7}"#));
        let spans = again.trace().take();
        assert_eq!(requests(&spans), ["scripted Succeeded kept"]);
        let usage = spans[1].usage.unwrap();
        assert_eq!((usage.lm_calls, usage.input_tokens, usage.cost), (0, 0, Some(0.0)));
        assert_eq!((spans[1].raw.as_deref(), spans[1].attempt), (Some(GOOD), Some(1)));
        let with_tally = tally.sum();
        assert_eq!((with_tally.usage.lm_calls, with_tally.raw.as_deref()), (0, Some(GOOD)));
        assert_eq!(requests(&first.trace().take()), ["scripted Succeeded"]);

        let other = ask(&run_over(&models), "how much?").await;
        assert!(other.is_err(), "another question is another request");
    }

    #[tokio::test]
    async fn misfits_and_failures_are_not_cached() {
        let lm = script([BAD.into(), fail(LmErrorKind::Refused), BAD.into(), GOOD.into()]);
        let models = caching(&lm);
        assert!(ask(&run_over(&models), "how many?").await.is_err());
        assert!(ask(&run_over(&models), "how many?").await.is_ok());
        assert_eq!(lm.requests().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_equal_requests_of_runs_are_sent_once() {
        let lm =
            Arc::new(ScriptedLm::always(ScriptedAnswer::from(GOOD).after(Duration::from_secs(1))));
        let models = caching(&lm);
        let runs: Vec<Ctx> = (0..20).map(|_| run_over(&models)).collect();
        let answers = join_all(runs.iter().map(|run| ask(run, "how many?"))).await;
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(lm.requests().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_waits_for_an_equal_one_without_a_permit() {
        let lm =
            Arc::new(ScriptedLm::always(ScriptedAnswer::from(GOOD).after(Duration::from_secs(1))));
        let cache = Some(Arc::new(ReplyCache::of(1 << 20, Duration::from_secs(600))));
        let model = Model { cache, ..Model::of("default", lm.clone()) };
        let models = Arc::new(Models::new([model], None).limited(None, Some(1)));
        let (busy, other, start) = (run_over(&models), run_over(&models), Instant::now());
        let questions = ["a", "b", "c", "d"];
        let asked = join_all(questions.map(|question| ask(&busy, question)));
        let last = async {
            ask(&other, "d").await.unwrap();
            start.elapsed().as_secs()
        };
        let (answers, after) = tokio::join!(asked, last);
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!((after, start.elapsed().as_secs()), (1, 3));
        assert_eq!(lm.requests().len(), 4, "what the other run has bought is there for the first");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waits_for_another_keeps_its_own_deadline() {
        let lm = script([ScriptedAnswer::hang(), GOOD.into()]);
        let models = caching(&lm);
        let (first, second, third) = (run_over(&models), run_over(&models), run_over(&models));
        let stop = async {
            sleep(Duration::from_secs(1)).await;
            second.run.cancelled.cancel();
            sleep(Duration::from_secs(1)).await;
            first.run.cancelled.cancel();
        };
        let (one, two, three, ()) =
            tokio::join!(ask(&first, "a"), ask(&second, "a"), ask(&third, "a"), stop);
        assert_eq!(one.unwrap_err().kind, PredictErrorKind::Cancelled);
        assert_eq!(two.unwrap_err().kind, PredictErrorKind::Cancelled);
        assert!(three.is_ok(), "it asks itself");
    }

    #[tokio::test]
    async fn attempts_do_not_share_cached_replies() {
        let lm = script([GOOD, GOOD, GOOD]);
        let run = run_over(&caching(&lm));
        for number in 0..3 {
            ask(&run.for_attempt(number), "how many?").await.unwrap();
        }
        assert_eq!(lm.requests().len(), 3);
        ask(&run.for_attempt(2), "how many?").await.unwrap();
        assert_eq!(lm.requests().len(), 3);
    }

    /// Collects the text of every field.
    #[derive(Default)]
    struct Ear(Mutex<String>);

    impl RunListener for Ear {
        fn receive(&self, event: RunEvent<'_>) {
            if let RunEvent::NodeDelta { field, text, .. } = event {
                self.0.lock().unwrap().push_str(&format!("{field}={text}"));
            }
        }
    }

    #[tokio::test]
    async fn a_listener_receives_a_cached_reply_at_once() {
        let models = caching(&script([GOOD]));
        ask(&run_over(&models), "how many?").await.unwrap();
        let ear = Arc::new(Ear::default());
        let mut scope = RunScope::new(models, Instant::now() + Duration::from_secs(600));
        scope.listener = Some(ear.clone());
        let run = run_over(&Arc::default());
        let run = Ctx { run: Arc::new(scope), ..run };
        ask(&run, "how many?").await.unwrap();
        assert_eq!(*ear.0.lock().unwrap(), "score=7");
    }

    #[tokio::test]
    async fn tool_calls_are_part_of_a_cached_reply() {
        let call = ToolCall { id: "c1".into(), name: "search".into(), arguments: "{}".into() };
        let finish_reason = Some("tool_calls".into());
        let reply = LmReply { tool_calls: vec![call], finish_reason, ..LmReply::of("", "m") };
        let lm = script([reply]);
        let cache = Some(Arc::new(ReplyCache::of(1 << 20, Duration::from_secs(600))));
        let model = Model { cache, tools: true, ..Model::of("default", lm.clone()) };
        let models = Arc::new(Models::new([model], None));
        let parameters = RawValue::from_string(r#"{"type": "object"}"#.into()).unwrap();
        let (name, description) = ("search".into(), "finds".into());
        let offered = ToolSet::of([ToolSpec { name, description, parameters: parameters.into() }]);
        for _ in 0..2 {
            let predictor = predictor(&signature("{}", SCORE), "{}");
            let question = fields(r#"{"question": "how many?"}"#);
            let read = |reply: &LmReply| match reply.tool_calls.len() {
                1 => Ok(fields(r#"{"score": 7}"#)),
                found => Err(format!("{found} calls")),
            };
            let ctx = run_over(&models);
            predictor.forward_with_tools(&ctx, question, &offered, read, |_| None).await.unwrap();
        }
        assert_eq!(lm.requests().len(), 1);
    }
}
