//! Evidence in the probabilities of tokens: at the first token that distinguishes the answers of a decision, what the model
//! might have written in its place. Knows no endpoints.

use std::sync::Arc;

use super::Evidence;
use super::{Decision, DecisionKind};
use crate::lm::TokenLogprobs;

/// What an LM may write for the answers of a decision.
pub(crate) type AnswerWords = Vec<Arc<str>>;

impl Decision {
    /// The evidence in the tokens of an answer, in which the value begins at a position of the text. `words` are those of the
    /// labels, or `true` and `false`. `None` if no token is one of them.
    pub(in crate::predict) fn of_tokens(
        &self,
        tokens: &[TokenLogprobs],
        text: &str,
        start: usize,
        words: &[Arc<str>],
    ) -> Option<Evidence> {
        let (at, within) = place(tokens, text, start)?;
        let masses = masses(tokens.get(at..)?, within, words);
        let sum: f64 = masses.iter().sum();
        if sum <= 0.0 {
            return None;
        }
        let mut shares = masses.into_iter().map(|mass| mass / sum);
        match self.kind {
            DecisionKind::Bool => shares.next().map(Evidence::Probability),
            DecisionKind::Choice(_) | DecisionKind::Score(_) => {
                Some(Evidence::Distribution(shares.collect()))
            }
        }
    }
}

/// The token at a position of the text, and the position within it. Endpoints may trim the text.
fn place(tokens: &[TokenLogprobs], text: &str, start: usize) -> Option<(usize, usize)> {
    let whole: String = tokens.iter().map(|token| token.token.as_ref()).collect();
    let mut left = whole.find(text)? + start;
    for (at, token) in tokens.iter().enumerate() {
        if left < token.token.len() {
            return Some((at, left));
        }
        left -= token.token.len();
    }
    None
}

/// The probability of each word: that of the tokens which lead to it alone, along what was written.
fn masses(tokens: &[TokenLogprobs], within: usize, words: &[Arc<str>]) -> Vec<f64> {
    let mut masses = vec![0.0; words.len()];
    let (mut written, mut reached) = (String::new(), 1.0);
    for (number, token) in tokens.iter().enumerate() {
        let skipped = if number == 0 { within } else { 0 };
        let lead = token.token.get(..skipped).unwrap_or_default();
        let mut further = None;
        for (position, (alternative, logprob)) in token.alternatives.iter().enumerate() {
            let Some(piece) = alternative.strip_prefix(lead) else { continue };
            let text = format!("{written}{piece}");
            let (fitting, mass) = (fitting(&text, words), reached * logprob.exp());
            let is_open = fitting.len() > 1 && number + 1 < tokens.len();
            if position == 0 && is_open {
                further = Some((text, mass));
                continue;
            }
            // What several words begin with is shared among them.
            let share = mass / fitting.len().max(1) as f64;
            for word in fitting {
                if let Some(sum) = masses.get_mut(word) {
                    *sum += share;
                }
            }
        }
        match further {
            Some(next) => (written, reached) = next,
            None => break,
        }
    }
    masses
}

/// The words that a text may be the beginning of, or that it begins with. Case counts where it distinguishes words.
fn fitting(text: &str, words: &[Arc<str>]) -> Vec<usize> {
    let text = text.trim_start_matches(|sign: char| sign.is_whitespace() || "\"'`".contains(sign));
    let exact = places(words, |word| fits(text, word));
    if !exact.is_empty() {
        return exact;
    }
    let text = text.to_lowercase();
    places(words, |word| fits(&text, &word.to_lowercase()))
}

fn places(words: &[Arc<str>], fits: impl Fn(&str) -> bool) -> Vec<usize> {
    words.iter().enumerate().filter(|(_, word)| fits(word)).map(|(at, _)| at).collect()
}

fn fits(text: &str, word: &str) -> bool {
    match text.strip_prefix(word) {
        Some(rest) => !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_'),
        None => word.starts_with(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, alternatives: &[(&str, f64)]) -> TokenLogprobs {
        let mut all = alternatives.iter().map(|(text, p)| (Arc::from(*text), p.ln()));
        let own = all.clone().find(|(other, _)| **other == *text).map_or(0.0, |(_, p)| p);
        TokenLogprobs::of(text, own, all.by_ref())
    }

    fn shares(tokens: &[TokenLogprobs], text: &str, value: &str, words: &[&str]) -> Vec<String> {
        let words: Vec<Arc<str>> = words.iter().map(|word| Arc::from(*word)).collect();
        let (at, within) = place(tokens, text, text.find(value).unwrap()).unwrap();
        let masses = masses(&tokens[at..], within, &words);
        masses.iter().map(|mass| format!("{mass:.3}")).collect()
    }

    #[test]
    fn the_alternatives_of_the_first_token_are_the_probabilities() {
        let tokens = [
            token("]]\n", &[]),
            token("true", &[("true", 0.7), ("false", 0.2), (" False", 0.05), ("maybe", 0.05)]),
            token("\n", &[]),
        ];
        assert_eq!(shares(&tokens, "]]\ntrue", "true", &["true", "false"]), ["0.700", "0.250"]);
    }

    #[test]
    fn words_that_differ_in_case_are_different_words() {
        let tokens = [token("x", &[("x", 0.9), ("X", 0.1)])];
        assert_eq!(shares(&tokens, "x", "x", &["X", "x"]), ["0.100", "0.900"]);
    }

    #[test]
    fn words_with_a_common_beginning_are_distinguished_by_a_later_token() {
        let tokens = [
            token("bill", &[("bill", 0.8), ("tech", 0.2)]),
            token("ing", &[("ing", 0.75), ("\n", 0.25)]),
        ];
        let words = ["bill", "billing", "technical"];
        assert_eq!(shares(&tokens, "billing", "bill", &words), ["0.200", "0.600", "0.200"]);
    }

    #[test]
    fn a_value_may_begin_within_a_token() {
        let tokens = [
            token("{\"a\":", &[]),
            token(" \"b", &[(" \"b", 0.5), (" \"c", 0.5)]),
            token("\"}", &[]),
        ];
        assert_eq!(shares(&tokens, "{\"a\": \"b\"}", "\"b", &["b", "c"]), ["0.500", "0.500"]);
    }
}
