//! The program in an answer. Knows no Python.

use std::sync::Arc;

use crate::value::{Fields, Payload};

/// The fence that LMs put around code.
const FENCE: &str = "```";

/// The program in an output, without the fence that LMs put around code.
pub(in crate::strategy) fn code_of(answer: &Fields, field: &str) -> Arc<str> {
    let Some(Payload::Str(text)) = answer.get(field) else { return "".into() };
    match unfenced(text) {
        Some(code) => code.into(),
        None => text.clone(),
    }
}

/// The inside of the first fence, if the text has one. Programs may contain the fence in a string: an
/// opening fence ends its line but for a word, and a closing one begins its line.
fn unfenced(text: &str) -> Option<&str> {
    let is_word = |rest: &str| rest.trim().chars().all(char::is_alphanumeric);
    let mut opening = text.match_indices(FENCE).filter_map(|(place, _)| {
        let (rest, code) = text.get(place + FENCE.len()..)?.split_once('\n')?;
        is_word(rest).then_some(code)
    });
    let code = opening.next()?;
    let closing = code.match_indices(FENCE).find_map(|(place, _)| {
        let before = code.get(..place)?;
        let line = before.rsplit('\n').next().unwrap_or(before);
        line.trim().is_empty().then_some(before)
    });
    let code = closing.unwrap_or(code).trim_end();
    Some(code.strip_suffix(FENCE).unwrap_or(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        code_of(&Fields::from_iter([("code".into(), Payload::from(text))]), "code").to_string()
    }

    #[test]
    fn a_program_is_extracted_from_its_fence() {
        assert_eq!(code("x = 1\nx"), "x = 1\nx");
        assert_eq!(code("```python\nx = 1\n  \nx\n```"), "x = 1\n  \nx");
        assert_eq!(code("Here it is:\n```\nx\n```\nDone."), "x");
        assert_eq!(code("```python\nx = 1"), "x = 1");
        assert_eq!(code("Here: ```python\nx = 1```"), "x = 1");
        let splits = "fence = '```'\nparts = text.split('```')\nlen(parts)";
        assert_eq!(code(splits), splits);
        assert_eq!(code(&format!("```python\n{splits}\n```")), splits);
    }
}
