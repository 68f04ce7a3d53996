//! Types as documents spell them: type expressions and JSON Schemas. Knows nothing of the fields
//! that have the types.

use super::field::FieldOutline;
use super::parse_expr::parse_with_names;
use super::{TypeIR, TypeScope, schema};
use crate::problem::{At, Code, Problems};
use crate::read::wrong_type;
use crate::value::Payload;

impl TypeScope {
    /// Reads a type expression, or a JSON Schema object whose definitions are added to the scope.
    pub fn read_type(
        &mut self,
        payload: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeIR> {
        match payload {
            Payload::Str(text) => self.read_expression(text, at, problems),
            Payload::Map(_) => schema::read_type(payload, place_hint(at), self, at, problems),
            other => {
                wrong_type(at, problems, "a type expression or a JSON Schema object", other);
                None
            }
        }
    }

    /// Reads a type that may have attributes, such as a description or a default.
    pub(crate) fn read_described(
        &mut self,
        payload: &Payload,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<FieldOutline> {
        if payload.as_map().is_some() {
            return schema::read_field(payload, hint, self, at, problems);
        }
        self.read_type(payload, at, problems).map(FieldOutline::of)
    }

    fn read_expression(&self, text: &str, at: &At<'_>, problems: &mut Problems) -> Option<TypeIR> {
        match parse_with_names(text) {
            Ok((ty, names)) => self.check_names(&names, at, problems).then_some(ty),
            Err(error) => {
                problems.add(at, Code::InvalidType, error.to_string());
                None
            }
        }
    }
}

/// The name that a place suggests: its nearest member that is not a keyword.
fn place_hint<'a>(at: &At<'a>) -> &'a str {
    match at {
        At::Key(_, name) if !["type", "config", "from", "to", "signature"].contains(name) => name,
        At::Key(parent, _) | At::Index(parent, _) => place_hint(parent),
        At::Root => "type",
    }
}
