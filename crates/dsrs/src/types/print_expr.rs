//! Prints `TypeIR` as its canonical type expression, which parses back to the same type. An
//! expression has no place for descriptions, aliases, defaults and constraints: classes that have
//! them are definitions in `types`.

use std::fmt;

use super::{Class, Literal, TypeIR};

impl fmt::Display for TypeIR {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str => f.write_str("str"),
            Self::Int => f.write_str("int"),
            Self::Float => f.write_str("float"),
            Self::Bool => f.write_str("bool"),
            Self::Null => f.write_str("null"),
            Self::Any => f.write_str("any"),
            Self::Bytes => f.write_str("bytes"),
            Self::Error => f.write_str("error"),
            Self::Literal(literal) => literal.fmt(f),
            Self::List(element) => write!(f, "list[{element}]"),
            Self::Dict(value) => write!(f, "dict[str, {value}]"),
            Self::Tuple(members) => {
                f.write_str("tuple[")?;
                separated(f, members, ", ")?;
                f.write_str("]")
            }
            Self::Union(members) => match members.as_ref() {
                [only, Self::Null] => write!(f, "{only}?"),
                members => separated(f, members, " | "),
            },
            Self::Class(class) => write_class(f, class),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(text) => {
                let quoted = serde_json::to_string(text.as_ref()).map_err(|_| fmt::Error)?;
                f.write_str(&quoted)
            }
            Self::Int(number) => number.fmt(f),
            Self::Bool(flag) => flag.fmt(f),
        }
    }
}

fn separated(f: &mut fmt::Formatter<'_>, members: &[TypeIR], between: &str) -> fmt::Result {
    for (position, member) in members.iter().enumerate() {
        if position > 0 {
            f.write_str(between)?;
        }
        write!(f, "{member}")?;
    }
    Ok(())
}

fn write_class(f: &mut fmt::Formatter<'_>, class: &Class) -> fmt::Result {
    f.write_str("{")?;
    for (position, (name, field)) in class.fields.iter().enumerate() {
        let between = if position > 0 { ", " } else { "" };
        write!(f, "{between}{name}: {}", field.ty)?;
    }
    f.write_str("}")
}
