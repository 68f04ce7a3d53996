//! The answers that a schema allows, as a GBNF grammar for llama.cpp: every output under its
//! header, then the end mark. All repetitions are bounded, so that generation ends. Does not know
//! models.

use super::super::header::COMPLETED;
use super::values::{ValueRules, quoted};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Literal, TypeDef, TypeIR};

/// The room of one output without a limit on the answer, in characters.
const OUTPUT_ROOM: usize = 16_000;

/// The size of a header, in tokens.
const HEADER_TOKENS: usize = 14;

/// From this limit on, in tokens, a token counts as the characters of usual text; below it as one
/// character, the worst case: digits and signs, which small models repeat.
const AMPLE_TOKENS: usize = 512;
const USUAL_TOKEN: usize = 3;

/// The least room of an output, in characters.
const LEAST_ROOM: usize = 24;

/// The largest grammar that is sent, in bytes.
const SIZE_LIMIT: usize = 64 * 1024;

/// The depths to which nested definitions are expanded; the first depth at which every value can
/// end is used.
const DEPTHS: [usize; 4] = [4, 16, 64, 1000];

/// The grammar of the answers that fit into `max_tokens`. `None` if an output has no possible text
/// or the grammar is too large to send.
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
    let mut values = ValueRules::new(&schema.defs, depth, room);
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

/// A value in a section: text as it is, anything else as JSON.
fn section(
    values: &mut ValueRules<'_>,
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

/// Whether a value of the type has no quotes in a section. Collects the possible texts; none means
/// any text.
fn plain_texts(
    ty: &TypeIR,
    schema: &SignatureSchema,
    steps: usize,
    texts: &mut Vec<String>,
) -> bool {
    match ty {
        TypeIR::Str => texts.is_empty(),
        TypeIR::Literal(Literal::Str(text)) => {
            texts.push(text.to_string());
            true
        }
        TypeIR::Named(name) => match schema.defs.get(name) {
            Some(TypeDef::Enum(known)) => {
                let names = known.members.iter();
                texts.extend(names.map(|(name, m)| m.alias.as_ref().unwrap_or(name).to_string()));
                true
            }
            Some(TypeDef::Alias(ir)) if steps > 0 => plain_texts(ir, schema, steps - 1, texts),
            _ => false,
        },
        // Any text, `null` included. Beside other types, quotes distinguish texts.
        TypeIR::Union(members) if matches!(members.as_ref(), [TypeIR::Str, TypeIR::Null]) => {
            texts.is_empty()
        }
        TypeIR::Union(members) => members.iter().all(|member| match member {
            TypeIR::Null => {
                texts.push("null".to_owned());
                true
            }
            TypeIR::Str => false,
            other => plain_texts(other, schema, steps, texts),
        }),
        _ => false,
    }
}
