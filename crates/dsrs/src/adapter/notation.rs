//! How types and values are told to an LM.

use crate::types::{Literal, Type, TypeDef, TypeIR};
use crate::value::Payload;

pub(super) fn tell(ty: &Type) -> String {
    ir(&ty.ir, ty)
}

pub(super) fn tell_defs(_types: &[Type]) -> String {
    String::new()
}

pub(super) fn to_lm(value: &Payload, _ty: &Type) -> Payload {
    value.clone()
}

fn ir(ty: &TypeIR, whole: &Type) -> String {
    let each = |members: &[TypeIR], by: &str| {
        members.iter().map(|member| ir(member, whole)).collect::<Vec<_>>().join(by)
    };
    match ty {
        TypeIR::Str => "str".into(),
        TypeIR::Int => "int".into(),
        TypeIR::Float => "float".into(),
        TypeIR::Bool => "bool".into(),
        TypeIR::Null => "null".into(),
        TypeIR::Any => "any".into(),
        TypeIR::Bytes => "bytes".into(),
        TypeIR::Error => "error".into(),
        TypeIR::Literal(Literal::Str(text)) => Payload::Str(text.clone()).to_json(),
        TypeIR::Literal(Literal::Int(number)) => number.to_string(),
        TypeIR::Literal(Literal::Bool(flag)) => flag.to_string(),
        TypeIR::List(element) => format!("list[{}]", ir(element, whole)),
        TypeIR::Dict(member) => format!("dict[str, {}]", ir(member, whole)),
        TypeIR::Tuple(members) => format!("tuple[{}]", each(members, ", ")),
        TypeIR::Union(members) => each(members, " | "),
        TypeIR::Class(class) => class_text(class, whole),
        TypeIR::Named(name) => match whole.defs.get(name) {
            Some(TypeDef::Enum(members)) => members
                .members
                .keys()
                .map(|name| format!("\"{name}\""))
                .collect::<Vec<_>>()
                .join(" | "),
            _ => name.to_string(),
        },
    }
}

fn class_text(class: &crate::types::Class, whole: &Type) -> String {
    let members =
        class.fields.iter().map(|(name, field)| format!("{name}: {}", ir(&field.ty, whole)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
}
