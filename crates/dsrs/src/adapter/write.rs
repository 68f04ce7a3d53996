//! Writes a value into a message: text verbatim, anything else as JSON, unless an input has a
//! format.

use std::fmt::Write as _;

use crate::coerce::fenced;
use crate::signature::{FieldFormat, FieldSchema, SignatureSchema};
use crate::types::{TypeIR, to_lm};
use crate::value::Payload;

/// An input, in the field's format.
pub(super) fn input(
    text: &mut String,
    schema: &SignatureSchema,
    field: &FieldSchema,
    value: &Payload,
) {
    match field.format {
        None => output(text, schema, field, value),
        Some(format) => write(text, &to_lm(value, &schema.type_of(field)), format),
    }
}

/// A value in a format, as in a prompt.
pub(crate) fn formatted(value: &Payload, format: FieldFormat) -> String {
    let mut text = String::new();
    write(&mut text, value, format);
    text
}

fn write(text: &mut String, value: &Payload, format: FieldFormat) {
    match format {
        FieldFormat::Json => text.push_str(&pretty(value)),
        FieldFormat::Yaml => yaml(text, value, 0),
        FieldFormat::Text => plain(text, value, 0),
    }
}

/// An output, as the parser reads it back.
pub(super) fn output(
    text: &mut String,
    schema: &SignatureSchema,
    field: &FieldSchema,
    value: &Payload,
) {
    if let (Some(language), Payload::Str(code)) = (&field.language, value) {
        return text.push_str(&fenced(code, language));
    }
    if let (TypeIR::Str, Payload::Str(verbatim)) = (&field.ty, value) {
        return text.push_str(verbatim);
    }
    match to_lm(value, &schema.type_of(field)) {
        Payload::Str(verbatim) => text.push_str(&verbatim),
        other => text.push_str(&other.to_json()),
    }
}

fn pretty(value: &Payload) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn yaml(text: &mut String, value: &Payload, indent: usize) {
    match value {
        Payload::Map(members) if !members.is_empty() => {
            for (position, (name, member)) in members.iter().enumerate() {
                start_line(text, position, indent);
                text.push_str(&yaml_text(name));
                text.push(':');
                yaml_below(text, member, indent);
            }
        }
        Payload::List(elements) if !elements.is_empty() => {
            for (position, element) in elements.iter().enumerate() {
                start_line(text, position, indent);
                text.push('-');
                match element {
                    Payload::Map(members) if !members.is_empty() => {
                        text.push(' ');
                        yaml(text, element, indent + 2);
                    }
                    other => yaml_below(text, other, indent),
                }
            }
        }
        Payload::Str(leaf) => text.push_str(&yaml_text(leaf)),
        leaf => text.push_str(&leaf.to_json()),
    }
}

fn yaml_below(text: &mut String, value: &Payload, indent: usize) {
    let nested = match value {
        Payload::Map(members) => !members.is_empty(),
        Payload::List(elements) => !elements.is_empty(),
        _ => false,
    };
    if nested {
        let _ = write!(text, "\n{:width$}", "", width = indent + 2);
        yaml(text, value, indent + 2);
    } else {
        text.push(' ');
        yaml(text, value, indent + 2);
    }
}

fn start_line(text: &mut String, position: usize, indent: usize) {
    if position > 0 {
        let _ = write!(text, "\n{:indent$}", "");
    }
}

/// A text without quotes if YAML reads it back unchanged, else quoted as in JSON.
fn yaml_text(leaf: &str) -> String {
    let first = leaf.starts_with(|c: char| c.is_alphabetic());
    let bare = |c: char| {
        c.is_alphanumeric()
            || matches!(c, ' ' | '_' | '-' | '.' | ',' | '/' | '\'' | '(' | ')' | '?' | '!')
    };
    let word = matches!(
        leaf.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    if first && !word && !leaf.ends_with(' ') && leaf.chars().all(bare) {
        return leaf.to_owned();
    }
    Payload::str(leaf).to_json()
}

/// Lines for human readers: a list as lines with dashes, members as `name: value`.
fn plain(text: &mut String, value: &Payload, indent: usize) {
    match value {
        Payload::Str(leaf) => text.push_str(leaf),
        Payload::List(elements) => {
            for (position, element) in elements.iter().enumerate() {
                start_line(text, position, indent);
                text.push_str("- ");
                plain(text, element, indent + 2);
            }
        }
        Payload::Map(members) => {
            for (position, (name, member)) in members.iter().enumerate() {
                start_line(text, position, indent);
                let _ = write!(text, "{name}:");
                match member {
                    Payload::List(elements) if elements.is_empty() => text.push_str(" none"),
                    Payload::List(_) | Payload::Map(_) => {
                        let _ = write!(text, "\n{:width$}", "", width = indent + 2);
                    }
                    _ => text.push(' '),
                }
                plain(text, member, indent + 2);
            }
        }
        leaf => text.push_str(&leaf.to_json()),
    }
}
