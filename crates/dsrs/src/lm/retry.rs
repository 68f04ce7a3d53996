//! Sends a request to an LM, or texts to an embedding model, each try when it is its turn, until it is answered, the tries are used
//! up, time is over or nobody wants the answer any more. Knows LMs by trait; what an attempt means
//! to a trace is the caller's.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    Embedder, Embeddings, GatePermits, Gates, Lm, LmError, LmErrorKind, LmReply, LmRequest, batches,
};

const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// How often, how long, and whether at all.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy<'a> {
    /// Tries after the first one.
    pub retries: u32,
    /// When the answer must be there.
    pub deadline: Instant,
    /// Cancelled when the answer is no longer wanted.
    pub cancelled: &'a CancellationToken,
    /// Whether the text is to be heard while it arrives.
    pub is_streamed: bool,
    /// What a try waits for before it is sent, and holds until it has ended.
    pub gates: Gates<'a>,
}

/// What becomes of one try.
#[derive(Clone, Copy, Debug)]
pub enum RetryEvent<'a> {
    /// It is sent.
    Started {
        /// Tries are counted from 1.
        number: u32,
        /// How long it has waited for its turn.
        waited: Duration,
    },
    /// The next piece of its answer has come.
    Delta(&'a str),
    /// It ended, whichever way. A try that is dropped on its way never ends.
    Ended(&'a Result<LmReply, LmError>),
}

/// Sends the request, and again after failures that may pass. Waits as long as the provider asks,
/// else for a random time below a limit that doubles with each try. A wait that would not end
/// before the deadline is not begun: the provider's failure is returned at once.
///
/// `on_attempt` is told of each try when it is sent and when it has ended, also when time or
/// cancellation ended it; and of the pieces of its answer, where they are to be heard.
///
/// # Errors
/// The failure of the last try; `Timeout` when the deadline passes before or during a try;
/// `Cancelled`.
pub async fn complete(
    lm: &dyn Lm,
    request: &LmRequest,
    policy: &RetryPolicy<'_>,
    mut on_attempt: impl FnMut(RetryEvent<'_>) + Send,
) -> Result<LmReply, LmError> {
    let mut number = 1;
    loop {
        let (passed, waited) = admitted(policy, number).await?;
        on_attempt(RetryEvent::Started { number, waited });
        let result = attempt(lm, request, policy, number, &mut on_attempt).await;
        drop(passed);
        on_attempt(RetryEvent::Ended(&result));
        match result {
            Err(error) => pause(policy, number, error).await?,
            answered => return answered,
        }
        number += 1;
    }
}

/// Vectors for any number of texts, in their order: batch by batch, each sent again as
/// [`complete`] sends a request, so that what has come is not asked for twice.
///
/// # Errors
/// As of [`complete`]; vectors of one batch that do not go with those of another are `Malformed`.
pub async fn embed(
    embedder: &dyn Embedder,
    texts: &[Arc<str>],
    policy: &RetryPolicy<'_>,
) -> Result<Embeddings, LmError> {
    let mut all = Embeddings::default();
    for batch in batches(texts) {
        all.add(embedded(embedder, batch, policy).await?)?;
    }
    Ok(all)
}

async fn embedded(
    embedder: &dyn Embedder,
    batch: &[Arc<str>],
    policy: &RetryPolicy<'_>,
) -> Result<Embeddings, LmError> {
    let mut number = 1;
    loop {
        let (passed, _) = admitted(policy, number).await?;
        let result = within(policy, embedder.embed(batch), number).await.flatten();
        drop(passed);
        match result {
            Err(error) => pause(policy, number, error).await?,
            embedded => return embedded,
        }
        number += 1;
    }
}

/// Waits for the turn of a try, if there is to be one at all.
async fn admitted(
    policy: &RetryPolicy<'_>,
    number: u32,
) -> Result<(GatePermits, Duration), LmError> {
    if policy.cancelled.is_cancelled() {
        return Err(cancelled());
    }
    if policy.deadline <= Instant::now() {
        return Err(too_late(number));
    }
    turn(policy, number).await
}

/// Waits before the next try, or gives the failure back where there is none.
async fn pause(policy: &RetryPolicy<'_>, number: u32, error: LmError) -> Result<(), LmError> {
    if !error.is_transient() || number > policy.retries {
        return Err(error);
    }
    let wait = error.retry_after.unwrap_or_else(|| backoff(number, fastrand::f64()));
    if wait >= policy.deadline.saturating_duration_since(Instant::now()) {
        return Err(error);
    }
    tokio::select! {
        biased;
        () = policy.cancelled.cancelled() => Err(cancelled()),
        () = sleep(wait) => Ok(()),
    }
}

async fn attempt(
    lm: &dyn Lm,
    request: &LmRequest,
    policy: &RetryPolicy<'_>,
    number: u32,
    on_attempt: &mut (impl FnMut(RetryEvent<'_>) + Send),
) -> Result<LmReply, LmError> {
    let mut heard = |piece: &str| on_attempt(RetryEvent::Delta(piece));
    let answered =
        if policy.is_streamed { lm.stream(request, &mut heard) } else { lm.complete(request) };
    within(policy, answered, number).await?
}

/// Waits until a try may be sent; tells how long that took.
async fn turn(policy: &RetryPolicy<'_>, number: u32) -> Result<(GatePermits, Duration), LmError> {
    if policy.gates.are_open() {
        return Ok((GatePermits::default(), Duration::ZERO));
    }
    let before = Instant::now();
    let passed = within(policy, policy.gates.pass(), number).await.map_err(|error| {
        let waiting = "; it was still waiting for its turn, as requests are limited";
        LmError { message: error.message + waiting, ..error }
    })?;
    Ok((passed, before.elapsed()))
}

/// Waits for something that a try needs, no longer than there is time and the answer is wanted.
async fn within<T>(
    policy: &RetryPolicy<'_>,
    awaited: impl Future<Output = T>,
    number: u32,
) -> Result<T, LmError> {
    tokio::select! {
        biased;
        () = policy.cancelled.cancelled() => Err(cancelled()),
        done = awaited => Ok(done),
        () = sleep_until(policy.deadline) => Err(too_late(number)),
    }
}

/// Full jitter: anything between nothing and a limit that doubles. Ours, because the backon crate
/// only adds jitter on top of the full wait, which keeps callers that failed together together.
fn backoff(number: u32, roll: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1_u32.checked_shl(number - 1).unwrap_or(u32::MAX));
    doubled.min(LONGEST_WAIT).mul_f64(roll)
}

fn too_late(number: u32) -> LmError {
    let message = format!("the time limit passed before the model answered (attempt {number})");
    LmError { kind: LmErrorKind::Timeout, message, status: None, retry_after: None }
}

/// The failure of a request that is no longer wanted.
pub(crate) fn cancelled() -> LmError {
    let message = "cancelled before the model answered".into();
    LmError { kind: LmErrorKind::Cancelled, message, status: None, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::{Chat, Gate, Lane, LmParams, Prefix, ScriptedAnswer, ScriptedLm};

    const MINUTE: Duration = Duration::from_secs(60);

    fn request() -> LmRequest {
        LmRequest::new(Chat { prefix: Prefix::of([]), turns: vec![] }, LmParams::default())
    }

    fn policy<'a>(
        cancelled: &'a CancellationToken,
        lane: &'a Lane,
        retries: u32,
        within: Duration,
    ) -> RetryPolicy<'a> {
        let gates = Gates { lane, model: None, all: None };
        let deadline = Instant::now() + within;
        RetryPolicy { retries, deadline, cancelled, is_streamed: false, gates }
    }

    /// Runs a script; tells the outcome (text or kind), the time it took and the tries told of.
    async fn run(lm: &ScriptedLm, retries: u32, within: Duration) -> (String, Duration, Vec<u32>) {
        let token = CancellationToken::new();
        let start = Instant::now();
        let lane = Lane::default();
        let policy = policy(&token, &lane, retries, within);
        let mut told = Vec::new();
        let on_attempt = |tried: RetryEvent<'_>| {
            if let RetryEvent::Started { number, .. } = tried {
                told.push(number);
            }
        };
        let result = complete(lm, &request(), &policy, on_attempt).await;
        let outcome = match result {
            Ok(reply) => reply.text.to_string(),
            Err(error) => format!("{:?}", error.kind),
        };
        (outcome, start.elapsed(), told)
    }

    fn failing(kind: LmErrorKind) -> ScriptedAnswer {
        ScriptedAnswer::fail(kind, "so it is")
    }

    fn busy(seconds: u64) -> ScriptedAnswer {
        failing(LmErrorKind::RateLimited).status(429).retry_after(Duration::from_secs(seconds))
    }

    #[tokio::test(start_paused = true)]
    async fn failures_that_may_pass_are_tried_again_until_the_answer_comes() {
        use LmErrorKind::{Connection, Malformed, Provider, RateLimited, Timeout};
        for kind in [Connection, Malformed, Provider, RateLimited, Timeout] {
            let lm = ScriptedLm::answering([failing(kind), failing(kind), "done".into()]);
            let (outcome, took, told) = run(&lm, 2, MINUTE).await;
            assert_eq!((outcome.as_str(), told), ("done", vec![1, 2, 3]));
            assert!(took <= Duration::from_millis(252 + 502), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_request_is_not_sent_again() {
        let lm = ScriptedLm::answering([failing(LmErrorKind::Refused), "never".into()]);
        assert_eq!(run(&lm, 5, MINUTE).await, ("Refused".into(), Duration::ZERO, vec![1]));
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_tries_are_used_up_the_last_failure_is_told() {
        let lm = ScriptedLm::answering([
            failing(LmErrorKind::Provider),
            failing(LmErrorKind::Connection),
            "never".into(),
        ]);
        let (outcome, _, told) = run(&lm, 1, MINUTE).await;
        assert_eq!((outcome.as_str(), told), ("Connection", vec![1, 2]));
        let lm = ScriptedLm::always(failing(LmErrorKind::Provider));
        assert_eq!(run(&lm, 0, MINUTE).await.2, [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_the_provider_asks_for_is_waited_exactly() {
        let lm = ScriptedLm::answering([busy(30), busy(0), "done".into()]);
        let (outcome, took, _) = run(&lm, 2, MINUTE).await;
        assert_eq!((outcome.as_str(), took.as_secs()), ("done", 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_longer_than_the_time_left_fails_at_once_and_keeps_the_providers_wish() {
        let lm = ScriptedLm::always(busy(61));
        let token = CancellationToken::new();
        let start = Instant::now();
        let lane = Lane::default();
        let policy = policy(&token, &lane, 3, MINUTE);
        let error = complete(&lm, &request(), &policy, |_| {}).await.unwrap_err();
        assert_eq!((error.kind, error.status), (LmErrorKind::RateLimited, Some(429)));
        assert_eq!(error.retry_after, Some(Duration::from_secs(61)));
        assert_eq!((start.elapsed(), lm.requests().len()), (Duration::ZERO, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_never_answers_ends_in_a_timeout_at_the_deadline() {
        let lm = ScriptedLm::answering([failing(LmErrorKind::Provider), ScriptedAnswer::hang()]);
        let (outcome, took, told) = run(&lm, 9, MINUTE).await;
        assert_eq!((outcome.as_str(), took.as_secs(), told), ("Timeout", 60, vec![1, 2]));
        let lm = ScriptedLm::always("unasked");
        assert_eq!(run(&lm, 9, Duration::ZERO).await.0, "Timeout");
        assert!(lm.requests().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn cancelling_stops_a_request_in_flight_and_a_wait_between_two() {
        for answer in [ScriptedAnswer::hang(), busy(50)] {
            let (lm, token) = (ScriptedLm::always(answer), CancellationToken::new());
            let start = Instant::now();
            let lane = Lane::default();
            let policy = policy(&token, &lane, 9, MINUTE);
            let request = request();
            let asking = complete(&lm, &request, &policy, |_| {});
            let stopping = async {
                sleep(Duration::from_secs(5)).await;
                token.cancel();
            };
            let (result, ()) = tokio::join!(asking, stopping);
            assert_eq!(result.unwrap_err().kind, LmErrorKind::Cancelled);
            assert_eq!((start.elapsed().as_secs(), lm.requests().len()), (5, 1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_waits_for_its_turn_and_a_wait_for_the_provider_keeps_no_other_waiting() {
        let (gate, lane, token) = (Gate::of(1), Lane::default(), CancellationToken::new());
        let gates = Gates { lane: &lane, model: Some(&gate), all: None };
        let policy = RetryPolicy { gates, ..policy(&token, &lane, 1, MINUTE) };
        let slow = |text: &str| ScriptedAnswer::from(text).after(Duration::from_secs(2));
        let (first, other) = (
            ScriptedLm::answering([busy(10), slow("late")]),
            ScriptedLm::always(slow("meanwhile")),
        );
        let waits = |lm| {
            let policy = &policy;
            async move {
                let mut waits = Vec::new();
                let start = Instant::now();
                let on_attempt = |tried: RetryEvent<'_>| {
                    if let RetryEvent::Started { waited, .. } = tried {
                        waits.push(waited.as_secs());
                    }
                };
                let text = complete(lm, &request(), policy, on_attempt).await.unwrap().text;
                (text.to_string(), start.elapsed().as_secs(), waits)
            }
        };
        let told = tokio::join!(waits(&other), waits(&other), waits(&first));
        assert_eq!(told.0, ("meanwhile".into(), 2, vec![0]));
        assert_eq!(told.1, ("meanwhile".into(), 4, vec![2]));
        assert_eq!(told.2, ("late".into(), 16, vec![4, 0]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_does_not_come_in_time_ends_in_a_timeout_that_says_so() {
        let (gate, lane, token) = (Gate::of(1), Lane::default(), CancellationToken::new());
        let gates = Gates { lane: &lane, model: None, all: Some(&gate) };
        let _held = gates.pass().await;
        let policy = RetryPolicy { gates, ..policy(&token, &lane, 3, MINUTE) };
        let lm = ScriptedLm::always("unasked");
        let error = complete(&lm, &request(), &policy, |_| {}).await.unwrap_err();
        assert_eq!(error.kind, LmErrorKind::Timeout);
        assert!(error.message.contains("waiting for its turn"), "{error}");
        assert!(lm.requests().is_empty());
    }

    #[test]
    fn the_limit_of_a_wait_doubles_up_to_eight_seconds_and_the_wait_is_anywhere_below() {
        let longest: Vec<u128> =
            [1, 2, 3, 6, 7, 40, u32::MAX].map(|number| backoff(number, 1.0).as_millis()).into();
        assert_eq!(longest, [250, 500, 1000, 8000, 8000, 8000, 8000]);
        assert_eq!(backoff(3, 0.5), Duration::from_millis(500));
        assert_eq!(backoff(3, 0.0), Duration::ZERO);
    }
}
