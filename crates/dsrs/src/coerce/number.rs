//! Numbers as people and models write them: decimal points or commas, digits of any script,
//! currencies, percent signs, units, fractions, words around them. The result is exact, or an error
//! with a reason; never a guess, never a clamp.

mod digit;
mod numeral;
mod scan;

use std::cmp::Ordering;

use scan::{ScannedNumber, scan};

use super::{Leniencies, LeniencyKind};

/// Up to here, a float represents every whole number.
const EXACT_IN_FLOAT: u64 = 1 << 53;

/// Why a text is not the wanted number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    None,
    Several,
    InWord,
    Magnitude,
    SignInWords,
    SignApart,
    NotANumber,
    Infinite,
    Broken,
    Fraction,
    DividedByZero,
    BeyondInt,
    BeyondFloat,
    LosesDigits,
}

impl NumberError {
    /// The reason in words; empty if the text makes it obvious.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Several => "several numbers",
            Self::InWord => "digits in a word",
            Self::Magnitude => "a magnitude in words",
            Self::SignInWords => "a sign in words",
            Self::SignApart => "a sign apart from its number",
            Self::NotANumber => "not a number",
            Self::Infinite => "infinite",
            Self::Broken => "not whole",
            Self::Fraction => "a fraction",
            Self::DividedByZero => "divided by zero",
            Self::BeyondInt => "beyond 64 bits",
            Self::BeyondFloat => "too large for a float",
            Self::LosesDigits => "a float would lose digits",
        }
    }
}

/// A whole number in JSON spelling. `None` for other spellings and beyond 64 bits.
pub(super) fn exact_int(text: &str) -> Option<i64> {
    is_json_int(text).then(|| text.parse().ok()).flatten()
}

/// A number in JSON spelling, within the range of a float.
pub(super) fn exact_float(text: &str) -> Option<f64> {
    if !is_json_number(text) {
        return None;
    }
    let found: f64 = text.parse().ok().filter(|found: &f64| found.is_finite())?;
    let is_exact = !is_json_int(text) || keeps_digits(text, found);
    is_exact.then_some(found)
}

/// A whole number in any spelling, with the leniencies needed.
pub(super) fn int(text: &str) -> Result<(i64, Leniencies), NumberError> {
    let found = scan(text)?;
    if found.numeral.fraction.is_some() {
        return Err(NumberError::Fraction);
    }
    let digits = whole_digits(&found)?;
    let signed = if found.negative { format!("-{digits}") } else { digits };
    let number = signed.parse().map_err(|_| NumberError::BeyondInt)?;
    let same = is_json_int(text.trim());
    Ok((number, if same { found.used } else { or_number(found.used) }))
}

/// A number in any spelling, with the leniencies needed.
pub(super) fn float(text: &str) -> Result<(f64, Leniencies), NumberError> {
    let scanned = scan(text)?;
    let sign = if scanned.negative { -1.0 } else { 1.0 };
    let numeral = &scanned.numeral;
    let spelled = format!(
        "{}e{}",
        if numeral.digits.is_empty() { "0" } else { &numeral.digits },
        -numeral.decimals
    );
    let whole: f64 = spelled.parse().map_err(|_| NumberError::None)?;
    if numeral.decimals == 0 && whole.is_finite() && !keeps_digits(&numeral.digits, whole) {
        return Err(NumberError::LosesDigits);
    }
    let number = match numeral.fraction {
        None => whole,
        Some((_, 0.0)) => return Err(NumberError::DividedByZero),
        Some((numerator, denominator)) => whole + numerator / denominator,
    };
    if !number.is_finite() {
        return Err(NumberError::BeyondFloat);
    }
    Ok((sign * number, scanned.used))
}

/// The digits of a whole number, without decimals that are all zero and with the exponent applied.
fn whole_digits(scanned: &ScannedNumber) -> Result<String, NumberError> {
    let digits = &scanned.numeral.digits;
    let significant = digits.trim_start_matches('0');
    let digits = match scanned.numeral.decimals.cmp(&0) {
        Ordering::Equal => significant.to_owned(),
        Ordering::Less => {
            let zeros = usize::try_from(-scanned.numeral.decimals).unwrap_or(usize::MAX);
            if !significant.is_empty() && zeros > 19 {
                return Err(NumberError::BeyondInt);
            }
            format!("{significant}{:0<width$}", "", width = zeros.min(19))
        }
        Ordering::Greater => {
            let decimals = usize::try_from(scanned.numeral.decimals).unwrap_or(usize::MAX);
            let whole = digits.len().saturating_sub(decimals);
            if digits[whole..].bytes().any(|digit| digit != b'0') {
                return Err(NumberError::Broken);
            }
            digits[..whole].trim_start_matches('0').to_owned()
        }
    };
    Ok(if digits.is_empty() { "0".to_owned() } else { digits })
}

/// The leniencies used; at least `Number`, because the spelling is not JSON.
const fn or_number(used: Leniencies) -> Leniencies {
    if used.is_empty() { used.with(LeniencyKind::Number) } else { used }
}

/// Whether a float has all digits of the whole number.
fn keeps_digits(text: &str, found: f64) -> bool {
    let digits = text.trim_start_matches('-').trim_start_matches('0');
    found.abs() < EXACT_IN_FLOAT as f64 || format!("{:.0}", found.abs()) == digits
}

fn is_json_int(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    match digits {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Whether a text is a number in JSON spelling.
pub(super) fn is_json_number(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, decimals) = match mantissa.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_json_int(whole)
        && decimals.is_none_or(digits)
        && exponent.is_none_or(|power| digits(power.strip_prefix(['+', '-']).unwrap_or(power)))
}
