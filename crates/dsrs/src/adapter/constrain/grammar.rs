//! The answers that a schema allows, as a grammar in llama.cpp's GBNF: every output under its
//! header, then the end mark. Everything in it is bounded, so that writing by it ends. Knows nothing
//! of who is asked.

use super::super::header::COMPLETED;
use super::values::Values;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Literal, TypeDef, TypeIR};

/// The room of one output where nobody limits the answer, in characters.
const OUTPUT_ROOM: usize = 16_000;

/// What a header takes, in tokens.
const HEADER_TOKENS: usize = 14;

/// From this limit on, in tokens, texts are given the room that usual text takes; below it, the
/// room of the worst: digits and signs are tokens of one character, and small models love them.
const AMPLE_TOKENS: usize = 512;
const USUAL_TOKEN: usize = 3;

/// The least room of an output, in characters.
const LEAST_ROOM: usize = 24;

/// The largest grammar that is worth sending, in bytes.
const SIZE_LIMIT: usize = 64 * 1024;

/// How deep definitions may name one another at first; more where no value ends before.
const DEPTHS: [usize; 4] = [4, 16, 64, 1000];

/// The grammar of the answers, made so that one of them fits into `max_tokens`. `None` where there
/// is no sensible one: an output that no text can be, or a grammar too large to send.
pub(super) fn of_answers(schema: &SignatureSchema, max_tokens: Option<u32>) -> Option<String> {
    let room = room(schema, max_tokens);
    let grammar = DEPTHS.into_iter().find_map(|depth| write(schema, room, depth))?;
    (grammar.len() <= SIZE_LIMIT).then_some(grammar)
}

/// The room of each output that may be long.
fn room(schema: &SignatureSchema, max_tokens: Option<u32>) -> usize {
    let Some(tokens) = max_tokens else { return OUTPUT_ROOM };
    let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
    let free = tokens.saturating_sub(HEADER_TOKENS * (schema.outputs.len() + 1));
    let length = if tokens < AMPLE_TOKENS { 1 } else { USUAL_TOKEN };
    let share = free.saturating_mul(length) / schema.outputs.len().max(1);
    share.clamp(LEAST_ROOM, OUTPUT_ROOM)
}

fn write(schema: &SignatureSchema, room: usize, depth: usize) -> Option<String> {
    let mut values = Values::new(&schema.defs, depth, room);
    let mut root = String::from("root ::= ");
    for field in &schema.outputs {
        root.push_str(&quoted(&format!("[[ ## {} ## ]]\n", field.lm_name())));
        root.push(' ');
        root.push_str(&section(&mut values, schema, field, room)?);
        root.push_str(" \"\\n\\n\" ");
    }
    root.push_str(&quoted(&format!("[[ ## {COMPLETED} ## ]]")));
    Some(format!("{root}\n{}", values.into_rules()))
}

/// A value as it stands in a section: texts as they are, all else as JSON.
fn section(
    values: &mut Values<'_>,
    schema: &SignatureSchema,
    field: &FieldSchema,
    room: usize,
) -> Option<String> {
    let mut plain = Vec::new();
    if !plain_texts(&field.ty, schema, schema.defs.0.len() + 1, &mut plain) {
        return values.json(&field.ty, values.depth(), room);
    }
    if plain.is_empty() {
        return Some(values.text(room));
    }
    Some(format!("({})", plain.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" | ")))
}

/// Whether a value of the type stands in a section without quotes; the texts that it may be, none
/// meaning all.
fn plain_texts(
    ty: &TypeIR,
    schema: &SignatureSchema,
    steps: usize,
    found: &mut Vec<String>,
) -> bool {
    match ty {
        TypeIR::Str => found.is_empty(),
        TypeIR::Literal(Literal::Str(text)) => {
            found.push(text.to_string());
            true
        }
        TypeIR::Named(name) => match schema.defs.get(name) {
            Some(TypeDef::Enum(known)) => {
                let names = known.members.iter();
                found.extend(names.map(|(name, m)| m.alias.as_ref().unwrap_or(name).to_string()));
                true
            }
            Some(TypeDef::Alias(ir)) if steps > 0 => plain_texts(ir, schema, steps - 1, found),
            _ => false,
        },
        // Any text, `null` included. Texts beside other types are told from them by their quotes.
        TypeIR::Union(members) if matches!(members.as_ref(), [TypeIR::Str, TypeIR::Null]) => {
            found.is_empty()
        }
        TypeIR::Union(members) => members.iter().all(|member| match member {
            TypeIR::Null => {
                found.push("null".to_owned());
                true
            }
            TypeIR::Str => false,
            other => plain_texts(other, schema, steps, found),
        }),
        _ => false,
    }
}

/// A text as a grammar spells it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if u32::from(c) < 0x20 => quoted.push_str(&format!("\\x{:02X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
