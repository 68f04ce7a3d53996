//! Arithmetic with the operators and the precedence of Python. Integers stay exact; time and memory
//! are bounded. The crates for this only compute with floats, lack `//` or `**`, or are unmaintained.

mod function;
mod number;
mod token;

use super::ExprError;
use crate::value::Payload;
use function::apply;
use number::ArithmeticNumber;
use token::{ArithmeticToken, tokens};

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
            ArithmeticToken::Number(text) => ArithmeticNumber::parse(&text),
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
