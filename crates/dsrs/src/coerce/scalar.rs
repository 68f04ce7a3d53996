//! Fitting data to the leaves of a type: numbers, truth values, texts, literals, enum members.

use std::sync::Arc;

use base64::Engine as _;

use super::fit::{Fit, Fitter, letters, mismatch};
use super::{LeniencyKind, Path, Report};
use crate::types::{Enum, Literal, TypeIR};
use crate::value::Payload;

/// Whole numbers up to here are floats without loss.
const FLOAT_EXACT: u64 = 1 << 53;

impl Fitter<'_> {
    pub(super) fn leaf(
        &self,
        value: &Payload,
        ty: &TypeIR,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Fit {
        let (exact, wanted) = exact(value, ty);
        if let Some(found) = exact {
            return Ok(found);
        }
        let mended = if self.strict { None } else { mend(value, ty) };
        let Some((found, kind)) = mended else {
            return Err(mismatch(path, &wanted, value));
        };
        report.add(path, kind, &as_read(value), &found);
        Ok(found)
    }

    /// A member of an enum, by its name or the alias that the LM sees.
    pub(super) fn member(
        &self,
        value: &Payload,
        members: &Enum,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Fit {
        let text = value.as_str().unwrap_or_default();
        let spellings = || {
            members.members.iter().flat_map(|(name, member)| {
                member.alias.iter().chain([name]).map(move |spelling| (name, spelling.as_ref()))
            })
        };
        if let Some((name, _)) = spellings().find(|(_, spelling)| *spelling == text) {
            return Ok(Payload::Str(name.clone()));
        }
        if !self.strict
            && let Some((name, kind)) = near(text, spellings())
        {
            let found = Payload::Str(name);
            report.add(path, kind, text, &found);
            return Ok(found);
        }
        let told = members.members.iter().map(|(name, m)| m.alias.as_ref().unwrap_or(name));
        let told: Vec<_> = told.map(|name| format!("`{name}`")).collect();
        Err(mismatch(path, &format!("one of {}", told.join(", ")), value))
    }
}

/// The value if it is exactly of the type, and the type in words.
fn exact(value: &Payload, ty: &TypeIR) -> (Option<Payload>, String) {
    let same = || Some(value.clone());
    let (found, wanted) = match (ty, value) {
        (TypeIR::Str, Payload::Str(_)) => (same(), ""),
        (TypeIR::Str, _) => (None, "a text"),
        (TypeIR::Int, Payload::Int(_)) => (same(), ""),
        (TypeIR::Int, _) => (None, "a whole number"),
        (TypeIR::Float, Payload::Float(_)) => (same(), ""),
        (TypeIR::Float, Payload::Int(number)) if number.unsigned_abs() <= FLOAT_EXACT => {
            (Some(Payload::Float(*number as f64)), "")
        }
        (TypeIR::Float, _) => (None, "a number"),
        (TypeIR::Bool, Payload::Bool(_)) => (same(), ""),
        (TypeIR::Bool, _) => (None, "true or false"),
        (TypeIR::Null, Payload::Null) => (same(), ""),
        (TypeIR::Null, _) => (None, "null"),
        (TypeIR::Bytes, Payload::Bytes(_)) => (same(), ""),
        (TypeIR::Bytes, Payload::Str(text)) => (from_base64(text), "base64"),
        (TypeIR::Bytes, _) => (None, "base64"),
        (TypeIR::Literal(literal), _) => {
            let wanted = of_literal(literal);
            let found = (wanted == *value).then(|| wanted.clone());
            return (found, wanted.to_json());
        }
        _ => (None, "something else"),
    };
    (found, wanted.to_owned())
}

fn of_literal(literal: &Literal) -> Payload {
    match literal {
        Literal::Str(text) => Payload::Str(text.clone()),
        Literal::Int(number) => Payload::Int(*number),
        Literal::Bool(flag) => Payload::Bool(*flag),
    }
}

fn from_base64(text: &str) -> Option<Payload> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()?;
    Some(Payload::Bytes(Arc::from(bytes)))
}

/// The value mended to the type, and how.
fn mend(value: &Payload, ty: &TypeIR) -> Option<(Payload, LeniencyKind)> {
    match (ty, value) {
        (TypeIR::Str, Payload::Null) => None,
        (TypeIR::Str, other) => Some((other.to_json().into(), LeniencyKind::Kind)),
        (TypeIR::Int, Payload::Float(number)) => Some((whole(*number)?, LeniencyKind::Number)),
        (TypeIR::Int, Payload::Str(text)) => match number_in(text)? {
            (Payload::Float(number), kind) => Some((whole(number)?, kind)),
            found => Some(found),
        },
        (TypeIR::Float, Payload::Str(text)) => match number_in(text)? {
            (Payload::Int(number), kind) if number.unsigned_abs() <= FLOAT_EXACT => {
                Some((Payload::Float(number as f64), kind))
            }
            (found @ Payload::Float(_), kind) => Some((found, kind)),
            _ => None,
        },
        (TypeIR::Bool, Payload::Str(text)) => truth(text).map(|(flag, kind)| (flag.into(), kind)),
        (TypeIR::Bool, Payload::Int(flag @ 0..=1)) => {
            Some(((*flag == 1).into(), LeniencyKind::Kind))
        }
        (TypeIR::Null, Payload::Str(text)) => {
            is_null_word(text).then_some((Payload::Null, LeniencyKind::Word))
        }
        (TypeIR::Literal(Literal::Str(wanted)), Payload::Str(text)) => {
            let (_, kind) = near(text, [(wanted, wanted.as_ref())].into_iter())?;
            Some((Payload::Str(wanted.clone()), kind))
        }
        (TypeIR::Literal(Literal::Int(wanted)), Payload::Str(_) | Payload::Float(_)) => {
            mend(value, &TypeIR::Int).filter(|(found, _)| *found == Payload::Int(*wanted))
        }
        (TypeIR::Literal(Literal::Bool(wanted)), Payload::Str(_)) => {
            mend(value, &TypeIR::Bool).filter(|(found, _)| *found == Payload::Bool(*wanted))
        }
        _ => None,
    }
}

fn as_read(value: &Payload) -> String {
    value.as_str().map_or_else(|| value.to_json(), str::to_owned)
}

fn whole(number: f64) -> Option<Payload> {
    let fits = number.fract() == 0.0 && number.abs() <= FLOAT_EXACT as f64;
    fits.then(|| Payload::Int(number as i64))
}

/// The one number that a text holds. Two numbers are a doubt, and none is taken.
fn number_in(text: &str) -> Option<(Payload, LeniencyKind)> {
    let tidy = text.trim().trim_end_matches('.');
    if let Some(found) = number(tidy) {
        return Some((found, LeniencyKind::Number));
    }
    let mut found = None;
    for word in tidy.split(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | '(' | ')')) {
        let word = word
            .trim_matches(|c: char| matches!(c, '*' | '`' | '"' | '\'' | ',' | '.' | '!' | '?'));
        match number(word) {
            Some(next) if found.is_none() => found = Some(next),
            Some(_) => return None,
            None if word.contains(|c: char| c.is_ascii_digit()) => return None,
            None => {}
        }
    }
    found.map(|found| (found, LeniencyKind::Prose))
}

/// A number with a sign, thousands separators, or a currency sign before it.
fn number(text: &str) -> Option<Payload> {
    let bare = text.trim_start_matches(['$', '€', '£', '+']);
    if !bare.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.')) {
        return None;
    }
    let joined = without_separators(bare)?;
    if let Ok(number) = joined.parse::<i64>() {
        return Some(Payload::Int(number));
    }
    joined.parse::<f64>().ok().filter(|number| number.is_finite()).map(Payload::Float)
}

/// Drops commas and underscores, where every group behind one has three digits.
fn without_separators(text: &str) -> Option<String> {
    let whole = text.split('.').next().unwrap_or(text);
    let mut groups = whole.split([',', '_']).skip(1);
    let grouped = groups.all(|group| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit()));
    grouped.then(|| text.replace([',', '_'], ""))
}

fn truth(text: &str) -> Option<(bool, LeniencyKind)> {
    let word = |text: &str| match letters(text).as_str() {
        "true" | "yes" | "y" => Some(true),
        "false" | "no" | "n" => Some(false),
        _ => None,
    };
    if let Some(flag) = word(text) {
        return Some((flag, LeniencyKind::Word));
    }
    let (first, _) = text.trim().split_once([',', '.', ';', ':'])?;
    word(first).map(|flag| (flag, LeniencyKind::Prose))
}

fn is_null_word(text: &str) -> bool {
    let letters = letters(text);
    matches!(letters.as_str(), "null" | "none" | "nil" | "na" | "nothing" | "undefined")
        || text.trim().is_empty()
        || matches!(text.trim(), "-" | "—")
}

/// The one name that a text spells otherwise, or the only one that stands in it as a word.
fn near<'n>(
    text: &str,
    spellings: impl Iterator<Item = (&'n Arc<str>, &'n str)> + Clone,
) -> Option<(Arc<str>, LeniencyKind)> {
    let read = letters(text);
    if read.is_empty() {
        return None;
    }
    let mut same = spellings.clone().filter(|(_, spelling)| letters(spelling) == read);
    if let Some((name, _)) = same.next() {
        let alone = same.all(|(other, _)| other == name);
        return alone.then(|| (name.clone(), LeniencyKind::Spelling));
    }
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .map(letters)
        .filter(|word| !word.is_empty())
        .collect();
    let mut named = spellings.filter(|(_, spelling)| words.contains(&letters(spelling)));
    let (name, _) = named.next()?;
    let alone = named.all(|(other, _)| other == name);
    (alone && words.len() <= 12).then(|| (name.clone(), LeniencyKind::Prose))
}
