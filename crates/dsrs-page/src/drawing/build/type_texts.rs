//! Types as texts for ports: each distinct type is written once for a picture.

use std::collections::HashMap;
use std::sync::Arc;

use dsrs::signature::FieldSchema;
use dsrs::types::{Type, TypeDefs, TypeIR, describe_definitions};

use crate::drawing::diagram::Port;

/// How many characters of a type are shown at most.
const LONGEST_TYPE: usize = 200;

/// How many characters of definitions are shown at most.
const LONGEST_DEFINITIONS: usize = 300;

/// The definitions of types, by their text.
#[derive(Default)]
pub(super) struct TypeTexts(HashMap<String, Arc<str>>);

impl TypeTexts {
    pub(super) fn ports(&mut self, defs: &Arc<TypeDefs>, fields: &[FieldSchema]) -> Vec<Port> {
        fields.iter().map(|field| self.port(defs, field)).collect()
    }

    pub(super) fn port(&mut self, defs: &Arc<TypeDefs>, field: &FieldSchema) -> Port {
        let ty = type_text(&field.ty);
        let known = self.0.entry(ty.clone());
        let definitions = known.or_insert_with(|| definitions(defs, &field.ty)).clone();
        let description = field.description.as_deref().map(str::to_owned);
        Port { name: field.name.to_string(), ty, definitions, description }
    }
}

/// A type as text, cut if it is a large one in place.
pub(super) fn type_text(ty: &TypeIR) -> String {
    shortened(ty.to_string(), LONGEST_TYPE)
}

fn definitions(defs: &Arc<TypeDefs>, ty: &TypeIR) -> Arc<str> {
    let ty = Type::new(ty.clone(), defs.clone());
    shortened(describe_definitions(&[ty]), LONGEST_DEFINITIONS).into()
}

fn shortened(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
