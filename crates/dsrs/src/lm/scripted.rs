//! An LM for tests, examples and CI. It answers from a script instead of a provider, records its
//! requests, and can fail, delay and hang. Delays use tokio time, so that a paused clock skips them.
//! Knows nothing of signatures: it finds sections by their headers.

mod answer;
pub mod sections;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};

pub use self::answer::ScriptedAnswer;
use self::answer::ScriptedOutcome;
use self::sections::{layout, open_sections};
use super::{DeltaSink, Lm, LmError, LmErrorKind, LmReply, LmRequest, Usage};

type Script = Box<dyn Fn(&LmRequest) -> ScriptedAnswer + Send + Sync>;

/// An LM that answers from a script. Each word counts as a token.
///
/// ```
/// use dsrs::lm::{Chat, DeltaSink, Lm, LmParams, LmRequest, Message, Prefix, ScriptedLm};
///
/// # dsrs::block_on(async {
/// let lm = ScriptedLm::answering(["first", "second one"]);
/// let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user("who are you?")] };
/// let request = LmRequest::new(chat, LmParams::default());
///
/// assert_eq!(&*lm.complete(&request, DeltaSink::closed()).await.unwrap().text, "first");
/// let second = lm.complete(&request, DeltaSink::closed()).await.unwrap();
/// assert_eq!(second.usage.output_tokens, 2);
/// let third = lm.complete(&request, DeltaSink::closed()).await.unwrap_err();
/// assert!(third.message.contains("no answer left"));
/// assert_eq!(lm.requests().len(), 3);
/// # });
/// ```
pub struct ScriptedLm {
    script: Script,
    model: Arc<str>,
    requests: Mutex<Vec<LmRequest>>,
    is_recording: bool,
}

impl ScriptedLm {
    /// Returns these answers in turn; a request beyond them is refused.
    #[must_use]
    pub fn answering(answers: impl IntoIterator<Item = impl Into<ScriptedAnswer>>) -> Self {
        let left: VecDeque<ScriptedAnswer> = answers.into_iter().map(Into::into).collect();
        let (count, left) = (left.len(), Mutex::new(left));
        Self::by(move |_| {
            let next = lock(&left).pop_front();
            next.unwrap_or_else(|| unscripted(&format!("no answer left: it had {count}")))
        })
    }

    /// Returns the same answer to every request.
    #[must_use]
    pub fn always(answer: impl Into<ScriptedAnswer>) -> Self {
        let answer = answer.into();
        Self::by(move |_| answer.clone())
    }

    /// Computes the answer from the request.
    ///
    /// ```
    /// use dsrs::lm::{ScriptedAnswer, LmErrorKind, ScriptedLm};
    ///
    /// let lm = ScriptedLm::by(|request| match request.params.max_tokens {
    ///     Some(0) => ScriptedAnswer::fail(LmErrorKind::Refused, "max_tokens is zero"),
    ///     _ => format!("{} messages", request.chat.messages().count()).into(),
    /// });
    /// # let _ = lm;
    /// ```
    #[must_use]
    pub fn by<A: Into<ScriptedAnswer>>(
        script: impl Fn(&LmRequest) -> A + Send + Sync + 'static,
    ) -> Self {
        let script = Box::new(move |request: &LmRequest| script(request).into());
        Self { script, model: "scripted".into(), requests: Mutex::default(), is_recording: true }
    }

    /// Returns the answer of the first pair whose text occurs in the conversation; a request without
    /// any of them is refused.
    #[must_use]
    pub fn matching(
        pairs: impl IntoIterator<Item = (impl Into<String>, impl Into<ScriptedAnswer>)>,
    ) -> Self {
        let pairs: Vec<(String, ScriptedAnswer)> =
            pairs.into_iter().map(|(text, answer)| (text.into(), answer.into())).collect();
        Self::by(move |request| {
            let holds =
                |text: &str| request.chat.messages().any(|message| message.content.contains(text));
            let found = pairs.iter().find(|(text, _)| holds(text));
            found.map_or_else(|| unscripted("no text that matches"), |(_, answer)| answer.clone())
        })
    }

    /// Answers in `[[ ## field ## ]]` sections: each given field that the request names and does not
    /// fill in, in the given order, then the closing marker. One such LM serves a graph in which the
    /// output of one node is the input of the next.
    ///
    /// ```
    /// use dsrs::lm::{Chat, DeltaSink, Lm, LmParams, LmRequest, Message, Prefix, ScriptedLm};
    ///
    /// # dsrs::block_on(async {
    /// let lm = ScriptedLm::sections([("draft", "hi"), ("reply", "dear all, hi")]);
    /// let asks = "[[ ## draft ## ]]\nhi\n\nanswer with [[ ## reply ## ]], [[ ## completed ## ]]";
    /// let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user(asks)] };
    ///
    /// let request = LmRequest::new(chat, LmParams::default());
    /// let reply = lm.complete(&request, DeltaSink::closed()).await.unwrap();
    /// assert_eq!(&*reply.text, "[[ ## reply ## ]]\ndear all, hi\n\n[[ ## completed ## ]]");
    /// # });
    /// ```
    #[must_use]
    pub fn sections(
        fields: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let fields: Vec<(String, String)> =
            fields.into_iter().map(|(name, text)| (name.into(), text.into())).collect();
        Self::by(move |request| {
            let open = open_sections(request);
            let given = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            layout(given.filter(|(name, _)| open.contains(name)))
        })
    }

    /// The same script under another model name.
    #[must_use]
    pub fn named(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = model.into();
        self
    }

    /// The same script without recording requests, for load tests.
    #[must_use]
    pub const fn forgetful(mut self) -> Self {
        self.is_recording = false;
        self
    }

    /// The requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<LmRequest> {
        lock(&self.requests).clone()
    }
}

impl ScriptedLm {
    async fn answer(&self, request: &LmRequest) -> ScriptedAnswer {
        if self.is_recording {
            lock(&self.requests).push(request.clone());
        }
        let answer = (self.script)(request);
        if !answer.delay.is_zero() {
            tokio::time::sleep(answer.delay).await;
        }
        answer
    }

    async fn conclude(
        &self,
        request: &LmRequest,
        outcome: ScriptedOutcome,
    ) -> Result<LmReply, LmError> {
        match outcome {
            ScriptedOutcome::Text(text) => {
                Ok(LmReply::counting_words(request, text, self.model.clone()))
            }
            ScriptedOutcome::Reply(reply) => Ok(reply),
            ScriptedOutcome::Failure(error) | ScriptedOutcome::Broken(_, error) => Err(error),
            ScriptedOutcome::Silence => std::future::pending().await,
        }
    }
}

impl Lm for ScriptedLm {
    /// A streamed text is sent in deltas of a few characters.
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        mut deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        async move {
            let answer = self.answer(request).await;
            if deltas.is_open() {
                answer.send(&mut deltas).await;
            }
            self.conclude(request, answer.outcome).await
        }
        .boxed()
    }
}

fn unscripted(what: &str) -> ScriptedAnswer {
    ScriptedAnswer::fail(LmErrorKind::Refused, format!("the scripted model has {what}"))
}

impl LmReply {
    /// A text as the reply to a request. Each word counts as a token.
    #[must_use]
    pub fn counting_words(request: &LmRequest, text: Arc<str>, model: Arc<str>) -> Self {
        let input_tokens = request.chat.messages().map(|message| words(&message.content)).sum();
        let output_tokens = words(&text);
        let usage = Usage { lm_calls: 1, input_tokens, output_tokens, ..Usage::default() };
        Self { finish_reason: Some("stop".into()), usage, ..Self::of(text, model) }
    }
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::lm::{Chat, LmParams, Message, Prefix};

    fn asking(prefix: Vec<Message>, turns: Vec<Message>) -> LmRequest {
        LmRequest::new(Chat { prefix: Prefix::of(prefix), turns }, LmParams::default())
    }

    async fn text(lm: &ScriptedLm, request: &LmRequest) -> String {
        lm.complete(request, DeltaSink::closed()).await.unwrap().text.to_string()
    }

    #[tokio::test]
    async fn a_script_mixes_texts_and_failures_and_records_requests() {
        let failure = ScriptedAnswer::fail(LmErrorKind::RateLimited, "slow down")
            .status(429)
            .retry_after(Duration::from_secs(3));
        let lm =
            ScriptedLm::answering([failure, ScriptedAnswer::from("yes it is")]).named("oracle");
        let request = asking(vec![Message::system("be brief")], vec![Message::user("is it so?")]);

        let error = lm.complete(&request, DeltaSink::closed()).await.unwrap_err();
        assert_eq!((error.status, error.retry_after), (Some(429), Some(Duration::from_secs(3))));
        let reply = lm.complete(&request, DeltaSink::closed()).await.unwrap();
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (5, 3));
        assert_eq!(&*reply.model, "oracle");
        assert_eq!(&*lm.requests()[1].chat.turns[0].content, "is it so?");
    }

    #[tokio::test]
    async fn the_first_matching_text_decides_and_other_requests_are_refused() {
        let lm = ScriptedLm::matching([("rain", "umbrella"), ("sun", "hat")]);
        let about = |text: &str| asking(vec![], vec![Message::user(text)]);
        assert_eq!(text(&lm, &about("sun, then rain")).await, "umbrella");
        assert_eq!(text(&lm, &about("sunny")).await, "hat");
        assert_eq!(
            lm.complete(&about("snow"), DeltaSink::closed()).await.unwrap_err().kind,
            LmErrorKind::Refused
        );
    }

    #[tokio::test]
    async fn sections_are_written_for_the_requested_fields() {
        let lm = ScriptedLm::sections([("reply", "fine"), ("draft", "so so"), ("unasked", "no")]);
        let system = Message::system("in: [[ ## draft ## ]]. out: [[ ## reply ## ]]");
        let demo = [
            Message::user("[[ ## reply ## ]]\nfilled in a demo only"),
            Message::assistant("[[ ## unasked ## ]]\nnamed in a demo only"),
        ];
        let prefix = [vec![system.clone()], demo.to_vec()].concat();
        let asked = asking(prefix, vec![Message::user("[[ ## draft ## ]]\nhm")]);
        assert_eq!(text(&lm, &asked).await, "[[ ## reply ## ]]\nfine\n\n[[ ## completed ## ]]");

        let open =
            asking(vec![system], vec![Message::user("[[ ## draft ## ]]\n[[ ## reply ## ]]")]);
        assert!(text(&lm, &open).await.contains("[[ ## draft ## ]]\nso so"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_can_be_late_or_missing() {
        let late = ScriptedAnswer::from("at last").after(Duration::from_secs(60));
        let lm = ScriptedLm::answering([late, ScriptedAnswer::hang()]);
        let request = asking(vec![], vec![]);

        let start = Instant::now();
        assert_eq!(text(&lm, &request).await, "at last");
        assert_eq!(start.elapsed(), Duration::from_secs(60));
        let never = tokio::time::timeout(
            Duration::from_secs(3600),
            lm.complete(&request, DeltaSink::closed()),
        );
        assert!(never.await.is_err());
    }
}
