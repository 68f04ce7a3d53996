//! Parses the string notation of a signature, `question, context: list[str] -> answer: float`, into
//! names and types. Does not know which types are defined.

use std::sync::Arc;

use crate::problem::Code;
use crate::types::{NameUse, Token, TypeExprError, TypeIR, TypeParser};
use crate::value::is_identifier;

/// A field in the string notation.
#[derive(Debug, PartialEq)]
pub(super) struct TextField {
    pub(super) name: Arc<str>,
    pub(super) column: usize,
    pub(super) ty: TypeIR,
}

/// A signature in the string notation.
#[derive(Debug, PartialEq)]
pub(super) struct TextSignature {
    pub(super) inputs: Vec<TextField>,
    pub(super) outputs: Vec<TextField>,
    /// The names of types that it uses.
    pub(super) names: Vec<NameUse>,
}

/// Why a string is not a signature.
#[derive(Debug, PartialEq)]
pub(super) struct TextError {
    pub(super) code: Code,
    pub(super) error: TypeExprError,
}

/// Parses the string notation.
pub(super) fn parse(text: &str) -> Result<TextSignature, TextError> {
    let mut parser = TypeParser::new(text);
    let inputs = fields(&mut parser, &Token::Arrow)?;
    if parser.peek() != &Token::Arrow {
        return Err(unexpected(&parser, "`,`, `:` or `->`"));
    }
    parser.advance();
    let outputs = fields(&mut parser, &Token::End)?;
    if parser.peek() != &Token::End {
        return Err(unexpected(&parser, "`,`, `:` or the end"));
    }
    Ok(TextSignature { inputs, outputs, names: parser.names })
}

fn fields(parser: &mut TypeParser, end: &Token) -> Result<Vec<TextField>, TextError> {
    let mut found = Vec::new();
    if parser.peek() == end {
        return Ok(found);
    }
    loop {
        found.push(field(parser)?);
        if !parser.take(',') {
            return Ok(found);
        }
    }
}

fn field(parser: &mut TypeParser) -> Result<TextField, TextError> {
    let column = parser.column();
    let Token::Word(name) = parser.peek().clone() else {
        return Err(unexpected(parser, "a field name"));
    };
    if !is_identifier(&name) {
        let reason = format!(
            "{} cannot name a field: a name is a letter or `_`, followed by up to 62 letters, digits or `_`",
            parser.peek()
        );
        return Err(TextError { code: Code::InvalidName, error: TypeExprError { column, reason } });
    }
    parser.advance();
    let ty = if parser.take(':') {
        parser.ty().map_err(|error| TextError { code: Code::InvalidType, error })?
    } else {
        TypeIR::Str
    };
    Ok(TextField { name: name.into(), column, ty })
}

fn unexpected(parser: &TypeParser, what: &str) -> TextError {
    TextError { code: Code::InvalidSignature, error: parser.expected(what) }
}
