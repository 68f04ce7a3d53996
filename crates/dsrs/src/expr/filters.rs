//! Filters of Jinja that the engine lacks or does not bound, with the meaning of Jinja's documentation. Lengths count
//! characters.

use minijinja::formatting::{FormatStyle, format as format_values};
use minijinja::value::{ArgType, Kwargs, Rest, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, Value};

use super::value_text::{json_text, text_of, within};
use super::work::add_filter;

/// The largest width of a text, or of a part of one, in characters.
const WIDTH_LIMIT: usize = 10_000;

/// Adds the filters to an engine.
pub(super) fn add_filters(engine: &mut Environment<'_>) {
    add_filter(engine, "center", Value::from_function(center));
    add_filter(engine, "format", Value::from_function(format));
    add_filter(engine, "indent", Value::from_function(indent));
    add_filter(engine, "tojson", Value::from_function(to_json));
    add_filter(engine, "truncate", Value::from_function(truncate));
    add_filter(engine, "wordcount", Value::from_function(count_words));
}

/// The text between equal numbers of spaces.
fn center(value: &Value, width: Option<usize>, options: Kwargs) -> Result<String, Error> {
    let width = option(width, &options, "width")?.unwrap_or(80);
    options.assert_all_used()?;
    centered(&text_of(value)?, checked_width(width)?, ' ')
}

/// As Python: an odd space is on the left if the width is odd.
pub(super) fn centered(text: &str, width: usize, fill: char) -> Result<String, Error> {
    let missing = width.saturating_sub(text.chars().count());
    let left = missing / 2 + (missing & width & 1);
    within((text.len() + missing).saturating_mul(fill.len_utf8()))?;
    let fill = |count| std::iter::repeat_n(fill, count);
    Ok(fill(left).chain(text.chars()).chain(fill(missing - left)).collect())
}

/// A width within the limit.
pub(super) fn checked_width(width: usize) -> Result<usize, Error> {
    if width <= WIDTH_LIMIT {
        return Ok(width);
    }
    Err(invalid(format!("a width is at most {WIDTH_LIMIT}")))
}

fn format(pattern: &str, values: Rest<ValueOrKwargs>) -> Result<String, Error> {
    let values = values.into_values();
    let mut longest = 0;
    for value in values.iter() {
        longest = longest.max(text_of(value)?.len());
    }
    let mut numbers =
        pattern.split(|sign: char| !sign.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let is_wide = |digits: &str| digits.parse().map_or(true, |width: usize| width > WIDTH_LIMIT);
    if numbers.any(is_wide) {
        return Err(invalid(format!("a width is at most {WIDTH_LIMIT}")));
    }
    let parts = pattern.matches('%').count();
    within(parts.saturating_mul(longest.max(widest(pattern))).saturating_add(pattern.len()))?;
    let shown = |value: &Value| match value.kind() {
        ValueKind::Bool | ValueKind::Number | ValueKind::String => Ok(value.clone()),
        // `%(name)s` selects from one dict.
        ValueKind::Map if values.len() == 1 => Ok(value.clone()),
        _ => text_of(value).map(Value::from),
    };
    let values: Vec<Value> = values.iter().map(shown).collect::<Result<_, _>>()?;
    format_values(FormatStyle::Printf, pattern, &values)
}

/// The largest number in a pattern, which may be a width; the least room that a number needs.
fn widest(pattern: &str) -> usize {
    let numbers = pattern.split(|sign: char| !sign.is_ascii_digit());
    numbers.filter_map(|digits| digits.parse().ok()).max().unwrap_or(0).max(400)
}

fn indent(
    value: &Value,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    options: Kwargs,
) -> Result<String, Error> {
    let width = checked_width(option(width, &options, "width")?.unwrap_or(4))?;
    let first = option(first, &options, "first")?.unwrap_or_default();
    let blank = option(blank, &options, "blank")?.unwrap_or_default();
    options.assert_all_used()?;
    let (text, space) = (text_of(value)?, " ".repeat(width));
    within(text.len().saturating_add(text.lines().count().saturating_mul(width)))?;
    let line = |(position, line): (usize, &str)| {
        let indented = if position == 0 { first } else { blank || !line.is_empty() };
        if indented { format!("{space}{line}") } else { line.to_owned() }
    };
    Ok(text.split('\n').enumerate().map(line).collect::<Vec<_>>().join("\n"))
}

fn to_json(value: &Value, indent: Option<usize>, options: Kwargs) -> Result<String, Error> {
    let indent = option(indent, &options, "indent")?;
    options.assert_all_used()?;
    json_text(value, indent.map(checked_width).transpose()?)
}

/// At most `length` characters, or `leeway` more, with `end` in place of the rest.
fn truncate(value: &Value, arguments: Rest<ValueOrKwargs>) -> Result<String, Error> {
    type Arguments<'a> = (Option<usize>, Option<bool>, Option<&'a str>, Option<usize>, Kwargs);
    let arguments = arguments.into_values();
    let (length, killwords, end, leeway, options): Arguments<'_> = from_args(&arguments)?;
    let length = option(length, &options, "length")?.unwrap_or(255);
    let killwords = option(killwords, &options, "killwords")?.unwrap_or_default();
    let end = option(end, &options, "end")?.unwrap_or("...");
    let leeway = option(leeway, &options, "leeway")?.unwrap_or(5);
    options.assert_all_used()?;
    let text = text_of(value)?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text);
    }
    let room = length.checked_sub(end.chars().count());
    let room = room.ok_or_else(|| invalid("`length` is shorter than `end`".to_owned()))?;
    let beginning: String = text.chars().take(room).collect();
    let beginning = match beginning.rsplit_once(' ') {
        Some((words, _)) if !killwords => words,
        _ => beginning.as_str(),
    };
    Ok(format!("{beginning}{end}"))
}

/// Words are letters, digits and `_` without anything between them.
fn count_words(value: &Value) -> Result<usize, Error> {
    let text = text_of(value)?;
    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    Ok(words.filter(|word| !word.is_empty()).count())
}

/// An argument by place or by name.
fn option<'a, T>(placed: Option<T>, named: &'a Kwargs, name: &'a str) -> Result<Option<T>, Error>
where
    T: ArgType<'a, Output = T>,
{
    match placed {
        Some(value) => Ok(Some(value)),
        None => named.get(name),
    }
}

fn invalid(reason: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}

#[cfg(test)]
mod tests {
    use crate::expr::Template;
    use crate::value::Payload;

    fn render(source: &str) -> String {
        let text = Payload::from("The quick brown fox, don't\njump");
        let values = Payload::from_json(r#"{"b": [1, null], "a": true}"#).unwrap();
        let template = Template::compile(&format!("{{{{ {source} }}}}")).unwrap();
        let rendered = template.render([("text", &text), ("values", &values)]);
        rendered.unwrap_or_else(|error| error.reason)
    }

    /// The results of Jinja 3.1.6, except for `tojson`, which has no escapes for HTML and no spaces.
    #[test]
    fn filters_are_those_of_jinja() {
        for (source, wanted) in [
            ("text|truncate(15)", "The quick..."),
            ("text|truncate(15, true)", "The quick br..."),
            ("text|truncate(15, end='…')", "The quick…"),
            ("text|truncate(length=30)", "The quick brown fox, don't\njump"),
            ("text|truncate(26, leeway=0)", "The quick brown fox,..."),
            ("text|wordcount", "7"),
            ("'abc'|center(8)", "  abc   "),
            ("'abcd'|center(7)", "  abcd "),
            ("'a\n\nb'|indent(2)", "a\n\n  b"),
            ("'a\n\nb'|indent(width=2, first=true, blank=true)", "  a\n  \n  b"),
            ("'%s: %.2f'|format('x', 0.1234)", "x: 0.12"),
            ("'%(b)s'|format({'b': 3})", "3"),
            ("'%s'|format([1, none])", "[1,null]"),
            ("values|tojson", r#"{"b":[1,null],"a":true}"#),
            ("values|tojson(indent=1)", "{\n \"b\": [\n  1,\n  null\n ],\n \"a\": true\n}"),
        ] {
            assert_eq!(render(source), wanted, "{source}");
        }
    }

    #[test]
    fn no_filter_grows_a_text_without_bound() {
        for source in [
            "'a'|center(10000000)",
            "'%99999999d'|format(1)",
            "'%.99999999f'|format(1)",
            "'a\n'|indent(99999999)",
            "[1]|tojson(indent=99999999)",
        ] {
            assert!(
                render(source).contains("a width is at most 10000"),
                "{source}: {}",
                render(source)
            );
        }
        for source in ["('%9999s' * 1000)|format(1)", "('a\n' * 10000)|indent(9999)"] {
            assert!(render(source).contains("more than"), "{source}: {}", render(source));
        }
    }
}
