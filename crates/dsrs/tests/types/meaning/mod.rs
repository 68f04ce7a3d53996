//! The meaning of types through the public API: tables of types and values as text, and laws for all
//! types and values.

mod assignability;
mod boundary;
mod conversion;
mod description;
mod generate;
mod laws;
mod schema_notes;
mod selection;
mod specimens;

use std::sync::Arc;

use dsrs::types::{Enum, EnumMember, Type, TypeDef, TypeDefs, TypeIR, parse_type_expr};
use dsrs::value::Payload;

/// Definitions from lines `Name = type`: an inline class becomes a class, `enum a b` an enum, any
/// other type an alias.
fn defs(lines: &str) -> Arc<TypeDefs> {
    let read = |line: &str| {
        let (name, body) = line.split_once('=').unwrap();
        let def = match body.trim().strip_prefix("enum ") {
            Some(names) => TypeDef::Enum(Enum {
                members: names
                    .split_whitespace()
                    .map(|name| (Arc::from(name), EnumMember::default()))
                    .collect(),
                ..Enum::default()
            }),
            None => match parse_type_expr(body.trim()).unwrap() {
                TypeIR::Class(class) => TypeDef::Class((*class).clone()),
                alias => TypeDef::Alias(alias),
            },
        };
        (Arc::from(name.trim()), def)
    };
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    Arc::new(TypeDefs(lines.map(read).collect()))
}

/// A corpus of recursive and plain definitions.
fn corpus() -> Arc<TypeDefs> {
    defs(
        "Tree = {value: int, children: list[Tree]}
         Wood = {value: float, children: list[Wood]}
         Leafy = {value: int, children: list[Leafy], colour: str}
         Odd = {value: int, children: list[Even]}
         Even = {value: int, children: list[Odd]}
         Bad = {value: int, children: list[Worse]}
         Worse = {value: str, children: list[Bad]}
         Chain = {head: str, tail: Chain?}
         Loop = {head: str, tail: Loop?, mark: bool}
         Json = str | float | bool | null | list[Json] | dict[str, Json]
         Plain = str | int | list[Plain] | dict[str, Plain]
         Person = {name: str, age: int}
         Pet = {name: str}
         Mood = enum calm angry
         Wide = enum calm angry glad
         Text = str
         Self = Self
         Back = Forth
         Forth = Back | int",
    )
}

fn ty(text: &str) -> Type {
    Type::new(parse_type_expr(text).unwrap(), corpus())
}

fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}
