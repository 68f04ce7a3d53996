//! Where the end of a cut answer falls: in an output, or behind all of them. Does not know why the answer was cut.

use std::sync::Arc;

use super::assignment::assign;
use super::field_texts::FieldTexts;
use super::field_value;
use super::outputs::{Output, Outputs};
use super::sections::{AnswerText, Scanner};
use crate::coerce::{self, Leniencies, ParseReport};
use crate::types::{Literal, TypeShape, resolve};

/// The output that the end of a cut answer leaves unfinished or unwritten. `None` if every output is whole.
pub(super) fn cut_output(outputs: &Outputs, text: &str) -> Option<Arc<str>> {
    let source = AnswerText { text, outputs, allowed: Leniencies::ALL, ended: true };
    let mut scanner = Scanner::new(outputs, Leniencies::ALL);
    scanner.advance(&source);
    if scanner.behind().is_some() {
        return None;
    }
    let texts = assign(&scanner, &source);
    let first = || outputs.get(0).map(|output| output.name.clone());
    if texts.object.is_some() {
        return if is_closed_object(text) { None } else { first() };
    }
    let last = texts.parts.iter().flatten().map(|part| part.body.end).max();
    let Some(last) = last else { return first() };
    let mut written = outputs.iter().zip(&texts.parts);
    let open = written.find(|(output, part)| match part {
        Some(part) => part.body.end == last && !is_whole(output, &texts, &source, last),
        None => true,
    });
    open.map(|(output, _)| output.name.clone())
}

/// Whether the last text is a whole value: the next header began behind it, or its own form says where it ends.
fn is_whole(output: &Output, texts: &FieldTexts, source: &AnswerText<'_>, last: usize) -> bool {
    let part = texts.parts.iter().flatten().find(|part| part.body.end == last);
    let Some(part) = part else { return false };
    if part.broken.is_some() {
        return true;
    }
    let text = source.slice(&field_value::text_range(source, part));
    coerce::coerce(text, &output.ty, Leniencies::STRICT, &mut ParseReport::default()).is_ok()
        && (text.starts_with(['{', '[']) || is_word(output, text))
}

/// Whether a text is one of the words of a type, and no longer word begins with it.
fn is_word(output: &Output, text: &str) -> bool {
    let is_longer = |word: &&str| word.len() > text.len() && word.starts_with(text);
    let words = words(&resolve(&output.ty.ir, &output.ty.defs).shape);
    words.is_some_and(|words| !words.iter().any(is_longer))
}

/// The words that a type consists of. `None` if it has other values, too.
fn words<'t>(shape: &TypeShape<'t>) -> Option<Vec<&'t str>> {
    match shape {
        TypeShape::Bool | TypeShape::Null => Some(Vec::new()),
        TypeShape::Literal(Literal::Str(word)) => Some(vec![word]),
        TypeShape::Literal(Literal::Bool(_)) => Some(Vec::new()),
        TypeShape::Enum(values) => {
            let names = values.members.keys().map(AsRef::as_ref);
            let aliases = values.members.values().filter_map(|member| member.alias.as_deref());
            Some(names.chain(aliases).collect())
        }
        TypeShape::Union(members) => {
            let parts: Option<Vec<_>> = members.iter().map(|member| words(&member.shape)).collect();
            Some(parts?.concat())
        }
        _ => None,
    }
}

/// Whether an answer that is one object is closed, with or without a fence around it.
fn is_closed_object(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches('`').trim_end();
    let Some(start) = text.find('{') else { return false };
    serde_json::from_str::<serde::de::IgnoredAny>(text.get(start..).unwrap_or_default()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::adapter::ChatPlan;
    use crate::problem::{At, Problems};
    use crate::signature::read_signature;
    use crate::types::TypeScope;
    use crate::value::Payload;

    /// The output in which an answer of a signature is cut.
    fn cut(signature: &str, text: &str) -> Option<String> {
        let (mut problems, mut scope) = (Problems::new(), TypeScope::default());
        let written = Payload::str(signature);
        let draft = read_signature(&written, &mut scope, &At::Root, &mut problems).unwrap();
        let plan = ChatPlan::new(Arc::new(draft.finish(scope.finish())));
        plan.cut_output(text).map(|name| name.to_string())
    }

    #[test]
    fn a_text_without_an_end_mark_is_cut() {
        let text = "[[ ## answer ## ]]\nParis is the cap";
        assert_eq!(cut("q -> answer", text).as_deref(), Some("answer"));
        assert_eq!(cut("q -> answer", "Paris is the cap").as_deref(), Some("answer"));
        assert_eq!(cut("q -> answer", "").as_deref(), Some("answer"));
        let whole = "[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]\nand so on and";
        assert_eq!(cut("q -> answer", whole), None);
    }

    #[test]
    fn the_beginning_of_the_end_mark_ends_an_answer() {
        for end in ["[[ ## compl", "[[ ## completed ##", "[[ ##"] {
            let text = format!("[[ ## answer ## ]]\nParis\n\n{end}");
            assert_eq!(cut("q -> answer", &text), None, "{end}");
        }
    }

    #[test]
    fn a_value_whose_form_says_where_it_ends_is_whole() {
        let of = |ty: &str, value: &str| {
            let text = format!("[[ ## x ## ]]\n{value}");
            cut(&format!("q -> x: {ty}"), &text).is_none()
        };
        assert!(of("list[str]", r#"["a", "b"]"#) && !of("list[str]", r#"["a", "b"#));
        assert!(!of("list[str]", "- a\n- b") && !of("int", "4"));
        assert!(of("bool", "true"));
        assert!(
            of(r#"Literal["high", "low"]"#, "high") && !of(r#"Literal["high", "higher"]"#, "high")
        );
        assert!(!of(r#"Literal["high", "low"]"#, "hi"));
    }

    #[test]
    fn an_output_that_was_not_written_is_cut_even_if_it_is_optional() {
        let text = "[[ ## answer ## ]]\nParis\n\n[[ ## note ## ]]\n";
        assert_eq!(cut("q -> answer, note: Optional[str]", text).as_deref(), Some("note"));
        let text = "[[ ## tags ## ]]\n[1]";
        assert_eq!(cut("q -> tags: list[int], n: int", text).as_deref(), Some("n"));
    }

    #[test]
    fn an_object_is_whole_once_it_is_closed() {
        let signature = "q -> a: str, b: int";
        assert_eq!(cut(signature, r#"{"a": "x", "b": 1}"#), None);
        assert_eq!(cut(signature, "```json\n{\"a\": \"x\", \"b\": 1}\n```"), None);
        assert_eq!(cut(signature, r#"{"a": "x", "b": 1"#).as_deref(), Some("a"));
    }
}
