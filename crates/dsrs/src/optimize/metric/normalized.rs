//! `normalized_exact`: the output equals the expected value, ignoring case, articles, punctuation
//! and space, as in the evaluation of SQuAD (Rajpurkar et al. 2016, its `evaluate-v1.1.py`), over
//! Unicode.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::form::form;
use crate::value::Payload;

/// Words that say nothing.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

pub(super) fn score(expected: &Payload, output: &Payload) -> f64 {
    f64::from(u8::from(form(expected, normal) == form(output, normal)))
}

/// A text without what makes no difference. A text that is nothing but articles and punctuation
/// keeps them: the answers `A` and `the` are two.
pub(super) fn normal(text: &str) -> String {
    let plain = plain(text);
    let bare: String = plain.chars().filter(|sign| !is_punctuation(*sign)).collect();
    let words = bare.split_whitespace().filter(|word| !ARTICLES.contains(word));
    let words = words.collect::<Vec<_>>().join(" ");
    if words.is_empty() { plain } else { words }
}

/// A text in lower case and compatible characters (NFKC), with single spaces.
pub(super) fn plain(text: &str) -> String {
    let text: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What SQuAD drops (the marks of ASCII, `$` and `+` among them), and what Unicode calls punctuation.
fn is_punctuation(sign: char) -> bool {
    sign.is_ascii_punctuation()
        || (!sign.is_ascii() && sign.general_category_group() == GeneralCategoryGroup::Punctuation)
}
