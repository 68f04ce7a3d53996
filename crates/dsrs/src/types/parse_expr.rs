//! Parses type expressions into `TypeIR`. Words that are not reserved become names; the parser does
//! not know whether they are defined.

use std::sync::Arc;

use indexmap::map::Entry;

use super::names::{ReservedWord, reserved_word};
use super::token::{PlacedToken, Token, tokens};
use super::{Class, ClassField, Literal, TypeIR};
use crate::value::is_identifier;

/// How deep types may nest.
pub(super) const DEPTH_LIMIT: usize = 64;

/// How many members a union may have.
pub(super) const UNION_LIMIT: usize = 1000;

/// A text is not a type expression: where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct TypeExprError {
    /// The place of the error: 1-based, in characters.
    pub column: usize,
    /// What was expected and what was found.
    pub reason: String,
}

/// Parses a type expression. Words that are not reserved become [`TypeIR::Named`].
///
/// ```
/// use dsrs::types::parse_type_expr;
/// let ty = parse_type_expr("Optional[List[string]]").unwrap();
/// assert_eq!(ty.to_string(), "list[str]?");
/// assert_eq!(parse_type_expr("list[").unwrap_err().to_string(), "column 6: expected a type, found the end");
/// ```
///
/// # Errors
/// The first violation of the grammar, with its column.
pub fn parse_type_expr(text: &str) -> Result<TypeIR, TypeExprError> {
    parse_with_names(text).map(|(ty, _)| ty)
}

/// As [`parse_type_expr`], with every name and its column.
pub(super) fn parse_with_names(text: &str) -> Result<(TypeIR, Vec<NameUse>), TypeExprError> {
    let mut parser = TypeParser::new(text);
    let ty = parser.ty()?;
    if parser.peek() != &Token::End {
        return Err(parser.expected("the end of the type"));
    }
    Ok((ty, parser.names))
}

/// A name in a text, and its column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameUse {
    pub(crate) name: Arc<str>,
    pub(crate) column: usize,
}

/// Parses types from tokens. Signature strings use it, too.
pub(crate) struct TypeParser {
    tokens: Vec<PlacedToken>,
    next: usize,
    depth: usize,
    pub(crate) names: Vec<NameUse>,
}

type Parsed<T> = Result<T, TypeExprError>;

impl TypeParser {
    pub(crate) fn new(text: &str) -> Self {
        Self { tokens: tokens(text), next: 0, depth: 0, names: Vec::new() }
    }

    /// The next token. The last one is never consumed.
    pub(crate) fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |placed| &placed.token)
    }

    /// The column of the next token.
    pub(crate) fn column(&self) -> usize {
        self.tokens.get(self.next).map_or(1, |placed| placed.column)
    }

    pub(crate) fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len().saturating_sub(1));
    }

    /// Consumes the sign if it is the next token.
    pub(crate) fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == &Token::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn expected(&self, what: &str) -> TypeExprError {
        self.error(self.column(), format!("expected {what}, found {}", self.peek()))
    }

    fn error(&self, column: usize, reason: impl Into<String>) -> TypeExprError {
        TypeExprError { column, reason: reason.into() }
    }

    fn want(&mut self, sign: char, what: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// `T | U | ...`.
    pub(crate) fn ty(&mut self) -> Parsed<TypeIR> {
        let column = self.column();
        if self.depth >= DEPTH_LIMIT {
            return Err(self.error(column, format!("types nest at most {DEPTH_LIMIT} levels deep")));
        }
        self.depth += 1;
        let mut members = vec![self.postfix()?];
        while self.take('|') {
            members.push(self.postfix()?);
        }
        self.depth -= 1;
        self.union(members, column)
    }

    fn union(&self, members: Vec<TypeIR>, column: usize) -> Parsed<TypeIR> {
        if count_members(&members) > UNION_LIMIT {
            let reason = format!("a union has at most {UNION_LIMIT} members; use an enum");
            return Err(self.error(column, reason));
        }
        Ok(TypeIR::union(members))
    }

    /// `T?`.
    fn postfix(&mut self) -> Parsed<TypeIR> {
        let mut ty = self.primary()?;
        while self.take('?') {
            ty = ty.optional();
        }
        Ok(ty)
    }

    fn primary(&mut self) -> Parsed<TypeIR> {
        match self.peek().clone() {
            Token::Word(name) => self.word(&name),
            Token::Text(text) => {
                self.advance();
                Ok(TypeIR::Literal(Literal::Str(text.into())))
            }
            Token::Number(number) => {
                self.advance();
                Ok(TypeIR::Literal(Literal::Int(number)))
            }
            Token::Sign('(') => {
                self.advance();
                let ty = self.ty()?;
                self.want(')', "`)` or `|`")?;
                Ok(ty)
            }
            Token::Sign('{') => self.class(),
            _ => Err(self.expected("a type")),
        }
    }

    fn word(&mut self, name: &str) -> Parsed<TypeIR> {
        let column = self.column();
        let Some(meaning) = reserved_word(name) else { return self.name(name) };
        self.advance();
        match meaning {
            ReservedWord::Scalar(ty) => Ok(ty),
            ReservedWord::Flag(flag) => Ok(TypeIR::Literal(Literal::Bool(flag))),
            ReservedWord::List => self.list(name, column),
            ReservedWord::Dict => self.dict(name, column),
            ReservedWord::Tuple => self.tuple(name, column),
            ReservedWord::Literal => self.literals(column),
            ReservedWord::Optional => {
                let example = "needs the type that may be null, as in `Optional[str]`";
                Ok(self.single(name, column, example)?.optional())
            }
            ReservedWord::Union => {
                let members =
                    self.arguments(name, column, "needs its members, as in `Union[int, str]`")?;
                self.union(members, column)
            }
        }
    }

    fn name(&mut self, name: &str) -> Parsed<TypeIR> {
        let column = self.column();
        if !is_identifier(name) {
            let reason = format!("{} cannot be the name of a type", self.peek());
            return Err(self.error(column, reason));
        }
        self.advance();
        if self.peek() == &Token::Sign('[') {
            let reason = format!("expected `list`, `dict` or `tuple` before `[`, found `{name}`");
            return Err(self.error(column, reason));
        }
        let name: Arc<str> = name.into();
        self.names.push(NameUse { name: name.clone(), column });
        Ok(TypeIR::Named(name))
    }

    fn list(&mut self, name: &str, column: usize) -> Parsed<TypeIR> {
        self.single(name, column, "needs the type of its elements, as in `list[str]`")
            .map(TypeIR::list)
    }

    fn dict(&mut self, name: &str, column: usize) -> Parsed<TypeIR> {
        let example = "needs the types of its keys and values, as in `dict[str, int]`";
        let key_column = self.tokens.get(self.next + 1).map_or(column, |placed| placed.column);
        let mut arguments = self.arguments(name, column, example)?.into_iter();
        match (arguments.next(), arguments.next(), arguments.next()) {
            (Some(TypeIR::Str), Some(value), None) => Ok(TypeIR::dict(value)),
            (Some(key), Some(_), None) => {
                Err(self.error(key_column, format!("the keys of a dict are `str`, not `{key}`")))
            }
            _ => Err(self.error(column, format!("`{name}` {example}"))),
        }
    }

    fn tuple(&mut self, name: &str, column: usize) -> Parsed<TypeIR> {
        let members = self.arguments(name, column, "needs its members, as in `tuple[int, str]`")?;
        Ok(TypeIR::Tuple(members.into()))
    }

    fn literals(&mut self, column: usize) -> Parsed<TypeIR> {
        let example = "needs its values, as in `Literal[\"low\", \"high\"]`";
        let members = self.arguments("Literal", column, example)?;
        let fixed = |ty: &TypeIR| match ty {
            TypeIR::Union(members) => members.iter().all(is_fixed),
            other => is_fixed(other),
        };
        if let Some(other) = members.iter().find(|member| !fixed(member)) {
            let reason =
                format!("`Literal` accepts strings, integers, true, false and null, not `{other}`");
            return Err(self.error(column, reason));
        }
        self.union(members, column)
    }

    fn single(&mut self, name: &str, column: usize, example: &str) -> Parsed<TypeIR> {
        let mut arguments = self.arguments(name, column, example)?.into_iter();
        match (arguments.next(), arguments.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.error(column, format!("`{name}` has one type argument; it {example}"))),
        }
    }

    /// `[T, U, ...]`, at least one.
    fn arguments(&mut self, name: &str, column: usize, example: &str) -> Parsed<Vec<TypeIR>> {
        if !self.take('[') {
            return Err(self.error(column, format!("`{name}` {example}")));
        }
        let mut found = vec![self.ty()?];
        while self.take(',') {
            found.push(self.ty()?);
        }
        self.want(']', "`,`, `|` or `]`")?;
        Ok(found)
    }

    /// `{name: T, ...}`.
    fn class(&mut self) -> Parsed<TypeIR> {
        self.advance();
        let mut class = Class::default();
        if self.take('}') {
            return Ok(TypeIR::Class(Arc::new(class)));
        }
        loop {
            self.class_field(&mut class)?;
            if !self.take(',') {
                break;
            }
        }
        self.want('}', "`,`, `|` or `}`")?;
        Ok(TypeIR::Class(Arc::new(class)))
    }

    fn class_field(&mut self, class: &mut Class) -> Parsed<()> {
        let column = self.column();
        let name = match self.peek() {
            Token::Word(name) if is_identifier(name) => Arc::<str>::from(name.as_str()),
            Token::Word(_) => {
                return Err(self.error(column, format!("{} cannot name a field", self.peek())));
            }
            _ => return Err(self.expected("a field name")),
        };
        self.advance();
        self.want(':', "`:` and the type of the field")?;
        let ty = self.ty()?;
        match class.fields.entry(name) {
            Entry::Occupied(taken) => {
                let reason = format!("the field `{}` appears twice", taken.key());
                Err(TypeExprError { column, reason })
            }
            Entry::Vacant(free) => {
                free.insert(ClassField::of(ty));
                Ok(())
            }
        }
    }
}

fn is_fixed(ty: &TypeIR) -> bool {
    matches!(ty, TypeIR::Literal(_) | TypeIR::Null)
}

/// The largest number of members that a union of these can have.
pub(super) fn count_members(members: &[TypeIR]) -> usize {
    let one = |member: &TypeIR| if let TypeIR::Union(inner) = member { inner.len() } else { 1 };
    members.iter().map(one).sum()
}
