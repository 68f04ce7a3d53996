//! Methods that divide, join, pad and search texts, as in Python. Positions and widths count characters.

use minijinja::value::{Kwargs, from_args};
use minijinja::{Error, ErrorKind, Value};

use crate::expr::filters::{centered, checked_width};
use crate::expr::value_text::within;

/// What a group of methods returns: nothing if it has no method of the name.
pub(super) type Found = Result<Option<Value>, Error>;

/// Methods that divide a text, and the one that joins texts with it.
pub(super) fn parted(text: &str, method: &str, arguments: &[Value]) -> Found {
    let parts: Vec<&str> = match method {
        "split" | "rsplit" => split(text, method == "rsplit", arguments)?,
        "splitlines" => {
            let () = from_args(arguments)?;
            lines(text)
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(arguments)?;
            let is_first = method == "partition";
            let found =
                if is_first { text.split_once(separator) } else { text.rsplit_once(separator) };
            match found {
                Some((before, behind)) => vec![before, separator, behind],
                None if is_first => vec![text, "", ""],
                None => vec!["", "", text],
            }
        }
        "join" => return join(text, arguments).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(parts.into_iter().map(Value::from).collect()))
}

fn split<'t>(text: &'t str, from_end: bool, arguments: &[Value]) -> Result<Vec<&'t str>, Error> {
    let (separator, most, named): (Option<&str>, Option<i64>, Kwargs) = from_args(arguments)?;
    let separator = separator.map_or_else(|| named.get("sep"), |separator| Ok(Some(separator)))?;
    let most: Option<i64> = most.map_or_else(|| named.get("maxsplit"), |most| Ok(Some(most)))?;
    named.assert_all_used()?;
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX - 1) + 1;
    let Some(separator) = separator else { return Ok(words(text, most, from_end)) };
    if separator.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "the separator of `split` is empty"));
    }
    if !from_end {
        return Ok(text.splitn(most, separator).collect());
    }
    let mut parts: Vec<&str> = text.rsplitn(most, separator).collect();
    parts.reverse();
    Ok(parts)
}

/// The lines of a text, which end where Python's `splitlines` ends them.
fn lines(text: &str) -> Vec<&str> {
    let is_end = |sign: char| {
        matches!(
            sign,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let (mut lines, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let Some((line, behind)) = rest.find(is_end).and_then(|at| rest.split_at_checked(at))
        else {
            lines.push(rest);
            break;
        };
        lines.push(line);
        let mut behind_end = behind.chars();
        behind_end.next();
        rest = behind.strip_prefix("\r\n").unwrap_or(behind_end.as_str());
    }
    lines
}

/// The words of a text, at most so many; the last one is what remains.
fn words(text: &str, most: usize, from_end: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let cut = match from_end {
            _ if parts.len() + 1 >= most => None,
            false => rest.split_once(char::is_whitespace),
            true => rest.rsplit_once(char::is_whitespace).map(|(rest, word)| (word, rest)),
        };
        let (word, remaining) = cut.unwrap_or((rest, ""));
        parts.push(word);
        rest = remaining.trim();
    }
    if from_end {
        parts.reverse();
    }
    parts
}

fn join(separator: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (parts,): (&Value,) = from_args(arguments)?;
    let mut joined = String::new();
    for (position, part) in parts.try_iter()?.enumerate() {
        if position > 0 {
            joined.push_str(separator);
        }
        let part = part.as_str().ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOperation,
                "`join`: the list has an element that is no text",
            )
        });
        joined.push_str(part?);
        within(joined.len())?;
    }
    Ok(Value::from(joined))
}

/// Methods that make a text wider.
pub(super) fn padded(text: &str, method: &str, arguments: &[Value]) -> Found {
    if !["center", "ljust", "rjust", "zfill"].contains(&method) {
        return Ok(None);
    }
    let (width, fill): (usize, Option<char>) = from_args(arguments)?;
    let (width, fill) = (checked_width(width)?, fill.unwrap_or(' '));
    let missing = width.saturating_sub(text.chars().count());
    let with = |fill: char| std::iter::repeat_n(fill, missing).collect::<String>();
    Ok(Some(match method {
        "center" => centered(text, width, fill)?.into(),
        "ljust" => format!("{text}{}", with(fill)).into(),
        "rjust" => format!("{}{text}", with(fill)).into(),
        _ => {
            let sign = text.len() - text.trim_start_matches(['+', '-']).len();
            let (sign, digits) = text.split_at(sign.min(1));
            format!("{sign}{}{digits}", with('0')).into()
        }
    }))
}

/// Methods that search a text.
pub(super) fn searched(text: &str, method: &str, arguments: &[Value]) -> Found {
    if !["count", "find", "index", "rfind"].contains(&method) {
        return Ok(None);
    }
    let (wanted,): (&str,) = from_args(arguments)?;
    if method == "count" {
        return Ok(Some(text.matches(wanted).count().into()));
    }
    let found = if method == "rfind" { text.rfind(wanted) } else { text.find(wanted) };
    let position = found.and_then(|bytes| text.get(..bytes)).map(|before| before.chars().count());
    match position {
        Some(position) => Ok(Some(position.into())),
        None if method == "index" => {
            Err(Error::new(ErrorKind::InvalidOperation, "`index`: the text is not found"))
        }
        None => Ok(Some((-1).into())),
    }
}
