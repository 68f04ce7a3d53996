//! The format of a slot: Python's format specification, as far as texts and numbers need it (`>10`,
//! `+,.2f`, `05d`, `.1%`), and `json`, `yaml` and `text` for any value.

use super::plain_text::plain;
use super::python_notation::{self, exponent_digits};
use crate::adapter::formatted;
use crate::signature::FieldFormat;
use crate::types::{Type, TypeIR};
use crate::value::Payload;

/// The largest width of a slot, and the most digits.
const WIDTH_LIMIT: usize = 1_000;

/// The format of one slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FormatSpec {
    format: Option<FieldFormat>,
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    grouped: bool,
    width: usize,
    precision: Option<usize>,
    letter: Option<char>,
}

impl FormatSpec {
    /// Reads `[[fill]align][sign][0][width][,][.precision][letter]`, or the name of a format.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(format) = FieldFormat::named(text) {
            return Ok(Self { format: Some(format), ..Self::default() });
        }
        let mut spec = Self::default();
        let mut rest: Vec<char> = text.chars().rev().collect();
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^'));
        if rest.len() > 1 && is_align(rest.get(rest.len() - 2)) {
            (spec.fill, spec.align) = (rest.pop(), rest.pop());
        } else if is_align(rest.last()) {
            spec.align = rest.pop();
        }
        spec.sign = rest.pop_if(|c| matches!(c, '+' | '-' | ' '));
        if rest.pop_if(|c| *c == '0').is_some() {
            spec.fill.get_or_insert('0');
            spec.align.get_or_insert('=');
        }
        spec.width = digits(&mut rest)?.unwrap_or(0);
        spec.grouped = rest.pop_if(|c| *c == ',').is_some();
        if rest.pop_if(|c| *c == '.').is_some() {
            let digits = digits(&mut rest)?;
            spec.precision = Some(digits.ok_or("a `.` needs digits after it")?);
        }
        spec.letter = rest.pop_if(|c| matches!(c, 'd' | 'f' | 'e' | '%' | 's'));
        match rest.pop() {
            None => Ok(spec),
            Some(other) => Err(format!(
                "`{other}` is not allowed in `:{text}`; write for example `:.2f`, `:>10`, `:,d`, \
                 `:json`, `:yaml` or `:text`"
            )),
        }
    }

    /// Whether it can format values of a type.
    pub(super) fn accepts(&self, ty: &Type) -> bool {
        let numeric = matches!(self.letter, Some('d' | 'f' | 'e' | '%'))
            || self.sign.is_some()
            || self.grouped
            || self.align == Some('=');
        let wanted = if self.letter == Some('d') { TypeIR::Int } else { TypeIR::Float };
        !numeric || ty.assignable_to(&Type::new(wanted, ty.defs.clone())).is_ok()
    }

    /// Writes a value.
    pub(super) fn write(&self, text: &mut String, value: &Payload) {
        if let Some(format) = self.format {
            return text.push_str(&formatted(value, format));
        }
        let (sign, body) = match value {
            Payload::Int(number) => self.int(*number),
            Payload::Float(number) => self.float(*number),
            other => ("", self.cut(plain(other))),
        };
        let taken = sign.chars().count() + body.chars().count();
        let room = self.width.saturating_sub(taken);
        let numeric = matches!(value, Payload::Int(_) | Payload::Float(_));
        let align = self.align.unwrap_or(if numeric { '>' } else { '<' });
        let (before, between, behind) = match align {
            '<' => (0, 0, room),
            '^' => (room / 2, 0, room - room / 2),
            '=' => (0, room, 0),
            _ => (room, 0, 0),
        };
        let fill = self.fill.unwrap_or(' ');
        text.extend(std::iter::repeat_n(fill, before));
        text.push_str(sign);
        text.extend(std::iter::repeat_n(fill, between));
        text.push_str(&body);
        text.extend(std::iter::repeat_n(fill, behind));
    }

    fn int(&self, number: i64) -> (&'static str, String) {
        if matches!(self.letter, Some('f' | 'e' | '%')) || self.precision.is_some() {
            return self.float(number as f64);
        }
        (self.signed(number < 0), self.group(number.unsigned_abs().to_string()))
    }

    fn float(&self, number: f64) -> (&'static str, String) {
        let (size, digits) = (number.abs(), self.precision);
        let body = match self.letter {
            Some('%') => format!("{:.*}%", digits.unwrap_or(6), size * 100.0),
            Some('e') => exponent(size, digits.unwrap_or(6)),
            Some('f') => format!("{size:.*}", digits.unwrap_or(6)),
            _ => digits.map_or_else(|| python_notation::float(size), |n| format!("{size:.n$}")),
        };
        (self.signed(number.is_sign_negative()), self.group(body))
    }

    const fn signed(&self, negative: bool) -> &'static str {
        match self.sign {
            _ if negative => "-",
            Some('+') => "+",
            Some(' ') => " ",
            _ => "",
        }
    }

    /// Inserts commas between thousands, if the format has them.
    fn group(&self, digits: String) -> String {
        if !self.grouped {
            return digits;
        }
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (whole, rest) = digits.split_at(end);
        let mut grouped = String::with_capacity(digits.len() + end / 3);
        for (position, digit) in whole.chars().enumerate() {
            if position > 0 && (whole.len() - position) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped + rest
    }

    fn cut(&self, text: String) -> String {
        match self.precision {
            Some(most) => text.chars().take(most).collect(),
            None => text,
        }
    }
}

/// As Python writes it, with at least two digits of exponent.
fn exponent(size: f64, digits: usize) -> String {
    let text = format!("{size:.digits$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    format!("{mantissa}e{}", exponent_digits(exponent))
}

fn digits(rest: &mut Vec<char>) -> Result<Option<usize>, String> {
    let mut number = None;
    while let Some(digit) = rest.last().and_then(|c| c.to_digit(10)) {
        rest.pop();
        number = Some(number.unwrap_or(0) * 10 + digit as usize);
        if number > Some(WIDTH_LIMIT) {
            return Err(format!("width and precision are at most {WIDTH_LIMIT}"));
        }
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(spec: &str, value: &str) -> String {
        let mut text = String::new();
        let value = Payload::from_json(value).unwrap();
        FormatSpec::parse(spec).map(|spec| spec.write(&mut text, &value)).unwrap();
        text
    }

    #[test]
    fn values_are_written_as_python_formats_them() {
        for (spec, value, expected) in [
            ("", "1.5", "1.5"),
            (".2f", "3.14159", "3.14"),
            (".2f", "2", "2.00"),
            ("f", "-0.5", "-0.500000"),
            (",", "1234567", "1,234,567"),
            (",.1f", "1234567.25", "1,234,567.2"),
            ("+d", "7", "+7"),
            ("05d", "-42", "-0042"),
            (">6", "42", "    42"),
            ("6", "42", "    42"),
            ("6", "\"ab\"", "ab    "),
            ("*^7", "\"ab\"", "**ab***"),
            (".3", "\"abcdef\"", "abc"),
            (".1%", "0.256", "25.6%"),
            (".2e", "12345.678", "1.23e+04"),
            (">8", "0.00001", "   1e-05"),
            ("", "[1, \"a\"]", "[1,\"a\"]"),
            ("", "null", "null"),
            ("yaml", "{\"a\": [1]}", "a:\n  - 1"),
        ] {
            assert_eq!(written(spec, value), expected, "{spec} of {value}");
        }
    }

    #[test]
    fn an_invalid_specification_is_refused_with_examples() {
        for spec in ["x", ".", "10000", ".2q", ",,"] {
            assert!(FormatSpec::parse(spec).is_err(), "{spec}");
        }
    }
}
