//! The tokens of an arithmetic expression. Knows no precedence.

use super::{ExprError, fault};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ArithmeticToken {
    Number(String),
    Name(String),
    Sign(&'static str),
}

impl ArithmeticToken {
    /// The token as it was written, in lower case.
    pub(super) fn text(&self) -> &str {
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

/// Splits an expression into tokens.
///
/// # Errors
/// A character that arithmetic does not have.
pub(super) fn tokens(source: &str) -> Result<Vec<ArithmeticToken>, ExprError> {
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
