//! Describes a type to an LM: a compact notation like TypeScript, with descriptions as comments and
//! aliases instead of names. Knows nothing of the prompts around it.

use super::walk::reachable;
use super::{Class, ClassField, Constraint, ConstraintKind, Enum, Literal, Type, TypeDef, TypeIR};

/// The longest class that is written on one line.
const LINE: usize = 80;

/// A type for an LM. Definitions appear by name; [`describe_definitions`] describes them.
#[must_use]
pub fn describe_type(ty: &Type) -> String {
    describe_ir(&ty.ir, 0)
}

/// The definitions that types refer to, each once, in the order of first mention. Empty if there
/// are none.
#[must_use]
pub fn describe_definitions(types: &[Type]) -> String {
    let mut described: Vec<(&str, String)> = Vec::new();
    for ty in types {
        for name in reachable([&ty.ir], &ty.defs) {
            let Some(def) = ty.defs.get(name) else { continue };
            if !described.iter().any(|(known, _)| *known == name.as_ref()) {
                described.push((name, describe_definition(name, def)));
            }
        }
    }
    described.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

fn describe_definition(name: &str, def: &TypeDef) -> String {
    let (description, body) = match def {
        TypeDef::Class(class) => (&class.description, describe_class(class, 0)),
        TypeDef::Enum(known) => (&known.description, describe_enum(known)),
        TypeDef::Alias(ir) => (&None, describe_ir(ir, 0)),
    };
    let comment =
        description.as_deref().map_or_else(String::new, |text| format!("// {}\n", one_line(text)));
    let between = if body.starts_with('\n') { "" } else { " " };
    format!("{comment}{name} ={between}{body}")
}

fn describe_ir(ir: &TypeIR, depth: usize) -> String {
    match ir {
        TypeIR::Str => "string".to_owned(),
        TypeIR::Int => "int".to_owned(),
        TypeIR::Float => "float".to_owned(),
        TypeIR::Bool => "bool".to_owned(),
        TypeIR::Null => "null".to_owned(),
        TypeIR::Any => "any".to_owned(),
        TypeIR::Bytes => "base64".to_owned(),
        TypeIR::Error => "error".to_owned(),
        TypeIR::Literal(value) => value.to_string(),
        TypeIR::List(element) => match element.as_ref() {
            TypeIR::Union(_) => format!("({})[]", describe_ir(element, depth)),
            _ => format!("{}[]", describe_ir(element, depth)),
        },
        TypeIR::Dict(value) => format!("map<string, {}>", describe_ir(value, depth)),
        TypeIR::Tuple(parts) => format!("[{}]", describe_all(parts, ", ", depth)),
        TypeIR::Union(members) => describe_all(members, " | ", depth),
        TypeIR::Class(class) => describe_class(class, depth),
        TypeIR::Named(name) => name.to_string(),
    }
}

fn describe_all(parts: &[TypeIR], between: &str, depth: usize) -> String {
    parts.iter().map(|part| describe_ir(part, depth)).collect::<Vec<_>>().join(between)
}

fn describe_class(class: &Class, depth: usize) -> String {
    let fields: Vec<(String, String)> =
        class.fields.iter().map(|(name, field)| describe_field(name, field, depth + 1)).collect();
    let plain = fields.iter().all(|(text, comment)| comment.is_empty() && !text.contains('\n'));
    let length: usize = fields.iter().map(|(text, _)| text.len() + 2).sum();
    if plain && length <= LINE {
        let texts: Vec<&str> = fields.iter().map(|(text, _)| text.as_str()).collect();
        return format!("{{{}}}", texts.join(", "));
    }
    let indent = "  ".repeat(depth + 1);
    let mut described = String::from("{\n");
    for (text, comment) in &fields {
        described.push_str(&format!("{indent}{text}{comment}\n"));
    }
    described.push_str(&"  ".repeat(depth));
    described.push('}');
    described
}

/// A field and the comment after it.
fn describe_field(name: &str, field: &ClassField, depth: usize) -> (String, String) {
    let name = field.alias.as_deref().unwrap_or(name);
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(field.description.as_deref().map(one_line));
    remarks.extend(describe_asserts(field));
    remarks.extend(field.default.as_ref().map(|value| format!("default {}", value.to_json())));
    let comment =
        if remarks.is_empty() { String::new() } else { format!(" // {}", remarks.join("; ")) };
    (format!("{name}: {}", describe_ir(&field.ty, depth)), comment)
}

/// The asserts of a member. Checks are left out: the LM need not satisfy them.
fn describe_asserts(field: &ClassField) -> Option<String> {
    let asserted = |rule: &&Constraint| rule.kind == ConstraintKind::Assert;
    let all: Vec<String> = field
        .constraints
        .iter()
        .filter(asserted)
        .map(|rule| format!("`{}`", one_line(&rule.expression)))
        .collect();
    (!all.is_empty()).then(|| format!("must hold: {}", all.join(", ")))
}

fn describe_enum(known: &Enum) -> String {
    let members = known.members.iter().map(|(name, member)| {
        let seen_as = member.alias.as_ref().unwrap_or(name).clone();
        (Literal::Str(seen_as).to_string(), member.description.as_deref().map(one_line))
    });
    let members: Vec<(String, Option<String>)> = members.collect();
    if members.iter().all(|(_, description)| description.is_none()) {
        return members.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" | ");
    }
    let lines = members.into_iter().map(|(name, description)| {
        let comment = description.map_or_else(String::new, |text| format!(" // {text}"));
        format!("\n  | {name}{comment}")
    });
    lines.collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
