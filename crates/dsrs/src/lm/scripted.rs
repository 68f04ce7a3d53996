//! A scripted LM for tests, examples and CI: it answers from a script instead of a provider, keeps
//! the requests that it saw, and can fail, wait and hang like a real one. Delays are tokio time, so
//! a paused clock skips them. Knows nothing of signatures: sections are found by their headers.

pub(super) mod sections;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};

use self::sections::{layout, wanted_sections};
use super::{DeltaSink, Lm, LmError, LmErrorKind, LmReply, LmRequest, Usage};

/// Bytes of a piece of a text that is heard as it comes.
const PIECE: usize = 5;

type Script = Box<dyn Fn(&LmRequest) -> ScriptedAnswer + Send + Sync>;

/// One answer of a script: a text, a whole reply, a failure or silence, now or after a while.
///
/// ```
/// use std::time::Duration;
/// use dsrs::lm::{ScriptedAnswer, LmErrorKind};
///
/// let slow = ScriptedAnswer::from("hello").after(Duration::from_millis(200));
/// let busy = ScriptedAnswer::fail(LmErrorKind::RateLimited, "too many requests").status(429);
/// # let _ = (slow, busy, ScriptedAnswer::hang());
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedAnswer {
    outcome: Outcome,
    delay: Duration,
    pause: Duration,
}

#[derive(Clone, Debug)]
enum Outcome {
    Text(Arc<str>),
    Reply(LmReply),
    Failure(LmError),
    Broken(Arc<str>, LmError),
    Silence,
}

impl ScriptedAnswer {
    /// A failure of a kind.
    #[must_use]
    pub fn fail(kind: LmErrorKind, message: impl Into<String>) -> Self {
        LmError { kind, message: message.into(), status: None, retry_after: None }.into()
    }

    /// No answer, ever.
    #[must_use]
    pub const fn hang() -> Self {
        Self::now(Outcome::Silence)
    }

    /// A failure in the middle of an answer of which this text has come.
    #[must_use]
    pub fn broken(text: impl Into<Arc<str>>, kind: LmErrorKind, what: impl Into<String>) -> Self {
        let error = LmError { kind, message: what.into(), status: None, retry_after: None };
        Self::now(Outcome::Broken(text.into(), error))
    }

    /// The same answer with a pause before each of its pieces, where it is heard as it comes.
    #[must_use]
    pub const fn pausing(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// The same answer, `delay` later.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The same failure with an HTTP status; other answers have none.
    #[must_use]
    pub const fn status(mut self, status: u16) -> Self {
        if let Outcome::Failure(error) = &mut self.outcome {
            error.status = Some(status);
        }
        self
    }

    /// The same failure with a time to wait; other answers have none.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        if let Outcome::Failure(error) = &mut self.outcome {
            error.retry_after = Some(wait);
        }
        self
    }

    const fn now(outcome: Outcome) -> Self {
        Self { outcome, delay: Duration::ZERO, pause: Duration::ZERO }
    }
}

impl From<&str> for ScriptedAnswer {
    fn from(text: &str) -> Self {
        Self::now(Outcome::Text(text.into()))
    }
}

impl From<String> for ScriptedAnswer {
    fn from(text: String) -> Self {
        Self::now(Outcome::Text(text.into()))
    }
}

impl From<LmReply> for ScriptedAnswer {
    fn from(reply: LmReply) -> Self {
        Self::now(Outcome::Reply(reply))
    }
}

impl From<LmError> for ScriptedAnswer {
    fn from(error: LmError) -> Self {
        Self::now(Outcome::Failure(error))
    }
}

/// An LM that answers from a script. Tokens of a text are counted as its words.
///
/// ```
/// use dsrs::lm::{Chat, Lm, LmParams, LmRequest, Message, Prefix, ScriptedLm};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let lm = ScriptedLm::answering(["first", "second one"]);
/// let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user("who are you?")] };
/// let request = LmRequest::new(chat, LmParams::default());
///
/// assert_eq!(&*lm.complete(&request).await.unwrap().text, "first");
/// assert_eq!(lm.complete(&request).await.unwrap().usage.output_tokens, 2);
/// assert!(lm.complete(&request).await.unwrap_err().message.contains("no answer left"));
/// assert_eq!(lm.requests().len(), 3);
/// # });
/// ```
pub struct ScriptedLm {
    script: Script,
    model: Arc<str>,
    seen: Mutex<Vec<LmRequest>>,
    keeps: bool,
}

impl ScriptedLm {
    /// Gives these answers in turn; a request beyond them is refused.
    #[must_use]
    pub fn answering(answers: impl IntoIterator<Item = impl Into<ScriptedAnswer>>) -> Self {
        let left: VecDeque<ScriptedAnswer> = answers.into_iter().map(Into::into).collect();
        let (count, left) = (left.len(), Mutex::new(left));
        Self::by(move |_| {
            let next = lock(&left).pop_front();
            next.unwrap_or_else(|| unscripted(&format!("no answer left: it had {count}")))
        })
    }

    /// Gives the same answer to every request.
    #[must_use]
    pub fn always(answer: impl Into<ScriptedAnswer>) -> Self {
        let answer = answer.into();
        Self::by(move |_| answer.clone())
    }

    /// Answers by a function of the request.
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
        Self { script, model: "scripted".into(), seen: Mutex::default(), keeps: true }
    }

    /// Gives the answer of the first pair whose text stands anywhere in the conversation; a
    /// request that holds none of them is refused.
    #[must_use]
    pub fn matching(
        pairs: impl IntoIterator<Item = (impl Into<String>, impl Into<ScriptedAnswer>)>,
    ) -> Self {
        let pairs: Vec<(String, ScriptedAnswer)> =
            pairs.into_iter().map(|(text, answer)| (text.into(), answer.into())).collect();
        Self::by(move |request| {
            let holds =
                |text: &str| request.chat.messages().any(|said| said.content.contains(text));
            let found = pairs.iter().find(|(text, _)| holds(text));
            found.map_or_else(|| unscripted("no text that matches"), |(_, answer)| answer.clone())
        })
    }

    /// Answers in `[[ ## field ## ]]` sections: each given field that the request names and does
    /// not fill in itself, in the given order, then the closing marker. So one LM serves a whole
    /// graph, where the output of one node is the input of the next.
    ///
    /// ```
    /// use dsrs::lm::{Chat, Lm, LmParams, LmRequest, Message, Prefix, ScriptedLm};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let lm = ScriptedLm::sections([("draft", "hi"), ("reply", "dear all, hi")]);
    /// let asks = "[[ ## draft ## ]]\nhi\n\nanswer with [[ ## reply ## ]], [[ ## completed ## ]]";
    /// let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user(asks)] };
    ///
    /// let reply = lm.complete(&LmRequest::new(chat, LmParams::default())).await.unwrap();
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
            let wanted = wanted_sections(request);
            let given = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            layout(given.filter(|(name, _)| wanted.contains(name)))
        })
    }

    /// The same script under another model name.
    #[must_use]
    pub fn named(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = model.into();
        self
    }

    /// The same script without a memory of requests, for long loads.
    #[must_use]
    pub const fn forgetful(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// The requests seen so far, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<LmRequest> {
        lock(&self.seen).clone()
    }
}

impl ScriptedLm {
    async fn answer(&self, request: &LmRequest) -> ScriptedAnswer {
        if self.keeps {
            lock(&self.seen).push(request.clone());
        }
        let answer = (self.script)(request);
        if !answer.delay.is_zero() {
            tokio::time::sleep(answer.delay).await;
        }
        answer
    }

    async fn conclude(&self, request: &LmRequest, outcome: Outcome) -> Result<LmReply, LmError> {
        match outcome {
            Outcome::Text(text) => Ok(reply(request, text, self.model.clone())),
            Outcome::Reply(reply) => Ok(reply),
            Outcome::Failure(error) | Outcome::Broken(_, error) => Err(error),
            Outcome::Silence => std::future::pending().await,
        }
    }
}

impl Lm for ScriptedLm {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        async move {
            let answer = self.answer(request).await;
            self.conclude(request, answer.outcome).await
        }
        .boxed()
    }

    /// Texts come in pieces of a few characters.
    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        async move {
            let answer = self.answer(request).await;
            let text = match &answer.outcome {
                Outcome::Text(text) | Outcome::Broken(text, _) => text.clone(),
                Outcome::Reply(reply) => reply.text.clone(),
                Outcome::Failure(_) | Outcome::Silence => "".into(),
            };
            for piece in pieces(&text) {
                if !answer.pause.is_zero() {
                    tokio::time::sleep(answer.pause).await;
                }
                heard(piece);
            }
            self.conclude(request, answer.outcome).await
        }
        .boxed()
    }
}

/// A text in pieces that do not heed what is in it, as tokens do not.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.ceil_char_boundary(PIECE.min(text.len())));
        text = rest;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

fn unscripted(what: &str) -> ScriptedAnswer {
    ScriptedAnswer::fail(LmErrorKind::Refused, format!("the scripted model has {what}"))
}

/// A text as the reply to a request, with words counted as tokens.
pub(super) fn reply(request: &LmRequest, text: Arc<str>, model: Arc<str>) -> LmReply {
    let read = request.chat.messages().map(|message| words(&message.content)).sum();
    let usage =
        Usage { lm_calls: 1, input_tokens: read, output_tokens: words(&text), ..Usage::default() };
    LmReply { finish_reason: Some("stop".into()), usage, ..LmReply::of(text, model) }
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::lm::{Chat, LmParams, Message, Prefix};

    fn asking(prefix: Vec<Message>, turns: Vec<Message>) -> LmRequest {
        LmRequest::new(Chat { prefix: Prefix::of(prefix), turns }, LmParams::default())
    }

    async fn text(lm: &ScriptedLm, request: &LmRequest) -> String {
        lm.complete(request).await.unwrap().text.to_string()
    }

    #[tokio::test]
    async fn a_script_mixes_texts_and_failures_and_remembers_what_it_was_asked() {
        let failure = ScriptedAnswer::fail(LmErrorKind::RateLimited, "slow down")
            .status(429)
            .retry_after(Duration::from_secs(3));
        let lm =
            ScriptedLm::answering([failure, ScriptedAnswer::from("yes it is")]).named("oracle");
        let request = asking(vec![Message::system("be brief")], vec![Message::user("is it so?")]);

        let error = lm.complete(&request).await.unwrap_err();
        assert_eq!((error.status, error.retry_after), (Some(429), Some(Duration::from_secs(3))));
        let reply = lm.complete(&request).await.unwrap();
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (5, 3));
        assert_eq!(&*reply.model, "oracle");
        assert_eq!(&*lm.requests()[1].chat.turns[0].content, "is it so?");
    }

    #[tokio::test]
    async fn the_first_matching_text_decides_and_an_unknown_request_is_refused() {
        let lm = ScriptedLm::matching([("rain", "umbrella"), ("sun", "hat")]);
        let about = |said: &str| asking(vec![], vec![Message::user(said)]);
        assert_eq!(text(&lm, &about("sun, then rain")).await, "umbrella");
        assert_eq!(text(&lm, &about("sunny")).await, "hat");
        assert_eq!(lm.complete(&about("snow")).await.unwrap_err().kind, LmErrorKind::Refused);
    }

    #[tokio::test]
    async fn sections_are_those_that_the_request_names_and_leaves_open() {
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
    async fn an_answer_can_come_late_or_never() {
        let late = ScriptedAnswer::from("at last").after(Duration::from_secs(60));
        let lm = ScriptedLm::answering([late, ScriptedAnswer::hang()]);
        let request = asking(vec![], vec![]);

        let start = Instant::now();
        assert_eq!(text(&lm, &request).await, "at last");
        assert_eq!(start.elapsed(), Duration::from_secs(60));
        let never = tokio::time::timeout(Duration::from_secs(3600), lm.complete(&request));
        assert!(never.await.is_err());
    }
}
