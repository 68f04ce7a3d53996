//! The operators that become filters, and the tokens that show where they are. Knows no texts.

use minijinja::machinery::Token;
use minijinja::machinery::ast::BinOpKind;

/// The filter that `~` becomes.
pub const JOIN: &str = "operator_join";
/// The filter that `*` becomes.
pub const MULTIPLY: &str = "operator_multiply";
/// The filter that `+` becomes.
pub const ADD: &str = "operator_add";

/// An operator that becomes a filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Join,
    Multiply,
    Add,
}

impl Operator {
    pub(crate) const fn of(kind: BinOpKind) -> Option<Self> {
        match kind {
            BinOpKind::Concat => Some(Self::Join),
            BinOpKind::Mul => Some(Self::Multiply),
            BinOpKind::Add => Some(Self::Add),
            _ => None,
        }
    }

    pub(crate) const fn filter(self) -> &'static str {
        match self {
            Self::Join => JOIN,
            Self::Multiply => MULTIPLY,
            Self::Add => ADD,
        }
    }
}

/// What the place of an operator depends on.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    Open,
    Close,
    Operator(Operator),
}

impl Sign {
    pub(crate) fn of(token: &Token<'_>) -> Option<Self> {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => Some(Self::Open),
            Token::ParenClose | Token::BracketClose | Token::BraceClose => Some(Self::Close),
            Token::Tilde => Some(Self::Operator(Operator::Join)),
            Token::Mul => Some(Self::Operator(Operator::Multiply)),
            Token::Plus => Some(Self::Operator(Operator::Add)),
            _ => None,
        }
    }
}
