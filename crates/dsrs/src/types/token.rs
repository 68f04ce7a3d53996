//! The tokens of type expressions and signature strings, with their columns. Text that is no token
//! becomes one that says why. Knows nothing of the grammar.

use std::fmt;

use super::names::shorten;

/// A word or sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// Letters, digits and `_`, of any script, so that an invalid name is reported as a whole.
    Word(String),
    /// A quoted string, its escapes resolved.
    Text(String),
    /// An integer.
    Number(i64),
    /// One of `[ ] { } ( ) , : | ?`.
    Sign(char),
    /// `->`.
    Arrow,
    /// Anything else, and why it is no token.
    Bad(String),
    /// The end.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{}`", shorten(word)),
            Self::Text(text) => write!(f, "the string {:?}", shorten(text)),
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::Arrow => f.write_str("`->`"),
            Self::Bad(reason) => f.write_str(reason),
            Self::End => f.write_str("the end"),
        }
    }
}

/// A token and its column: 1-based, in characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlacedToken {
    pub(crate) token: Token,
    pub(crate) column: usize,
}

/// All tokens of a text. The last one is `End` or `Bad`.
pub(crate) fn tokens(text: &str) -> Vec<PlacedToken> {
    let mut reader = Tokenizer { chars: text.chars().collect(), next: 0 };
    let mut found = Vec::new();
    loop {
        while reader.peek().is_some_and(char::is_whitespace) {
            reader.next += 1;
        }
        let column = reader.next + 1;
        let token = reader.token();
        let last = matches!(token, Token::End | Token::Bad(_));
        found.push(PlacedToken { token, column });
        if last {
            return found;
        }
    }
}

struct Tokenizer {
    chars: Vec<char>,
    next: usize,
}

impl Tokenizer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.next).copied()
    }

    fn take(&mut self) -> Option<char> {
        let found = self.peek();
        self.next += 1;
        found
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let rest = self.chars.get(self.next..).unwrap_or_default();
        let found: String = rest.iter().copied().take_while(|c| fits(*c)).collect();
        self.next += found.chars().count();
        found
    }

    fn token(&mut self) -> Token {
        match self.peek() {
            None => Token::End,
            Some('[' | ']' | '{' | '}' | '(' | ')' | ',' | ':' | '|' | '?') => {
                self.take().map_or(Token::End, Token::Sign)
            }
            Some(quote @ ('"' | '\'')) => self.text(quote),
            Some(c) if c.is_ascii_digit() => self.number(""),
            Some('-') => self.dash(),
            Some(c) if c.is_alphabetic() || c == '_' => {
                Token::Word(self.take_while(|c| c.is_alphanumeric() || c == '_'))
            }
            Some('.') => Token::Bad("`.`".to_owned()),
            Some(c) => Token::Bad(format!("`{}`", c.escape_debug())),
        }
    }

    fn dash(&mut self) -> Token {
        self.next += 1;
        match self.peek() {
            Some('>') => {
                self.next += 1;
                Token::Arrow
            }
            Some(c) if c.is_ascii_digit() => self.number("-"),
            _ => Token::Bad("`-`".to_owned()),
        }
    }

    fn number(&mut self, sign: &str) -> Token {
        let digits = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let text = format!("{sign}{digits}");
        let plain = digits.chars().all(|c| c.is_ascii_digit());
        match text.parse() {
            Ok(number) if plain => Token::Number(number),
            _ if plain => {
                Token::Bad(format!("`{}`, which does not fit into 64 bits", shorten(&text)))
            }
            _ => Token::Bad(format!("`{}`, which is not an integer", shorten(&text))),
        }
    }

    fn text(&mut self, quote: char) -> Token {
        self.next += 1;
        let mut text = String::new();
        loop {
            match self.take() {
                None => return Token::Bad("a string without a closing quote".to_owned()),
                Some(c) if c == quote => return Token::Text(text),
                Some('\\') => match self.escape() {
                    Some(c) => text.push(c),
                    None => {
                        return Token::Bad(
                            "a string with an escape sequence that JSON does not have".to_owned(),
                        );
                    }
                },
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.take()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return self.unicode(),
            c @ ('"' | '\'' | '\\' | '/') => c,
            _ => return None,
        })
    }

    fn unicode(&mut self) -> Option<char> {
        let high = self.hex()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high);
        }
        if self.take() != Some('\\') || self.take() != Some('u') {
            return None;
        }
        let low = self.hex()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)
    }

    fn hex(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |value, _| Some(value * 16 + self.take()?.to_digit(16)?))
    }
}
