//! How a type is told to an LM: a compact notation that reads like TypeScript, with descriptions as
//! comments and aliases in the place of names. Knows nothing of prompts around it.

use super::walk::reachable;
use super::{Class, ClassField, Constraint, ConstraintKind, Enum, Literal, Type, TypeDef, TypeIR};

/// The longest class that is told on one line.
const LINE: usize = 80;

/// A type for an LM. Definitions go by their name; [`tell_defs`] tells those, once for many types.
#[must_use]
pub fn tell(ty: &Type) -> String {
    tell_ir(&ty.ir, 0)
}

/// The definitions that types reach, each once, in the order of first mention; empty when there are
/// none.
#[must_use]
pub fn tell_defs(types: &[Type]) -> String {
    let mut told: Vec<(&str, String)> = Vec::new();
    for ty in types {
        for name in reachable([&ty.ir], &ty.defs) {
            let Some(def) = ty.defs.get(name) else { continue };
            if !told.iter().any(|(known, _)| *known == name.as_ref()) {
                told.push((name, tell_def(name, def)));
            }
        }
    }
    told.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

fn tell_def(name: &str, def: &TypeDef) -> String {
    let (description, body) = match def {
        TypeDef::Class(class) => (&class.description, tell_class(class, 0)),
        TypeDef::Enum(known) => (&known.description, tell_enum(known)),
        TypeDef::Alias(ir) => (&None, tell_ir(ir, 0)),
    };
    let comment =
        description.as_deref().map_or_else(String::new, |text| format!("// {}\n", one_line(text)));
    let between = if body.starts_with('\n') { "" } else { " " };
    format!("{comment}{name} ={between}{body}")
}

fn tell_ir(ir: &TypeIR, depth: usize) -> String {
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
            TypeIR::Union(_) => format!("({})[]", tell_ir(element, depth)),
            _ => format!("{}[]", tell_ir(element, depth)),
        },
        TypeIR::Dict(value) => format!("map<string, {}>", tell_ir(value, depth)),
        TypeIR::Tuple(parts) => format!("[{}]", tell_all(parts, ", ", depth)),
        TypeIR::Union(members) => tell_all(members, " | ", depth),
        TypeIR::Class(class) => tell_class(class, depth),
        TypeIR::Named(name) => name.to_string(),
    }
}

fn tell_all(parts: &[TypeIR], between: &str, depth: usize) -> String {
    parts.iter().map(|part| tell_ir(part, depth)).collect::<Vec<_>>().join(between)
}

fn tell_class(class: &Class, depth: usize) -> String {
    let fields: Vec<(String, String)> =
        class.fields.iter().map(|(name, field)| tell_field(name, field, depth + 1)).collect();
    let plain = fields.iter().all(|(text, comment)| comment.is_empty() && !text.contains('\n'));
    let length: usize = fields.iter().map(|(text, _)| text.len() + 2).sum();
    if plain && length <= LINE {
        let texts: Vec<&str> = fields.iter().map(|(text, _)| text.as_str()).collect();
        return format!("{{{}}}", texts.join(", "));
    }
    let indent = "  ".repeat(depth + 1);
    let mut told = String::from("{\n");
    for (text, comment) in &fields {
        told.push_str(&format!("{indent}{text}{comment}\n"));
    }
    told.push_str(&"  ".repeat(depth));
    told.push('}');
    told
}

/// A field and the comment behind it.
fn tell_field(name: &str, field: &ClassField, depth: usize) -> (String, String) {
    let name = field.alias.as_deref().unwrap_or(name);
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(field.description.as_deref().map(one_line));
    remarks.extend(demands(field));
    remarks.extend(field.default.as_ref().map(|value| format!("default {}", value.to_json())));
    let comment =
        if remarks.is_empty() { String::new() } else { format!(" // {}", remarks.join("; ")) };
    (format!("{name}: {}", tell_ir(&field.ty, depth)), comment)
}

/// What must hold of a member. What is only checked is not the LM's business.
fn demands(field: &ClassField) -> Option<String> {
    let asserted = |rule: &&Constraint| rule.kind == ConstraintKind::Assert;
    let all: Vec<String> = field
        .constraints
        .iter()
        .filter(asserted)
        .map(|rule| format!("`{}`", one_line(&rule.expression)))
        .collect();
    (!all.is_empty()).then(|| format!("must hold: {}", all.join(", ")))
}

fn tell_enum(known: &Enum) -> String {
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
