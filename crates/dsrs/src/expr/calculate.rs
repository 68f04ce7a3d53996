//! Arithmetic with the operators and the precedence of Python. Integers stay exact; time and memory
//! are bounded. The crates for this only compute with floats, lack `//` or `**`, or are unmaintained.

use super::ExprError;
use crate::value::Payload;

/// The longest expression.
const LENGTH: usize = 2_000;

/// How deep brackets, signs and powers may nest.
const DEPTH: usize = 64;

/// The value of an arithmetic expression. An integer beyond 64 bits is returned as its digits.
///
/// ```
/// use dsrs::{expr::calculate, value::Payload};
/// assert_eq!(calculate("2 ** 10 - 1"), Ok(Payload::Int(1023)));
/// assert!(calculate("1 / 0").is_err());
/// ```
///
/// # Errors
/// If the expression cannot be parsed or has no value: a division by zero, a result that is too large.
pub fn calculate(source: &str) -> Result<Payload, ExprError> {
    if source.len() > LENGTH {
        return Err(fault(format!("the expression is longer than {LENGTH} bytes")));
    }
    let mut reader = ArithmeticParser { tokens: tokens(source)?, next: 0, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => value.to_payload(),
        Some(token) => Err(fault(format!("expected an operator, found `{}`", token.text()))),
    }
}

fn fault(reason: impl Into<String>) -> ExprError {
    ExprError { reason: reason.into() }
}

#[derive(Clone, Copy, Debug)]
enum ArithmeticNumber {
    Whole(i128),
    Float(f64),
}

#[derive(Clone, Debug, PartialEq)]
enum ArithmeticToken {
    Number(String),
    Name(String),
    Sign(&'static str),
}

impl ArithmeticToken {
    fn text(&self) -> &str {
        match self {
            Self::Number(text) | Self::Name(text) => text,
            Self::Sign(sign) => sign,
        }
    }
}

/// The operators, longer ones first, with their alternative spellings.
const SIGNS: [(&str, &str); 14] = [
    ("**", "**"),
    ("//", "//"),
    ("^", "**"),
    ("+", "+"),
    ("-", "-"),
    ("−", "-"),
    ("*", "*"),
    ("×", "*"),
    ("·", "*"),
    ("/", "/"),
    ("÷", "/"),
    ("%", "%"),
    ("(", "("),
    (")", ")"),
];

fn tokens(source: &str) -> Result<Vec<ArithmeticToken>, ExprError> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() || first == '.' {
            let length = numeral(rest);
            tokens.push(ArithmeticToken::Number(
                rest.get(..length).unwrap_or_default().replace('_', ""),
            ));
            length
        } else if first.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(ArithmeticToken::Name(rest.get(..end).unwrap_or_default().to_lowercase()));
            end
        } else if first == ',' {
            tokens.push(ArithmeticToken::Sign(","));
            1
        } else if let Some((written, sign)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign))
        {
            tokens.push(ArithmeticToken::Sign(sign));
            written.len()
        } else {
            return Err(fault(format!("`{first}` is not allowed in arithmetic")));
        };
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

/// The length of the number at the start of a text: `12`, `1_000`, `1.5`, `.5`, `2e-3`.
fn numeral(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let sign = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
        from + bytes.iter().skip(from).take_while(|byte| sign(byte)).count()
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
        let from = end + 1 + usize::from(signed);
        if bytes.get(from).is_some_and(u8::is_ascii_digit) {
            end = digits(from);
        }
    }
    end
}

struct ArithmeticParser {
    tokens: Vec<ArithmeticToken>,
    next: usize,
    depth: usize,
}

impl ArithmeticParser {
    fn peek(&self) -> Option<&ArithmeticToken> {
        self.tokens.get(self.next)
    }

    /// Consumes the next token if it is one of these signs.
    fn take(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Some(ArithmeticToken::Sign(sign)) if signs.contains(sign) => {
                let sign = *sign;
                self.next += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<ArithmeticNumber, ExprError> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&["+", "-"]) {
            let other = self.product()?;
            value = value.by(sign, other)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<ArithmeticNumber, ExprError> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&["*", "/", "//", "%"]) {
            let other = self.signed()?;
            value = value.by(sign, other)?;
        }
        Ok(value)
    }

    /// A sign binds weaker than a power: `-2 ** 2` is -4.
    fn signed(&mut self) -> Result<ArithmeticNumber, ExprError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(fault(format!("the expression nests deeper than {DEPTH}")));
        }
        let value = match self.take(&["+", "-"]) {
            Some("-") => ArithmeticNumber::Whole(0).by("-", self.signed()?),
            Some(_) => self.signed(),
            None => self.power(),
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Result<ArithmeticNumber, ExprError> {
        let base = self.atom()?;
        match self.take(&["**"]) {
            // Right-associative: 2 ** 3 ** 2 is 512.
            Some(_) => base.power(self.signed()?),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<ArithmeticNumber, ExprError> {
        let token = self.peek().cloned().ok_or_else(|| fault("the expression is incomplete"))?;
        self.next += 1;
        match token {
            ArithmeticToken::Number(text) => number(&text),
            ArithmeticToken::Name(name) => match (name.as_str(), self.peek()) {
                (_, Some(ArithmeticToken::Sign("("))) => self.function(&name),
                ("pi" | "π", _) => Ok(ArithmeticNumber::Float(std::f64::consts::PI)),
                ("e", _) => Ok(ArithmeticNumber::Float(std::f64::consts::E)),
                _ => Err(fault(format!("`{name}` is not defined; variables are not supported"))),
            },
            ArithmeticToken::Sign("(") => {
                let value = self.sum()?;
                self.take(&[")"]).ok_or_else(|| fault("a `(` is not closed"))?;
                Ok(value)
            }
            ArithmeticToken::Sign(sign) => Err(fault(format!("expected a number, found `{sign}`"))),
        }
    }

    fn function(&mut self, name: &str) -> Result<ArithmeticNumber, ExprError> {
        self.next += 1;
        let mut arguments = Vec::new();
        if self.take(&[")"]).is_none() {
            loop {
                arguments.push(self.sum()?);
                match self.take(&[",", ")"]) {
                    Some(",") => {}
                    Some(_) => break,
                    None => return Err(fault(format!("the `(` of `{name}` is not closed"))),
                }
            }
        }
        apply(name, &arguments)
    }
}

fn number(text: &str) -> Result<ArithmeticNumber, ExprError> {
    if let Ok(whole) = text.parse() {
        return Ok(ArithmeticNumber::Whole(whole));
    }
    let float = text.parse().map_err(|_| fault(format!("`{text}` is not a number")))?;
    ArithmeticNumber::finite(float)
}

fn apply(name: &str, arguments: &[ArithmeticNumber]) -> Result<ArithmeticNumber, ExprError> {
    let float = |f: fn(f64) -> f64| match arguments {
        [one] => ArithmeticNumber::finite(f(one.float())),
        _ => Err(fault(format!("`{name}` accepts one number"))),
    };
    let whole = |f: fn(f64) -> f64| match arguments {
        [ArithmeticNumber::Whole(whole)] => Ok(ArithmeticNumber::Whole(*whole)),
        [ArithmeticNumber::Float(float)] => Ok(ArithmeticNumber::rounded(f(*float))),
        _ => Err(fault(format!("`{name}` accepts one number"))),
    };
    let pick = |better: fn(f64, f64) -> bool| {
        let picked = arguments.iter().copied().reduce(|best, next| match (best, next) {
            (ArithmeticNumber::Whole(a), ArithmeticNumber::Whole(b))
                if (a < b) == better(0.0, 1.0) =>
            {
                best
            }
            (ArithmeticNumber::Whole(_), ArithmeticNumber::Whole(_)) => next,
            _ if better(next.float(), best.float()) => next,
            _ => best,
        });
        picked.ok_or_else(|| fault(format!("`{name}` accepts one or more numbers")))
    };
    match (name, arguments) {
        ("abs", [ArithmeticNumber::Whole(whole)]) => {
            whole.checked_abs().map(ArithmeticNumber::Whole).ok_or_else(too_large)
        }
        ("abs", _) => float(f64::abs),
        ("sqrt", _) => float(f64::sqrt),
        ("exp", _) => float(f64::exp),
        ("log", [value, base]) => ArithmeticNumber::finite(value.float().ln() / base.float().ln()),
        ("log" | "ln", _) => float(f64::ln),
        ("log2", _) => float(f64::log2),
        ("log10", _) => float(f64::log10),
        ("sin", _) => float(f64::sin),
        ("cos", _) => float(f64::cos),
        ("tan", _) => float(f64::tan),
        ("asin", _) => float(f64::asin),
        ("acos", _) => float(f64::acos),
        ("atan", _) => float(f64::atan),
        ("floor", _) => whole(f64::floor),
        ("ceil", _) => whole(f64::ceil),
        ("round", [value, places]) => value.round(*places),
        ("round", _) => whole(f64::round_ties_even),
        ("pow", [base, exponent]) => base.power(*exponent),
        ("min", _) => pick(|a, b| a < b),
        ("max", _) => pick(|a, b| a > b),
        _ => Err(fault(format!("there is no function `{name}`"))),
    }
}

impl ArithmeticNumber {
    fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    fn finite(float: f64) -> Result<Self, ExprError> {
        if float.is_nan() {
            return Err(fault("the result is not a real number"));
        }
        if float.is_infinite() {
            return Err(fault("the result is too large, or infinite"));
        }
        Ok(Self::Float(float))
    }

    /// An integral float as an integer if that is exact.
    fn rounded(float: f64) -> Self {
        if float.abs() < 9e15 { Self::Whole(float as i128) } else { Self::Float(float) }
    }

    fn by(self, sign: &str, other: Self) -> Result<Self, ExprError> {
        if matches!(sign, "/" | "//" | "%") && other.float() == 0.0 {
            return Err(fault("division by zero"));
        }
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => whole(a, sign, b),
            _ => {
                let (a, b) = (self.float(), other.float());
                Self::finite(match sign {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "//" => (a / b).floor(),
                    _ => a - b * (a / b).floor(),
                })
            }
        }
    }

    fn power(self, exponent: Self) -> Result<Self, ExprError> {
        if let (Self::Whole(base), Self::Whole(exponent @ 0..)) = (self, exponent) {
            let exponent = u32::try_from(exponent).ok();
            let power = match base {
                0 | 1 => exponent.map(|exponent| base.pow(exponent.min(1))),
                _ => exponent.and_then(|exponent| base.checked_pow(exponent)),
            };
            return power.map(Self::Whole).ok_or_else(too_large);
        }
        if self.float() == 0.0 && exponent.float() < 0.0 {
            return Err(fault("division by zero"));
        }
        Self::finite(self.float().powf(exponent.float()))
    }

    fn round(self, places: Self) -> Result<Self, ExprError> {
        let Self::Whole(places @ -15..=15) = places else {
            return Err(fault("`round` accepts a number and a number of decimal places, up to 15"));
        };
        let scale = 10_f64.powi(places as i32);
        Self::finite((self.float() * scale).round_ties_even() / scale)
    }

    fn to_payload(self) -> Result<Payload, ExprError> {
        match self {
            Self::Whole(whole) => Ok(i64::try_from(whole)
                .map_or_else(|_| Payload::from(whole.to_string()), Payload::Int)),
            Self::Float(float) => Ok(Payload::Float(float)),
        }
    }
}

fn too_large() -> ExprError {
    fault(
        "the result is too large for exact arithmetic; write a decimal point to calculate with floats",
    )
}

fn whole(a: i128, sign: &str, b: i128) -> Result<ArithmeticNumber, ExprError> {
    let floored = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        let inexact = a.checked_rem(b)? != 0 && (a < 0) != (b < 0);
        Some(quotient - i128::from(inexact))
    };
    let result = match sign {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" if a.checked_rem(b) != Some(0) => return ArithmeticNumber::finite(a as f64 / b as f64),
        "/" => a.checked_div(b),
        "//" => floored(a, b),
        _ => floored(a, b).and_then(|quotient| a.checked_sub(quotient.checked_mul(b)?)),
    };
    result.map(ArithmeticNumber::Whole).ok_or_else(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(source: &str) -> String {
        calculate(source).map_or_else(|error| error.reason, |value| value.to_json())
    }

    #[test]
    fn operators_are_those_of_python() {
        for (source, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("7 / 2", "3.5"),
            ("8 / 2", "4"),
            ("7 // 2", "3"),
            ("-7 // 2", "-4"),
            ("7 // -2", "-4"),
            ("-7 % 3", "2"),
            ("7 % -3", "-2"),
            ("7.5 % 2", "1.5"),
            ("-2 ** 2", "-4"),
            ("2 ** 3 ** 2", "512"),
            ("2 ** -1", "0.5"),
            ("2 ^ 10", "1024"),
            ("--3", "3"),
            ("1_000 × 2 ÷ 4 − 1", "499"),
            (".5 + 1e3 + 2E-1", "1000.7"),
            ("2 ** 64", "\"18446744073709551616\""),
        ] {
            assert_eq!(value(source), expected, "{source}");
        }
    }

    #[test]
    fn functions_accept_the_usual_arguments() {
        for (source, expected) in [
            ("sqrt(16)", "4.0"),
            ("abs(-3)", "3"),
            ("min(3, 1, 2)", "1"),
            ("max(1.5, 1)", "1.5"),
            ("max(1, 2)", "2"),
            ("round(2.5)", "2"),
            ("round(3.14159, 2)", "3.14"),
            ("floor(-1.5)", "-2"),
            ("log(e)", "1.0"),
            ("log(8, 2)", "3.0"),
            ("sin(0) + COS(0)", "1.0"),
            ("round(pi * 100)", "314"),
        ] {
            assert_eq!(value(source), expected, "{source}");
        }
    }

    #[test]
    fn an_expression_without_a_value_says_why() {
        for (source, reason) in [
            ("1 / 0", "division by zero"),
            ("1 % 0.0", "division by zero"),
            ("0 ** -1", "division by zero"),
            ("9 ** 9 ** 9", "too large"),
            ("1e308 * 10", "too large"),
            ("sqrt(-1)", "not a real number"),
            ("2 +", "incomplete"),
            ("", "incomplete"),
            ("(1", "not closed"),
            ("min(1", "not closed"),
            ("min()", "accepts one or more numbers"),
            ("1 2", "expected an operator"),
            ("x + 1", "`x` is not defined"),
            ("open('a')", "is not allowed"),
            ("exit(1)", "there is no function `exit`"),
            ("1.2.3", "expected an operator"),
        ] {
            assert!(value(source).contains(reason), "{source}: {}", value(source));
        }
    }

    #[test]
    fn depth_length_and_size_are_bounded() {
        for part in ["(", "-", "2**", "abs("] {
            let deep = part.repeat(LENGTH / part.len());
            assert!(value(&deep).contains("deeper"), "{part}");
        }
        assert!(value(&"1+".repeat(LENGTH)).contains("longer"));
        let whole = i128::MIN + 1;
        assert!(value(&format!("({whole} - 1) // -1")).contains("too large"));
        assert!(value(&format!("abs({whole} - 1)")).contains("too large"));
    }
}
