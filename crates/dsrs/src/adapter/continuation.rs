//! Asks for the rest of a cut answer, and joins both parts. Does not know why the answer was cut.

use super::outputs::Outputs;
use super::sections::{AnswerText, Scanner};
use crate::coerce::Leniencies;
use crate::lm::Message;

/// Asks for the rest of the last message.
const REQUEST: &str = "Your last message was cut off by a limit on its length. Write only the rest of it: start with the \
    character that follows its last one, and repeat nothing.";

/// The longest and the shortest repetition of the end of a part that is recognized, in bytes.
const OVERLAP: std::ops::RangeInclusive<usize> = 8..=400;

/// The message that asks for the rest.
pub(super) fn request() -> Message {
    Message::user(REQUEST)
}

/// Both parts as one answer. Models repeat the end of the first part, or write an output once more from its start.
pub(super) fn join(outputs: &Outputs, text: &str, rest: &str) -> String {
    let before = match repeated_section(outputs, text, rest) {
        Some(start) => text.get(..start).unwrap_or(text),
        None => text,
    };
    let repeated = if before.len() == text.len() { overlap(text, rest) } else { 0 };
    format!("{before}{}", rest.get(repeated..).unwrap_or(rest))
}

/// Where the output begins with which the rest begins, too.
fn repeated_section(outputs: &Outputs, text: &str, rest: &str) -> Option<usize> {
    let scanned = |text| {
        let source = AnswerText { text, outputs, allowed: Leniencies::ALL, ended: true };
        let mut scanner = Scanner::new(outputs, Leniencies::ALL);
        scanner.advance(&source);
        scanner
    };
    let rest = scanned(rest);
    let first = rest.sections().first().filter(|_| rest.lead().is_empty())?;
    Some(scanned(text).section(first.output?)?.head)
}

/// How many bytes of the rest repeat the end of the text.
fn overlap(text: &str, rest: &str) -> usize {
    let ends = rest.char_indices().map(|(start, c)| start + c.len_utf8());
    let ends = ends.take_while(|end| end <= OVERLAP.end()).filter(|end| end >= OVERLAP.start());
    ends.filter(|end| text.ends_with(rest.get(..*end).unwrap_or_default())).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::adapter::ChatPlan;
    use crate::problem::{At, Problems};
    use crate::signature::read_signature;
    use crate::types::TypeScope;
    use crate::value::Payload;

    fn plan() -> ChatPlan {
        let (mut problems, mut scope) = (Problems::new(), TypeScope::default());
        let written = Payload::str("q -> a, b");
        let draft = read_signature(&written, &mut scope, &At::Root, &mut problems).unwrap();
        ChatPlan::new(Arc::new(draft.finish(scope.finish())))
    }

    #[test]
    fn a_rest_follows_its_text_without_what_it_repeats() {
        let (plan, text) = (plan(), "[[ ## a ## ]]\nThe quick brown f");
        let whole = "[[ ## a ## ]]\nThe quick brown fox";
        for rest in
            ["ox", "quick brown fox", "The quick brown fox", "[[ ## a ## ]]\nThe quick brown fox"]
        {
            assert_eq!(plan.join(text, rest), whole, "{rest}");
        }
    }

    #[test]
    fn an_output_that_is_written_again_replaces_its_part() {
        let (plan, text) = (plan(), "[[ ## a ## ]]\none\n\n[[ ## b ## ]]\ntw");
        assert_eq!(
            plan.join(text, "[[ ## b ## ]]\ntwo"),
            "[[ ## a ## ]]\none\n\n[[ ## b ## ]]\ntwo"
        );
        let other = "[[ ## a ## ]]\nother\n\n[[ ## b ## ]]\ntwo";
        assert_eq!(plan.join(text, other), other);
        let next = plan.join("[[ ## a ## ]]\none\n\n", "[[ ## b ## ]]\ntwo");
        assert_eq!(next, "[[ ## a ## ]]\none\n\n[[ ## b ## ]]\ntwo");
    }
}
