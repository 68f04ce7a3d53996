//! From text to candidate values: the text itself, JSON in it, a list with bullets. The candidate
//! that fits with the least doubt is taken.

use super::fit::{Fit, Fitter, Resolved, mismatch};
use super::{CoerceError, LeniencyKind, Path, Report};
use crate::types::TypeIR;
use crate::value::{Payload, parse_json};

/// How many openings of an object or array are tried in prose.
const OPENINGS: usize = 32;

pub(super) fn read(fitter: &Fitter<'_>, text: &str, ty: &TypeIR, report: &mut Report) -> Fit {
    let text = text.trim();
    let resolved = fitter.resolve(ty);
    match resolved {
        Some(Resolved::Plain(TypeIR::Str)) => Ok(Payload::str(text)),
        Some(Resolved::Plain(plain @ TypeIR::Union(members))) if members.contains(&TypeIR::Str) => {
            read_union_with_text(fitter, text, plain, members, report)
        }
        _ => read_other(fitter, text, ty, report),
    }
}

/// A union that holds `str` takes any text, so another member must fit exactly to be preferred.
fn read_union_with_text(
    fitter: &Fitter<'_>,
    text: &str,
    union: &TypeIR,
    members: &[TypeIR],
    report: &mut Report,
) -> Fit {
    let exact = Fitter { strict: true, ..*fitter };
    let json = json(text);
    if let Some(found) = json
        .as_ref()
        .and_then(|json| exact.fit(json, union, &Path::Root, &mut Report::default()).ok())
    {
        return Ok(found);
    }
    let others = || members.iter().filter(|member| **member != TypeIR::Str);
    let raw = Payload::str(text);
    for member in others().filter(|member| **member != TypeIR::Null) {
        if let Ok(found) = exact.fit(&raw, member, &Path::Root, &mut Report::default()) {
            return Ok(found);
        }
        // JSON in a fence or with slips in it is data, not prose, when it fits another member.
        let data = find_json(text).filter(|_| !fitter.strict);
        let mut scratch = Report::default();
        if let Some((data, kind)) = data.filter(|(_, kind)| *kind != Some(LeniencyKind::Prose))
            && let Ok(found) = fitter.fit(&data, member, &Path::Root, &mut scratch)
        {
            note(&mut scratch, kind, text, &found);
            report.append(scratch);
            return Ok(found);
        }
    }
    let nothing = matches!(text.to_lowercase().as_str(), "null" | "none" | "n/a" | "");
    if nothing && members.contains(&TypeIR::Null) && !fitter.strict {
        report.add(&Path::Root, LeniencyKind::Word, text, &Payload::Null);
        return Ok(Payload::Null);
    }
    Ok(raw)
}

fn read_other(fitter: &Fitter<'_>, text: &str, ty: &TypeIR, report: &mut Report) -> Fit {
    let mut best: Option<(Payload, Report)> = None;
    let mut reason: Option<CoerceError> = None;
    for (value, kind) in candidates(fitter, text, ty) {
        let mut scratch = Report::default();
        match fitter.fit(&value, ty, &Path::Root, &mut scratch) {
            Ok(found) => {
                note(&mut scratch, kind, text, &found);
                if scratch.is_empty() {
                    return Ok(found);
                }
                if best.as_ref().is_none_or(|(_, known)| scratch.penalty() < known.penalty()) {
                    best = Some((found, scratch));
                }
            }
            Err(error) => drop(reason.get_or_insert(error)),
        }
    }
    match (best, reason) {
        (Some((found, scratch)), _) => {
            report.append(scratch);
            Ok(found)
        }
        (None, Some(reason)) => Err(reason),
        (None, None) => Err(mismatch(&Path::Root, "a value", &Payload::str(text))),
    }
}

fn note(report: &mut Report, kind: Option<LeniencyKind>, text: &str, found: &Payload) {
    if let Some(kind) = kind {
        report.add(&Path::Root, kind, text, found);
    }
}

/// What a text may mean, the likeliest first.
fn candidates(
    fitter: &Fitter<'_>,
    text: &str,
    ty: &TypeIR,
) -> Vec<(Payload, Option<LeniencyKind>)> {
    let mut found = Vec::with_capacity(3);
    if let Some(value) = json(text) {
        found.push((value, None));
    } else if !fitter.strict
        && let Some((value, kind)) = find_json(text)
    {
        found.push((value, kind));
    }
    if fitter.strict {
        found.push((Payload::str(text), None));
        return found;
    }
    if let Some(Resolved::Plain(TypeIR::List(_))) = fitter.resolve(ty)
        && let Some(lines) = bullets(text)
    {
        found.push((lines, Some(LeniencyKind::Bullets)));
    }
    found.push((Payload::str(text), None));
    if let Some(inner) = fenced(text) {
        let value = json(inner).unwrap_or_else(|| Payload::str(inner.trim()));
        found.push((value, Some(LeniencyKind::Fenced)));
    }
    found
}

fn json(text: &str) -> Option<Payload> {
    parse_json(text.as_bytes()).ok().map(|parsed| parsed.payload)
}

pub(super) fn find_json(text: &str) -> Option<(Payload, Option<LeniencyKind>)> {
    let text = text.trim();
    let container = |value: &Payload| matches!(value, Payload::Map(_) | Payload::List(_));
    if text.starts_with(['{', '['])
        && let Some(value) = json(text)
    {
        return Some((value, None));
    }
    if let Some(value) = fenced(text).and_then(json).filter(container) {
        return Some((value, Some(LeniencyKind::Fenced)));
    }
    let openings = text.match_indices(['{', '[']).map(|(start, _)| &text[start..]);
    let value = openings.take(OPENINGS).filter_map(balanced).find_map(json)?;
    Some((value, Some(LeniencyKind::Prose)))
}

/// The inside of the first fenced block, without its language word.
fn fenced(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("```")?;
    let (inside, _) = behind.split_once("```")?;
    let (first, rest) = inside.split_once('\n').unwrap_or(("", inside));
    let is_word = first.trim().chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+'));
    Some(if is_word { rest } else { inside }.trim())
}

/// From an opening bracket to the one that closes it, strings skipped.
fn balanced(text: &str) -> Option<&str> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return text.get(..=index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Lines that all start with a bullet or a number, as a list of texts.
fn bullets(text: &str) -> Option<Payload> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let items: Option<Vec<Payload>> = lines.map(|line| item(line).map(Payload::from)).collect();
    items.filter(|items| !items.is_empty()).map(Payload::list)
}

fn item(line: &str) -> Option<&str> {
    let marked = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = if rest.len() < line.len() { rest } else { return None };
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
    };
    marked.or_else(|| line.strip_prefix("• ")).or_else(numbered).map(str::trim)
}
