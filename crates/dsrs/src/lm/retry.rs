//! Sends an LM request, or texts to an embedding model, and retries failures that may be
//! transient. Each attempt first waits for the gates. Ends when the request is answered, the attempts
//! are used up, the deadline passes or the run is cancelled. Knows LMs by trait; its caller traces
//! the attempts.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    DeltaSink, Embedder, Embeddings, GatePermits, Gates, Lm, LmError, LmErrorKind, LmReply,
    LmRequest, RequestTrace, batches,
};

const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// How often and until when a request is attempted.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy<'a> {
    /// Attempts after the first one.
    pub retries: u32,
    /// The latest end of the request.
    pub deadline: Instant,
    /// Cancels the request.
    pub cancelled: &'a CancellationToken,
    /// Whether the text is streamed while it arrives.
    pub is_streamed: bool,
    /// The limits that an attempt waits for; it holds their permits until it has ended.
    pub gates: Gates<'a>,
}

/// The progress of one attempt.
#[derive(Clone, Copy, Debug)]
pub enum RetryEvent<'a> {
    /// The request is sent.
    Started {
        /// Attempts are counted from 1.
        number: u32,
        /// The time that it waited for its permits.
        waited: Duration,
    },
    /// The next delta of its answer has arrived.
    Delta(&'a str),
    /// It has succeeded or failed. An attempt whose future is dropped never ends.
    Ended(&'a Result<LmReply, LmError>),
}

/// Sends the request, and again after transient failures. Waits as long as the provider asks, else
/// for a random time below a limit that doubles with each attempt. If that wait would not end before
/// the deadline, the failure of the provider is returned at once.
///
/// `on_attempt` receives the start and the end of each attempt, also of one that the deadline or
/// cancellation ended, and the deltas of its answer if it is streamed.
///
/// # Errors
/// The failure of the last attempt; `Timeout` when the deadline passes before or during an attempt;
/// `Cancelled`.
pub async fn complete(
    lm: &dyn Lm,
    request: &LmRequest,
    policy: &RetryPolicy<'_>,
    mut on_attempt: impl FnMut(RetryEvent<'_>) + Send,
) -> Result<LmReply, LmError> {
    let mut number = 1;
    loop {
        let (permits, waited) = admit(policy, number).await?;
        on_attempt(RetryEvent::Started { number, waited });
        let result = attempt(lm, request, policy, number, &mut on_attempt).await;
        drop(permits);
        on_attempt(RetryEvent::Ended(&result));
        match result {
            Err(error) => pause(policy, number, error).await?,
            answered => return answered,
        }
        number += 1;
    }
}

/// Returns vectors for any number of texts, in their order. Each batch is retried on its own, as
/// [`complete`] does, so that no vector is requested twice. All requests carry the same
/// `trace`.
///
/// # Errors
/// Those of [`complete`]; `Malformed` if the vectors of two batches differ in length.
pub async fn embed(
    embedder: &dyn Embedder,
    texts: &[Arc<str>],
    trace: Option<&RequestTrace>,
    policy: &RetryPolicy<'_>,
) -> Result<Embeddings, LmError> {
    let mut all = Embeddings::default();
    for batch in batches(texts) {
        all.add(embed_batch(embedder, batch, trace, policy).await?)?;
    }
    Ok(all)
}

async fn embed_batch(
    embedder: &dyn Embedder,
    batch: &[Arc<str>],
    trace: Option<&RequestTrace>,
    policy: &RetryPolicy<'_>,
) -> Result<Embeddings, LmError> {
    let mut number = 1;
    loop {
        let (permits, _) = admit(policy, number).await?;
        let result = within(policy, embedder.embed(batch, trace), number).await.flatten();
        drop(permits);
        match result {
            Err(error) => pause(policy, number, error).await?,
            embeddings => return embeddings,
        }
        number += 1;
    }
}

/// Waits for the permits of an attempt, unless the request is cancelled or too late.
async fn admit(policy: &RetryPolicy<'_>, number: u32) -> Result<(GatePermits, Duration), LmError> {
    if policy.cancelled.is_cancelled() {
        return Err(cancelled());
    }
    if policy.deadline <= Instant::now() {
        return Err(too_late(number));
    }
    permits(policy, number).await
}

/// Waits before the next attempt; returns the failure if there is none.
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
    let mut on_delta = |delta: &str| on_attempt(RetryEvent::Delta(delta));
    let deltas =
        if policy.is_streamed { DeltaSink::to(&mut on_delta) } else { DeltaSink::closed() };
    within(policy, lm.complete(request, deltas), number).await?
}

/// Waits until an attempt may be sent; returns the time that this took.
async fn permits(
    policy: &RetryPolicy<'_>,
    number: u32,
) -> Result<(GatePermits, Duration), LmError> {
    if policy.gates.are_open() {
        return Ok((GatePermits::default(), Duration::ZERO));
    }
    let before = Instant::now();
    let permits = within(policy, policy.gates.pass(), number).await.map_err(|error| {
        let waiting = "; it was still waiting for its turn, because requests in flight are limited";
        LmError { message: error.message + waiting, ..error }
    })?;
    Ok((permits, before.elapsed()))
}

/// Waits for a step of an attempt, at most until the deadline or cancellation.
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

/// Full jitter: a random wait below a limit that doubles. The backon crate adds jitter to the full
/// wait instead, so that callers that failed together retry together.
pub(crate) fn backoff(number: u32, roll: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1_u32.checked_shl(number - 1).unwrap_or(u32::MAX));
    doubled.min(LONGEST_WAIT).mul_f64(roll)
}

fn too_late(number: u32) -> LmError {
    let message = format!("the time limit passed before the model answered (attempt {number})");
    LmError { kind: LmErrorKind::Timeout, message, status: None, retry_after: None }
}

/// The failure of a cancelled request.
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

    /// Runs a script; returns the outcome (text or kind), the time it took and the attempts reported.
    async fn run(lm: &ScriptedLm, retries: u32, within: Duration) -> (String, Duration, Vec<u32>) {
        let token = CancellationToken::new();
        let start = Instant::now();
        let lane = Lane::default();
        let policy = policy(&token, &lane, retries, within);
        let mut numbers = Vec::new();
        let on_attempt = |event: RetryEvent<'_>| {
            if let RetryEvent::Started { number, .. } = event {
                numbers.push(number);
            }
        };
        let result = complete(lm, &request(), &policy, on_attempt).await;
        let outcome = match result {
            Ok(reply) => reply.text.to_string(),
            Err(error) => format!("{:?}", error.kind),
        };
        (outcome, start.elapsed(), numbers)
    }

    fn failing(kind: LmErrorKind) -> ScriptedAnswer {
        ScriptedAnswer::fail(kind, "so it is")
    }

    fn busy(seconds: u64) -> ScriptedAnswer {
        failing(LmErrorKind::RateLimited).status(429).retry_after(Duration::from_secs(seconds))
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_retried_until_the_answer_arrives() {
        use LmErrorKind::{Connection, Malformed, Provider, RateLimited, Timeout};
        for kind in [Connection, Malformed, Provider, RateLimited, Timeout] {
            let lm = ScriptedLm::answering([failing(kind), failing(kind), "done".into()]);
            let (outcome, took, numbers) = run(&lm, 2, MINUTE).await;
            assert_eq!((outcome.as_str(), numbers), ("done", vec![1, 2, 3]));
            assert!(took <= Duration::from_millis(252 + 502), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_request_is_not_sent_again() {
        let lm = ScriptedLm::answering([failing(LmErrorKind::Refused), "never".into()]);
        assert_eq!(run(&lm, 5, MINUTE).await, ("Refused".into(), Duration::ZERO, vec![1]));
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_last_attempt_its_failure_is_returned() {
        let lm = ScriptedLm::answering([
            failing(LmErrorKind::Provider),
            failing(LmErrorKind::Connection),
            "never".into(),
        ]);
        let (outcome, _, numbers) = run(&lm, 1, MINUTE).await;
        assert_eq!((outcome.as_str(), numbers), ("Connection", vec![1, 2]));
        let lm = ScriptedLm::always(failing(LmErrorKind::Provider));
        assert_eq!(run(&lm, 0, MINUTE).await.2, [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_retry_after_of_the_provider_is_exact() {
        let lm = ScriptedLm::answering([busy(30), busy(0), "done".into()]);
        let (outcome, took, _) = run(&lm, 2, MINUTE).await;
        assert_eq!((outcome.as_str(), took.as_secs()), ("done", 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_fails_at_once_with_the_retry_after() {
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
    async fn a_model_that_never_answers_times_out_at_the_deadline() {
        let lm = ScriptedLm::answering([failing(LmErrorKind::Provider), ScriptedAnswer::hang()]);
        let (outcome, took, numbers) = run(&lm, 9, MINUTE).await;
        assert_eq!((outcome.as_str(), took.as_secs(), numbers), ("Timeout", 60, vec![1, 2]));
        let lm = ScriptedLm::always("unasked");
        assert_eq!(run(&lm, 9, Duration::ZERO).await.0, "Timeout");
        assert!(lm.requests().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn cancellation_ends_a_request_in_flight_and_a_wait_between_two() {
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
    async fn an_attempt_waits_for_a_permit_and_a_backoff_holds_none() {
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
                let on_attempt = |event: RetryEvent<'_>| {
                    if let RetryEvent::Started { waited, .. } = event {
                        waits.push(waited.as_secs());
                    }
                };
                let text = complete(lm, &request(), policy, on_attempt).await.unwrap().text;
                (text.to_string(), start.elapsed().as_secs(), waits)
            }
        };
        let waits = tokio::join!(waits(&other), waits(&other), waits(&first));
        assert_eq!(waits.0, ("meanwhile".into(), 2, vec![0]));
        assert_eq!(waits.1, ("meanwhile".into(), 4, vec![2]));
        assert_eq!(waits.2, ("late".into(), 16, vec![4, 0]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_after_the_deadline_is_a_timeout() {
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
    fn the_limit_of_a_backoff_doubles_up_to_eight_seconds() {
        let longest: Vec<u128> =
            [1, 2, 3, 6, 7, 40, u32::MAX].map(|number| backoff(number, 1.0).as_millis()).into();
        assert_eq!(longest, [250, 500, 1000, 8000, 8000, 8000, 8000]);
        assert_eq!(backoff(3, 0.5), Duration::from_millis(500));
        assert_eq!(backoff(3, 0.0), Duration::ZERO);
    }
}
