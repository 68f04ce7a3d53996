//! The probabilities of the tokens of an answer, as an endpoint reports them. Knows no words and no endpoints.

use std::sync::Arc;

use crate::value::Payload;

/// One token of an answer, and what the model might have written in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprobs {
    /// The text of the token.
    pub token: Arc<str>,
    /// The most probable tokens at this place with their logarithmic probabilities, this one included.
    pub alternatives: Vec<(Arc<str>, f64)>,
}

impl TokenLogprobs {
    /// A token with its own logarithmic probability, and those of others.
    #[must_use]
    pub fn of(
        token: impl Into<Arc<str>>,
        logprob: f64,
        others: impl IntoIterator<Item = (Arc<str>, f64)>,
    ) -> Self {
        let token = token.into();
        let others = others.into_iter().filter(|(other, _)| *other != token);
        let alternatives = std::iter::once((token.clone(), logprob)).chain(others).collect();
        Self { token, alternatives }
    }

    /// As plain data, for [`Self::from_payload`].
    pub(super) fn to_payload(&self) -> Payload {
        let pair = |(text, logprob): &(Arc<str>, f64)| {
            Payload::list(vec![Payload::Str(text.clone()), Payload::Float(*logprob)])
        };
        Payload::list(self.alternatives.iter().map(pair).collect())
    }

    /// Reads the output of [`Self::to_payload`]; `None` for anything else.
    pub(super) fn from_payload(payload: &Payload) -> Option<Self> {
        let pair = |found: &Payload| {
            let [text, logprob] = found.as_list()? else { return None };
            let logprob = match logprob {
                Payload::Float(number) => *number,
                Payload::Int(number) => *number as f64,
                _ => return None,
            };
            Some((Arc::from(text.as_str()?), logprob))
        };
        let pairs = payload.as_list()?.iter().map(pair);
        let alternatives: Vec<(Arc<str>, f64)> = pairs.collect::<Option<_>>()?;
        let token = alternatives.first()?.0.clone();
        Some(Self { token, alternatives })
    }
}
