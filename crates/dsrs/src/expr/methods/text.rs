//! Methods of texts, as in Python: those that change a text or say something of it are here, others in `text_parts`.

use minijinja::value::{ValueKind, from_args};
use minijinja::{Error, ErrorKind, Value};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::text_parts::{Found, padded, parted, searched};
use crate::expr::value_text::within;

/// Calls a method of a text.
pub(super) fn call_text(text: &str, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    let found = [changed, described, parted, padded, searched].into_iter();
    let mut found = found.map(|group| group(text, method, arguments));
    found.find_map(Result::transpose).unwrap_or_else(|| Err(ErrorKind::UnknownMethod.into()))
}

/// Methods that return a changed text.
fn changed(text: &str, method: &str, arguments: &[Value]) -> Found {
    let change: fn(&str) -> String = match method {
        "upper" => str::to_uppercase,
        "lower" | "casefold" => str::to_lowercase,
        "capitalize" => capitalize,
        "title" => title,
        "swapcase" => swap_case,
        "replace" => return replace(text, arguments).map(Some),
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(arguments)?;
            return Ok(Some(text.strip_prefix(prefix).unwrap_or(text).into()));
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(arguments)?;
            return Ok(Some(text.strip_suffix(suffix).unwrap_or(text).into()));
        }
        "strip" | "lstrip" | "rstrip" => return strip(text, method, arguments).map(Some),
        _ => return Ok(None),
    };
    let () = from_args(arguments)?;
    Ok(Some(change(text).into()))
}

fn capitalize(text: &str) -> String {
    let mut signs = text.chars();
    let first = signs.next().into_iter().flat_map(char::to_uppercase);
    first.chain(signs.flat_map(char::to_lowercase)).collect()
}

/// A capital letter after everything that is no letter.
fn title(text: &str) -> String {
    let mut inside = false;
    let mut titled = String::with_capacity(text.len());
    for sign in text.chars() {
        match inside {
            true => titled.extend(sign.to_lowercase()),
            false => titled.extend(sign.to_uppercase()),
        }
        inside = sign.is_alphabetic();
    }
    titled
}

fn swap_case(text: &str) -> String {
    let swap = |sign: char| match sign.is_uppercase() {
        true => sign.to_lowercase().collect::<String>(),
        false => sign.to_uppercase().collect(),
    };
    text.chars().map(swap).collect()
}

fn replace(text: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (from, to, most): (&str, &str, Option<i64>) = from_args(arguments)?;
    let most = most.and_then(|most| usize::try_from(most).ok());
    let count = text.matches(from).count().min(most.unwrap_or(usize::MAX));
    within(count.saturating_mul(to.len()).saturating_add(text.len()))?;
    Ok(Value::from(text.replacen(from, to, count)))
}

fn strip(text: &str, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (signs,): (Option<&str>,) = from_args(arguments)?;
    let is_stripped = |sign: char| signs.map_or(sign.is_whitespace(), |signs| signs.contains(sign));
    Ok(match method {
        "lstrip" => text.trim_start_matches(is_stripped),
        "rstrip" => text.trim_end_matches(is_stripped),
        _ => text.trim_matches(is_stripped),
    }
    .into())
}

/// Methods that say whether a text is or has something.
fn described(text: &str, method: &str, arguments: &[Value]) -> Found {
    let all = |is: fn(char) -> bool| !text.is_empty() && text.chars().all(is);
    let has_case = |is: fn(char) -> bool, other: fn(char) -> bool| {
        text.chars().any(is) && !text.chars().any(other)
    };
    let holds = match method {
        "startswith" => return affix(arguments, |affix| text.starts_with(affix)),
        "endswith" => return affix(arguments, |affix| text.ends_with(affix)),
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(char::is_alphabetic),
        "isdigit" => all(|sign| sign.general_category() == GeneralCategory::DecimalNumber),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(char::is_whitespace),
        "islower" => has_case(char::is_lowercase, char::is_uppercase),
        "isupper" => has_case(char::is_uppercase, char::is_lowercase),
        _ => return Ok(None),
    };
    let () = from_args(arguments)?;
    Ok(Some(holds.into()))
}

/// Whether something holds for a text, or for one of several.
fn affix(arguments: &[Value], holds: impl Fn(&str) -> bool) -> Found {
    let (affixes,): (&Value,) = from_args(arguments)?;
    if let Some(affix) = affixes.as_str() {
        return Ok(Some(holds(affix).into()));
    }
    if affixes.kind() != ValueKind::Seq {
        return Err(Error::new(ErrorKind::InvalidOperation, "expected a text or a list of texts"));
    }
    let found = affixes.try_iter()?.any(|affix| affix.as_str().is_some_and(&holds));
    Ok(Some(found.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::value_text::json_text;

    /// The results of Python 3.11.
    #[test]
    fn methods_are_those_of_python() {
        let text = |text: &str| Value::from(text);
        for (of, method, arguments, wanted) in [
            ("Ab é", "upper", vec![], r#""AB É""#),
            ("ÀB", "lower", vec![], r#""àb""#),
            ("hELLO wORLD", "capitalize", vec![], r#""Hello world""#),
            ("it's a-b 3c", "title", vec![], r#""It'S A-B 3C""#),
            ("aBc", "swapcase", vec![], r#""AbC""#),
            ("  a ", "strip", vec![], r#""a""#),
            ("xxaxx", "lstrip", vec![text("x")], r#""axx""#),
            ("xxaxx", "rstrip", vec![text("yx")], r#""xxa""#),
            ("a-b-c", "replace", vec![text("-"), text("+")], r#""a+b+c""#),
            ("a-b-c", "replace", vec![text("-"), text("+"), Value::from(1)], r#""a+b-c""#),
            ("abc", "removeprefix", vec![text("ab")], r#""c""#),
            ("abc", "removesuffix", vec![text("x")], r#""abc""#),
            (" a  b c ", "split", vec![], r#"["a","b","c"]"#),
            (" a  b c ", "split", vec![Value::from(()), Value::from(1)], r#"["a","b c"]"#),
            (" a  b c ", "rsplit", vec![Value::from(()), Value::from(1)], r#"["a  b","c"]"#),
            ("a,b,c", "split", vec![text(",")], r#"["a","b","c"]"#),
            ("a,b,c", "split", vec![text(","), Value::from(1)], r#"["a","b,c"]"#),
            ("a,b,c", "rsplit", vec![text(","), Value::from(1)], r#"["a,b","c"]"#),
            ("", "split", vec![], "[]"),
            ("", "split", vec![text(",")], r#"[""]"#),
            ("a\r\nb\n", "splitlines", vec![], r#"["a","b"]"#),
            (
                "a\rb\n\rc\x0bd\x0ce\x1cf\x1dg\x1eh\u{85}i\u{2028}j\u{2029}",
                "splitlines",
                vec![],
                r#"["a","b","","c","d","e","f","g","h","i","j"]"#,
            ),
            ("a=b=c", "partition", vec![text("=")], r#"["a","=","b=c"]"#),
            ("a=b=c", "rpartition", vec![text("=")], r#"["a=b","=","c"]"#),
            ("a", "rpartition", vec![text("=")], r#"["","","a"]"#),
            (", ", "join", vec![Value::from(vec!["a", "b"])], r#""a, b""#),
            ("abc", "startswith", vec![text("ab")], "true"),
            ("abc", "endswith", vec![Value::from(vec!["x", "bc"])], "true"),
            ("abc", "startswith", vec![Value::from(vec!["x", "bc"])], "false"),
            ("ab1", "isalnum", vec![], "true"),
            ("", "isalpha", vec![], "false"),
            ("1٣", "isdigit", vec![], "true"),
            ("½", "isdigit", vec![], "false"),
            ("½", "isnumeric", vec![], "true"),
            ("a1", "islower", vec![], "true"),
            ("A1", "isupper", vec![], "true"),
            ("1", "isupper", vec![], "false"),
            (" \n", "isspace", vec![], "true"),
            ("abc", "center", vec![Value::from(6), text("*")], r#""*abc**""#),
            ("ab", "ljust", vec![Value::from(4)], r#""ab  ""#),
            ("ab", "rjust", vec![Value::from(4), text(".")], r#""..ab""#),
            ("-7", "zfill", vec![Value::from(4)], r#""-007""#),
            ("éab", "find", vec![text("b")], "2"),
            ("abab", "rfind", vec![text("ab")], "2"),
            ("ab", "find", vec![text("x")], "-1"),
            ("abab", "count", vec![text("ab")], "2"),
            ("ab", "index", vec![text("b")], "1"),
        ] {
            let found = call_text(of, method, &arguments).unwrap();
            assert_eq!(json_text(&found, None).unwrap(), wanted, "{of:?}.{method}({arguments:?})");
        }
    }

    #[test]
    fn what_has_no_meaning_is_an_error() {
        for (method, arguments) in [
            ("index", vec![Value::from("x")]),
            ("split", vec![Value::from("")]),
            ("join", vec![Value::from(vec![1])]),
            ("upper", vec![Value::from(1)]),
            ("rjust", vec![Value::from(99_999_999)]),
            ("format", vec![]),
        ] {
            assert!(call_text("ab", method, &arguments).is_err(), "{method}");
        }
        let long = "a".repeat(1 << 20);
        assert!(call_text(&long, "replace", &[Value::from("a"), Value::from(&*long)]).is_err());
    }
}
